"""Strategies written as functions that draw."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


@functools.cache
def composed(drawing: Callable[..., Any]) -> Callable[..., SearchStrategy[Any]]:
    """Return the maker of strategies for a function that takes `draw` first.

    Hypothesis reads the source of every function it makes a strategy of, which takes longer than
    most draws: so each is a module's own function, and is read once.
    """
    from hypothesis import strategies as st

    return st.composite(drawing)
