"""What was known before, counted as learnt."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.beliefs import Markov
from sfumato.channels import Emission
from sfumato.laws.mutant import Mutant
from sfumato.laws.oracles.markov import Table
from sfumato.parameters import declare
from sfumato.protocols import LossMeasure, Quantity, Reading


@declare
class PosteriorWithoutPrior(LossMeasure):
    """log of M^T times the largest posterior of a trace: zero only for a uniform prior."""

    name = "mutant_posterior_without_prior"
    reads = ((Markov, object, Emission),)

    @property
    def quantity(self) -> Quantity:
        """A gain over guessing blindly."""
        return Quantity("gain over blind guessing", unit="nats")

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Compare the posterior with the uniform law instead of the prior."""
        del question
        joint = Table.of(belief, channel).joint
        joint = joint[:, joint.sum(axis=0) > 0]
        largest = float((joint / joint.sum(axis=0)).max())
        return Reading(value=max(0.0, float(np.log(largest * len(joint)))), bound="exact")


MUTANT = Mutant("processing.silence", PosteriorWithoutPrior, "silence loses nothing")
