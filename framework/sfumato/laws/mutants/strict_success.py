"""Success counted the wrong way in the allowed mistakes."""

from __future__ import annotations

from typing import Any

from sfumato.beliefs import Markov
from sfumato.channels import Emission
from sfumato.laws.mutant import Mutant
from sfumato.parameters import declare
from sfumato.protocols import LossMeasure, Quantity, Reading
from sfumato.questions import Guess


@declare
class StrictSuccess(LossMeasure):
    """1 / (1 + mistakes): more tolerance, less success."""

    name = "mutant_strict_success"
    reads = ((Markov, Guess, Emission),)

    @property
    def quantity(self) -> Quantity:
        """A chance of success."""
        return Quantity("strict success", unit="probability")

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Return the wrong chance."""
        del belief, channel
        return Reading(value=1.0 / (1.0 + question.mistakes), bound="exact")


MUTANT = Mutant("monotone.mistakes", StrictSuccess, "allowing fewer mistakes must not lose more")
