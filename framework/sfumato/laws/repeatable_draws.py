"""The same examples on every machine, whatever else is loaded."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_CHOICES: dict[Any, Any] = {}
"""Hypothesis's cache of which constants fit where, as it is without local ones."""


def seed_of(case: object) -> int:
    """Return a seed that depends on the names of the law and its classes alone.

    >>> seed_of("belief.possible[rbf]") == seed_of("belief.possible[matern]")
    False
    """
    return int.from_bytes(hashlib.sha256(str(case).encode()).digest()[:8], "big")


@contextmanager
def local_constants_left_out() -> Iterator[None]:
    """Keep Hypothesis from drawing numbers that stand in the source of loaded modules.

    It collects them from every module outside the installed packages, so that an import anywhere
    changes all examples. No setting turns that off; where a version of Hypothesis has no such
    collection under this name, nothing is done.
    """
    from hypothesis.internal.conjecture import providers

    changes = {"_get_local_constants": _no_constants, "CONSTANTS_CACHE": _CHOICES}
    if any(not hasattr(providers, name) for name in (*changes, "Constants")):
        yield
        return
    before = {name: getattr(providers, name) for name in changes}
    try:
        for name, value in changes.items():
            setattr(providers, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(providers, name, value)


def _no_constants() -> Any:
    from hypothesis.internal.conjecture import providers

    return getattr(providers, "Constants")()  # noqa: B009 - not exported for type checkers
