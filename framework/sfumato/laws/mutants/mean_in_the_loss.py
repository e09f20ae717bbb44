"""Second moments taken for covariances."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.laws.mutant import Mutant
from sfumato.laws.mutants.plain_gaussian import PlainRenyi, gain
from sfumato.parameters import declare
from sfumato.protocols import Reading


@declare
class MeanInTheLoss(PlainRenyi):
    """Uses E[XXᵀ], so that a trace with a mean looks more uncertain."""

    name = "mutant_mean_in_the_loss"

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Forget to subtract the mean."""
        sigma, gamma = belief.covariance.dense(), channel.covariance()
        if belief.mean is not None:
            sigma = sigma + np.outer(belief.mean, belief.mean)
        return Reading(value=self.worst(question, lambda s: gain(sigma, gamma, s)), bound="exact")


MUTANT = Mutant("invariance.mean", MeanInTheLoss, "the mean is known to the adversary")
