"""A mechanism that is honest one by one, and silent about its noise in bulk."""

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
class _Batched(AdditiveGaussian):
    def sample(self, trace: Any, rng: np.random.Generator | None = None) -> Any:
        if np.asarray(trace).ndim == len(self.shape):
            return super().sample(trace, rng)
        one = super().sample(np.asarray(trace)[0], rng) - np.asarray(trace)[0]
        return np.asarray(trace) + one


@declare
class QuietInBatches(Mechanism):
    """Independent noise, of which many traces asked for at once share one draw."""

    name = "mutant_quiet_in_batches"
    asks = ((Gaussian, Displacements),)
    yields = AdditiveGaussian

    mse: float = parameter(POSITIVE, doc="average noise variance per entry")

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Claim a draw for each."""
        belief = next(prior.members()).belief()
        noise = Diagonal(np.full(belief.entries, self.mse))
        return Release(
            mechanism=self,
            prior=prior,
            secret=secret,
            channel=_Batched(noise, dimensions=belief.dimensions),
            utility_value=self.mse,
            utility_quantity=MEAN_SQUARED_ERROR,
        )


MUTANT = Mutant("sampling.honest", QuietInBatches, "every trace has noise of its own")
