"""A Viterbi recursion that ignores the observations."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from sfumato.beliefs import Markov
from sfumato.channels import Emission
from sfumato.laws.mutant import Mutant
from sfumato.parameters import declare
from sfumato.protocols import LossMeasure, Quantity, Reading
from sfumato.quantities import RECONSTRUCTION
from sfumato.questions import Guess


@declare
class BlindViterbi(LossMeasure):
    """The success of always guessing the likeliest trace, reported as the best possible."""

    name = "mutant_blind_viterbi"
    reads = ((Markov, Guess, Emission),)

    @property
    def quantity(self) -> Quantity:
        """The reconstruction success."""
        return RECONSTRUCTION

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Return max_x Pr[x]."""
        del question, channel
        every = itertools.product(belief.states, repeat=belief.steps)
        return Reading(
            value=max(float(np.exp(belief.log_probability(x))) for x in every), bound="exact"
        )


MUTANT = Mutant("oracle.value", BlindViterbi, "the best guess depends on what is seen")
