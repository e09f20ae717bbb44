"""A larger budget that buys less noise."""

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
class BudgetUpsideDown(Mechanism):
    """Noise of variance 1/mse."""

    name = "mutant_budget_upside_down"
    asks = ((Gaussian, Displacements),)
    yields = AdditiveGaussian

    mse: float = parameter(POSITIVE, doc="average noise variance per entry")

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Divide by the budget."""
        belief = next(prior.members()).belief()
        spent = 1.0 / self.mse
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


MUTANT = Mutant("monotone.budget", BudgetUpsideDown, "a larger budget must not mean less noise")
