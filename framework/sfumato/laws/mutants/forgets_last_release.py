"""Suppression that should depend on the last release, drawn as if it did not."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs import Markov
from sfumato.channels import Suppression
from sfumato.inference.markov.segments import expected_releases
from sfumato.laws.mutant import Mutant
from sfumato.parameters import declare
from sfumato.protocols import Mechanism, PriorClass, Release, Secret
from sfumato.quantities import EXPECTED_RELEASES


@attrs.frozen(eq=False, repr=False)
class _Forgetful(Suppression):
    def sample_many(
        self, traces: NDArray[np.intp], rng: np.random.Generator | None
    ) -> NDArray[np.object_]:
        """Use the probabilities from before any release, always."""
        return Suppression.memoryless(self.states, self.start).sample_many(traces, rng)


@declare
class ForgetsLastRelease(Mechanism):
    """Releases half of the states at first and claims to release none afterwards."""

    name = "mutant_forgets_last_release"
    asks = ((Markov, object),)
    yields = Suppression

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Claim that at most one state is released."""
        belief: Any = next(prior.members()).belief()
        shape = (belief.steps, belief.state_count)
        channel = _Forgetful(belief.states, np.full(shape, 0.5), np.ones((*shape, *shape)))
        return Release(
            mechanism=self,
            prior=prior,
            secret=secret,
            channel=channel,
            utility_value=expected_releases(belief, channel),
            utility_quantity=EXPECTED_RELEASES,
        )


MUTANT = Mutant("sampling.honest", ForgetsLastRelease, "the draw must depend on the last release")
