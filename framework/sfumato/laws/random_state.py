"""Keeping the global random state out of drawing."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def random_left_alone() -> Iterator[None]:
    """Put the state of the random module back afterwards.

    Constructors may import libraries that touch it, which Hypothesis takes for a draw that cannot
    be repeated.

    >>> before = random.getstate()
    >>> with random_left_alone():
    ...     _ = random.random()
    >>> random.getstate() == before
    True
    """
    state = random.getstate()
    try:
        yield
    finally:
        random.setstate(state)
