"""A reconstruction success that trusts noise too much."""

from __future__ import annotations

from typing import Any

from sfumato.beliefs import Markov
from sfumato.channels import NoisyVectors
from sfumato.laws.mutant import Mutant
from sfumato.laws.oracles.markov import reconstruction, without_noise
from sfumato.parameters import declare
from sfumato.protocols import LossMeasure, Quantity, Reading
from sfumato.quantities import RECONSTRUCTION
from sfumato.questions import Guess


@declare
class DeafenedCounts(LossMeasure):
    """Half of the success without noise, whatever the noise, reported as an upper bound."""

    name = "mutant_deafened_counts"
    reads = ((Markov, Guess, NoisyVectors),)

    @property
    def quantity(self) -> Quantity:
        """The reconstruction success."""
        return RECONSTRUCTION

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Halve the success."""
        value = reconstruction(belief, question, without_noise(channel)) / 2
        return Reading(value=value, bound="upper")


MUTANT = Mutant("oracle.value", DeafenedCounts, "a little noise hides little")
