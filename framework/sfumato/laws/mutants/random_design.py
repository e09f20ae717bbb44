"""A mechanism that designs another noise each time."""

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
class RandomDesign(Mechanism):
    """The budget shared out by lot: what was measured is not what is released next time."""

    name = "mutant_random_design"
    asks = ((Gaussian, Displacements),)
    yields = AdditiveGaussian

    mse: float = parameter(POSITIVE, doc="average noise variance per entry")

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Draw the shares."""
        belief = next(prior.members()).belief()
        shares = np.random.default_rng().uniform(0.5, 1.0, belief.entries)
        noise = Diagonal(self.mse * shares / shares.mean() * 0.999)
        return Release(
            mechanism=self,
            prior=prior,
            secret=secret,
            channel=AdditiveGaussian(noise, dimensions=belief.dimensions),
            utility_value=noise.trace() / belief.entries,
            utility_quantity=MEAN_SQUARED_ERROR,
        )


MUTANT = Mutant("contract.release", RandomDesign, "designing twice must give the same channel")
