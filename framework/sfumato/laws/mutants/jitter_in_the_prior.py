"""Jitter added to the prior inside a loss."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.laws.mutant import Mutant
from sfumato.laws.mutants.plain_gaussian import PlainRenyi, gain
from sfumato.parameters import declare
from sfumato.protocols import Reading


@declare
class JitterInThePrior(PlainRenyi):
    """The loss under Σ + 10⁻³ I, an adversary who knows less than the real one."""

    name = "mutant_jitter_in_the_prior"

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Stabilise what must not be stabilised."""
        sigma = belief.covariance.dense() + 1e-3 * np.eye(belief.entries)
        gamma = channel.covariance()
        return Reading(value=self.worst(question, lambda s: gain(sigma, gamma, s)), bound="exact")


MUTANT = Mutant("oracle.value", JitterInThePrior, "jitter changes the adversary")
