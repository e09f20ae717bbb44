"""A prior that says it is definite and is not."""

from __future__ import annotations

import numpy as np

from sfumato.beliefs import Gaussian
from sfumato.laws.mutant import Mutant
from sfumato.matrices import Dense
from sfumato.parameters import COUNT, declare, parameter
from sfumato.protocols import Prior


@declare
class CertainDirection(Prior):
    """All entries equal: their differences are certain."""

    name = "mutant_certain_direction"
    yields = Gaussian

    times: int = parameter(COUNT("n"), doc="number of points")

    def belief(self) -> Gaussian:
        """Return ones everywhere, exactly."""
        return Gaussian(Dense(np.ones((self.times, self.times))), definite=True, rounding=0.0)


MUTANT = Mutant("belief.definite", CertainDirection, "what is certain has no variance")
