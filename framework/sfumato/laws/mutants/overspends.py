"""A noise budget that is not kept."""

from __future__ import annotations

import numpy as np

from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.laws.mutant import Mutant
from sfumato.matrices import Diagonal
from sfumato.parameters import POSITIVE, declare, parameter
from sfumato.protocols import Mechanism, PriorClass, Release, Secret
from sfumato.quantities import MEAN_SQUARED_ERROR
from sfumato.questions import Displacements


@declare
class Overspends(Mechanism):
    """Twice the noise that was allowed."""

    name = "mutant_overspends"
    asks = ((Gaussian, Displacements),)
    yields = AdditiveGaussian

    mse: float = parameter(POSITIVE, doc="average noise variance per entry")

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Spend twice the budget, and say so."""
        belief = next(prior.members()).belief()
        spent = 2.0 * self.mse
        return Release(
            mechanism=self,
            prior=prior,
            secret=secret,
            channel=AdditiveGaussian(
                Diagonal(np.full(belief.entries, spent)), dimensions=belief.dimensions
            ),
            utility_value=spent,
            utility_quantity=MEAN_SQUARED_ERROR,
        )


MUTANT = Mutant("budget.mse", Overspends, "mse= is the noise that may be spent")
