"""Balls of another covariance than the stored one."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.beliefs import Gaussian
from sfumato.laws.mutant import Mutant
from sfumato.matrices import Diagonal
from sfumato.parameters import COUNT, POSITIVE, declare, parameter
from sfumato.protocols import Prior


@declare
class OtherBalls(Prior):
    """Independent entries; the variance is forgotten in the balls."""

    name = "mutant_other_balls"
    yields = Gaussian

    variance: float = parameter(POSITIVE, doc="variance of each entry")
    times: int = parameter(COUNT("n"), doc="number of points")

    def belief(self) -> Gaussian:
        """Return independent entries."""
        noise = Diagonal(np.full(self.times, self.variance))
        return Gaussian(noise, exact=self._formula, definite=True)

    def _formula(self, numbers: Any) -> Any:
        return numbers.matrix(np.eye(self.times))


MUTANT = Mutant("belief.balls", OtherBalls, "the exact covariance must be the stored one")
