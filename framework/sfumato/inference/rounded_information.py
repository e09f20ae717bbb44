"""A mutual information in float64, never below the true one."""

from __future__ import annotations

import attrs

from sfumato.inference.information import EXACT
from sfumato.matrices.matrix import ROUNDOFF

UNDERFLOW = 1e-300
"""More than all that float64 may lose in products and squares too small for it."""


@attrs.frozen
class RoundedInformation:
    """I(X; Y) in nats, rounded up by more than its error.

    Parameters
    ----------
    value
        At least the true value.
    relative_error
        By how much of itself it may exceed it, at most.

    Examples
    --------
    >>> found = RoundedInformation.up(2.0, 1.0, operations=10)
    >>> 1.0 < found.value < 1.0 + 1e-14, found.is_exact
    (True, True)
    >>> RoundedInformation.up(1.0, 1.0, operations=10).is_exact
    False
    """

    value: float
    relative_error: float

    @classmethod
    def up(cls, gained: float, lost: float, operations: float) -> RoundedInformation:
        """Return gained − lost, both positive sums with `operations` roundings in a row."""
        if gained <= 0.0:
            return cls(0.0, 0.0)  # a sum of positive terms without any: nothing is told
        error = operations * ROUNDOFF * (gained + lost) + UNDERFLOW
        value = max(0.0, gained - lost) + error
        return cls(value, min(1.0, 2.0 * error / value))

    @property
    def is_exact(self) -> bool:
        """Whether the error is small enough for an exact value."""
        return self.relative_error <= EXACT
