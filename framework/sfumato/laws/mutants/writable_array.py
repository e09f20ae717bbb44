"""An array that can be changed behind a plugin's back."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs import Gaussian
from sfumato.laws.mutant import Mutant
from sfumato.matrices import Diagonal
from sfumato.parameters import TABLE, declare, parameter
from sfumato.protocols import Prior


@declare
class WritableArray(Prior):
    """Independent entries whose variances anyone may overwrite."""

    name = "mutant_writable_array"
    yields = Gaussian

    variances: NDArray[np.float64] = parameter(TABLE("n"), doc="variance of each entry")

    def check(self) -> None:
        """Unlock the array."""
        object.__setattr__(self, "variances", np.array(self.variances))

    def belief(self) -> Gaussian:
        """Return independent entries."""
        return Gaussian(Diagonal(1.0 + self.variances))


MUTANT = Mutant("interface.frozen", WritableArray, "a plugin's arrays are read-only")
