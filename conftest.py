"""How the examples in docstrings are run; settings of the tests are in tests/conftest.py.

Hypothesis draws the numbers and texts that stand in this file too, so there are none.
"""

import pytest


def pytest_collection_modifyitems(items):
    """An example starts from nothing, as a reader does who copies it."""
    for item in items:
        if isinstance(item, pytest.DoctestItem):
            item.dtest.globs = dict(__name__=__name__)  # noqa: C408 - "__name__" would be drawn
