"""The operators that priors and classes of priors share: ``one + other``, ``one * other``."""

from __future__ import annotations

from typing import Any


class PriorOperators:
    """Adds independent traces, and multiplies covariances entry by entry."""

    __slots__ = ()

    def __add__(self, other: Any) -> Any:
        """Return the prior of the sum of two independent traces; of classes, the class of sums."""
        return _combined("sum", self, other)

    def __mul__(self, other: Any) -> Any:
        """Return the prior whose covariance is the entrywise product of both."""
        return _combined("product", self, other)


def _combined(operation: str, one: Any, other: Any) -> Any:
    from sfumato.combined_classes import combine
    from sfumato.protocols.prior_class import PriorClass

    if not isinstance(other, PriorClass):
        return NotImplemented
    return combine(operation, (one, other))
