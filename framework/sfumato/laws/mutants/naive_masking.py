"""Sensitive states masked, and nothing else, with a claim of privacy."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.beliefs import Markov
from sfumato.channels import Suppression
from sfumato.laws.mutant import Mutant
from sfumato.laws.oracles.markov import expected_releases
from sfumato.parameters import OPEN_UNIT, declare, parameter
from sfumato.protocols import Mechanism, PriorClass, Release, Secret
from sfumato.quantities import EXPECTED_RELEASES
from sfumato.questions import Events


@declare
class NaiveMasking(Mechanism):
    """Withholds a state exactly when it is sensitive: the gap tells."""

    name = "mutant_naive_masking"
    asks = ((Markov, Events),)
    yields = Suppression

    delta: float = parameter(OPEN_UNIT, doc="the posterior gap that is promised")

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Mask what is sensitive at its time."""
        belief: Any = next(prior.members()).belief()
        masks: Any = secret.question(belief).masks
        channel = Suppression.memoryless(belief.states, masks.any(axis=0).astype(np.float64))
        return Release(
            mechanism=self,
            prior=prior,
            secret=secret,
            channel=channel,
            utility_value=expected_releases(belief, channel),
            utility_quantity=EXPECTED_RELEASES,
        )


MUTANT = Mutant("budget.delta", NaiveMasking, "a masked state is a state known to be sensitive")
