"""A sampler that answers every second call with the draw before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from sfumato.beliefs import Markov
from sfumato.channels import Suppression
from sfumato.inference.markov.segments import expected_releases
from sfumato.laws.mutant import Mutant
from sfumato.parameters import declare
from sfumato.protocols import Mechanism, PriorClass, Release, Secret
from sfumato.quantities import EXPECTED_RELEASES

_LEFT: list[tuple[Any, tuple[Any, ...], tuple[Any, ...]]] = []


@attrs.frozen(eq=False, repr=False)
class _Thrifty(Suppression):
    def sample(
        self, trace: Sequence[Any], rng: np.random.Generator | None = None
    ) -> tuple[Any, ...]:
        """Use up what is left of the call before, if it was for the same trace."""
        if _LEFT and _LEFT[0][0] is rng and _LEFT[0][1] == tuple(trace):
            return _LEFT.pop()[2]
        drawn = super().sample(trace, rng)
        _LEFT[:] = [(rng, tuple(trace), drawn)]
        return drawn


@declare
class DrawsUsedTwice(Mechanism):
    """Half of the states are suppressed, in two releases alike."""

    name = "mutant_draws_used_twice"
    asks = ((Markov, object),)
    yields = Suppression

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Claim ordinary suppression."""
        belief: Any = next(prior.members()).belief()
        channel = _Thrifty(belief.states, np.full((belief.steps, belief.state_count), 0.5))
        return Release(
            mechanism=self,
            prior=prior,
            secret=secret,
            channel=channel,
            utility_value=expected_releases(belief, channel),
            utility_quantity=EXPECTED_RELEASES,
        )


MUTANT = Mutant("sampling.honest", DrawsUsedTwice, "different calls must draw independently")
