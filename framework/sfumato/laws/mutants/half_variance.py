"""Noise drawn with half the variance that the channel claims."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.laws.mutant import Mutant
from sfumato.matrices import Diagonal
from sfumato.parameters import POSITIVE, declare, parameter
from sfumato.protocols import Mechanism, PriorClass, Release, Secret
from sfumato.quantities import MEAN_SQUARED_ERROR
from sfumato.questions import Displacements


@attrs.frozen(eq=False, slots=False)
class _Quieter(AdditiveGaussian):
    def sample(self, trace: Any, rng: np.random.Generator | None = None) -> Any:
        """Draw half the variance."""
        return AdditiveGaussian(self.noise.scaled(0.5), dimensions=self.dimensions).sample(
            trace, rng
        )


@declare
class HalfVariance(Mechanism):
    """Independent noise, drawn too quietly."""

    name = "mutant_half_variance"
    asks = ((Gaussian, Displacements),)
    yields = AdditiveGaussian

    mse: float = parameter(POSITIVE, doc="average noise variance per entry")

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Claim the whole variance."""
        belief = next(prior.members()).belief()
        noise = Diagonal(np.full(belief.entries, self.mse))
        return Release(
            mechanism=self,
            prior=prior,
            secret=secret,
            channel=_Quieter(noise, dimensions=belief.dimensions),
            utility_value=self.mse,
            utility_quantity=MEAN_SQUARED_ERROR,
        )


MUTANT = Mutant("sampling.honest", HalfVariance, "the noise drawn is not the noise claimed")
