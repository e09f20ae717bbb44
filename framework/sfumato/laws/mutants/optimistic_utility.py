"""A release that says it is better than it is."""

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
class OptimisticUtility(Mechanism):
    """The noise that was allowed, reported as half of it."""

    name = "mutant_optimistic_utility"
    asks = ((Gaussian, Displacements),)
    yields = AdditiveGaussian

    mse: float = parameter(POSITIVE, doc="average noise variance per entry")

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Report half the noise."""
        belief = next(prior.members()).belief()
        spent = self.mse
        return Release(
            mechanism=self,
            prior=prior,
            secret=secret,
            channel=AdditiveGaussian(
                Diagonal(np.full(belief.entries, spent)), dimensions=belief.dimensions
            ),
            utility_value=spent / 2,
            utility_quantity=MEAN_SQUARED_ERROR,
        )


MUTANT = Mutant("budget.utility", OptimisticUtility, "the utility must be that of the channel")
