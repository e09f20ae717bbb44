"""How a law says that it does not hold."""

from __future__ import annotations


class Violation(AssertionError):
    """A law does not hold here; the text says what was found and what should have been."""


class NotHere(Exception):
    """The law has nothing to say about this case: something was refused for a stated reason."""


def require(holds: object, otherwise: str) -> None:
    """Raise `Violation` unless `holds`; unlike ``assert`` it stays under ``python -O``.

    >>> require(1 + 1 == 2, "arithmetic must work")
    """
    if not holds:
        raise Violation(otherwise)
