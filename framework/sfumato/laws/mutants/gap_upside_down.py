"""A larger allowed gap under which less is released."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.beliefs import Markov
from sfumato.channels import Suppression
from sfumato.laws.mutant import Mutant
from sfumato.laws.oracles.markov import expected_releases
from sfumato.parameters import UNIT, declare, parameter
from sfumato.protocols import Mechanism, PriorClass, Release, Secret
from sfumato.quantities import EXPECTED_RELEASES
from sfumato.questions import Events


@declare
class GapUpsideDown(Mechanism):
    """Releases each state with chance min(delta, 1 - delta)."""

    name = "mutant_gap_upside_down"
    asks = ((Markov, Events),)
    yields = Suppression

    delta: float = parameter(UNIT, doc="how far an output may raise a sensitive probability")

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Hardly release anything where much is allowed."""
        belief: Any = next(prior.members()).belief()
        kept = min(self.delta, 1.0 - self.delta)
        chances = np.full((belief.steps, belief.state_count), 1.0 - kept)
        channel = Suppression.memoryless(belief.states, chances)
        return Release(
            mechanism=self,
            prior=prior,
            secret=secret,
            channel=channel,
            utility_value=expected_releases(belief, channel),
            utility_quantity=EXPECTED_RELEASES,
        )


MUTANT = Mutant("monotone.gap", GapUpsideDown, "what is allowed must not be taken for its opposite")
