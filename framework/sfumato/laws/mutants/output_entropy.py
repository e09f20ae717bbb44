"""The entropy of the output taken for a loss."""

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
class OutputEntropy(LossMeasure):
    """H(O) in place of I(X; O): noise in the output counts as information."""

    name = "mutant_output_entropy"
    reads = ((Markov, object, Emission),)

    @property
    def quantity(self) -> Quantity:
        """What the release is said to tell."""
        return Quantity("output entropy", unit="nats")

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Return the entropy of the output."""
        del question
        seen = Table.of(belief, channel).joint.sum(axis=0)
        seen = seen[seen > 0]
        return Reading(value=max(0.0, -float((seen * np.log(seen)).sum())), bound="exact")


MUTANT = Mutant("processing.garbling", OutputEntropy, "randomising an output tells nothing new")
