"""A sampler that starts from the same seed at every call."""

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
class _Stuck(AdditiveGaussian):
    def sample(self, trace: Any, rng: np.random.Generator | None = None) -> Any:
        """Start again from seed 0."""
        del rng
        plain = AdditiveGaussian(self.noise, dimensions=self.dimensions)
        return plain.sample(trace, np.random.default_rng(0))


@declare
class ReusedSeed(Mechanism):
    """Independent noise that repeats itself: two releases reveal nothing new, or everything."""

    name = "mutant_reused_seed"
    asks = ((Gaussian, Displacements),)
    yields = AdditiveGaussian

    mse: float = parameter(POSITIVE, doc="average noise variance per entry")

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Claim ordinary noise."""
        belief = next(prior.members()).belief()
        noise = Diagonal(np.full(belief.entries, self.mse))
        return Release(
            mechanism=self,
            prior=prior,
            secret=secret,
            channel=_Stuck(noise, dimensions=belief.dimensions),
            utility_value=self.mse,
            utility_quantity=MEAN_SQUARED_ERROR,
        )


MUTANT = Mutant("sampling.seeds", ReusedSeed, "calls without a seed must not repeat themselves")
