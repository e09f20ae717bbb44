"""Where the real data lie, if they do."""

from __future__ import annotations

from pathlib import Path

import pytest

REAL = Path(__file__).parents[3].parent / "shared" / "data"


@pytest.fixture
def real_data():
    """Return a function that gives the path of a real file, or skips the test with a reason."""

    def find(*parts):
        path = REAL.joinpath(*parts)
        if not path.exists():
            pytest.skip(f"the data set {'/'.join(parts)} is not beside the checkout")
        return path

    return find
