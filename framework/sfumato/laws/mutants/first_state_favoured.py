"""A loss that depends on which state is listed first."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.beliefs import Markov
from sfumato.channels import Emission
from sfumato.laws.mutant import Mutant
from sfumato.parameters import declare
from sfumato.protocols import LossMeasure, Quantity, Reading


@declare
class FirstStateFavoured(LossMeasure):
    """The prior probability of the state in position 0."""

    name = "mutant_first_state_favoured"
    reads = ((Markov, object, Emission),)

    @property
    def quantity(self) -> Quantity:
        """A probability."""
        return Quantity("weight of the first state", unit="probability")

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Look at one position only."""
        del question, channel
        return Reading(value=float(np.max(belief.marginals()[:, 0])), bound="exact")


MUTANT = Mutant("invariance.states", FirstStateFavoured, "positions of states mean nothing")
