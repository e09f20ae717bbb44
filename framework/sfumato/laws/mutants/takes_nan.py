"""A domain that lets NaN in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from sfumato.beliefs import Gaussian
from sfumato.laws.mutant import Mutant
from sfumato.matrices import Diagonal
from sfumato.parameters import COUNT, Domain, Rejected, Sizes, declare, parameter
from sfumato.protocols import Prior

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


@attrs.frozen
class _Careless(Domain):
    """Numbers that are not negative, tested the way NaN passes."""

    sentence = "non-negative"

    def convert(self, value: Any, sizes: Sizes) -> float:
        """Reject what is below zero; NaN is not."""
        del sizes
        if not isinstance(value, (int, float)) or isinstance(value, bool) or value < 0:
            raise Rejected("non-negative")
        return float(value)

    def strategy(self, sizes: Mapping[str, int]) -> SearchStrategy[Any]:
        """Draw moderate numbers."""
        from hypothesis import strategies as st

        del sizes
        return st.floats(0.1, 5.0)


@declare
class TakesNan(Prior):
    """Independent entries of any variance, even of none that is a number."""

    name = "mutant_takes_nan"
    yields = Gaussian

    variance: float = parameter(_Careless(), doc="variance of each entry")
    times: int = parameter(COUNT("n"), doc="number of points")

    def belief(self) -> Gaussian:
        """Return independent entries."""
        return Gaussian(Diagonal(np.full(self.times, self.variance)))


MUTANT = Mutant("interface.domains", TakesNan, "NaN never passes a constructor")
