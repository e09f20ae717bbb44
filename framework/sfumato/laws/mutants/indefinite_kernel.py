"""A kernel that is not positive definite."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.beliefs import Gaussian
from sfumato.laws.mutant import Mutant
from sfumato.matrices import Dense
from sfumato.parameters import POSITIVE, TIMES, declare, parameter, stamps
from sfumato.protocols import Prior


@declare
class IndefiniteKernel(Prior):
    """Entries closer than a width are equal, others independent: no covariance at all."""

    name = "mutant_indefinite_kernel"
    yields = Gaussian

    width: float = parameter(POSITIVE, doc="distance over which entries are equal")
    times: Any = parameter(TIMES("n"), doc="number of points, or time stamps")

    def belief(self) -> Gaussian:
        """Return ones in a band."""
        t = stamps(self.times)
        return Gaussian(Dense((np.abs(t[:, None] - t) < self.width).astype(float)))


MUTANT = Mutant("belief.possible", IndefiniteKernel, "a band of ones has negative eigenvalues")
