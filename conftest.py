"""How the examples in docstrings are run; settings of the tests are in tests/conftest.py."""

from pathlib import Path

import pytest

TESTS = Path(__file__).parent / "tests"


def pytest_collection_modifyitems(items):
    """An example starts from nothing, as a reader does who copies it; tests are no package."""
    for item in items:
        if isinstance(item, pytest.DoctestItem) and TESTS not in item.path.parents:
            item.dtest.globs = {"__name__": "__main__"}
