"""A prior that names the wrong parameter as its scale."""

from __future__ import annotations

import numpy as np

from sfumato.beliefs import Gaussian
from sfumato.laws.mutant import Mutant
from sfumato.matrices import Diagonal
from sfumato.parameters import COUNT, POSITIVE, declare, parameter
from sfumato.protocols import Prior


@declare
class PrecisionAsScale(Prior):
    """Independent entries; an interval of precisions would be judged by its wrong end."""

    name = "mutant_precision_as_scale"
    yields = Gaussian
    scale_parameter = "precision"

    precision: float = parameter(POSITIVE, doc="one over the variance of each entry")
    times: int = parameter(COUNT("n"), doc="number of points")

    def belief(self) -> Gaussian:
        """Return independent entries."""
        return Gaussian(Diagonal(np.full(self.times, 1.0 / self.precision)))


MUTANT = Mutant("belief.scale", PrecisionAsScale, "the covariance must grow with its scale")
