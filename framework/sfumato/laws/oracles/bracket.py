"""What brute force knows of a number: the number itself, or two ends around it."""

from __future__ import annotations

import attrs


@attrs.frozen
class Bracket:
    """The truth lies between `low` and `high`; they are equal where it is known.

    >>> Bracket.of(2.0)
    Bracket(low=2.0, high=2.0)
    """

    low: float
    high: float

    @classmethod
    def of(cls, value: float) -> Bracket:
        """Return the bracket of a number that is known."""
        return cls(float(value), float(value))

    def times(self, factor: float) -> Bracket:
        """Return the bracket of `factor` times as much.

        >>> Bracket(1.0, 2.0).times(3.0)
        Bracket(low=3.0, high=6.0)
        """
        return Bracket(self.low * factor, self.high * factor)

    def __str__(self) -> str:
        if self.low == self.high:
            return f"{self.low:.12g}"
        return f"between {self.low:.12g} and {self.high:.12g}"
