"""A claim of a tenth of the loss."""

from __future__ import annotations

from typing import Any

import attrs

from sfumato.laws.mutant import Mutant
from sfumato.laws.mutants.plain_gaussian import PlainRenyi
from sfumato.parameters import declare
from sfumato.protocols import Reading


@declare
class TenthOfTheLoss(PlainRenyi):
    """A tenth of the true divergence, reported as an upper bound."""

    name = "mutant_tenth_of_the_loss"

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Claim too little."""
        reading = super().evaluate(belief, question, channel)
        return attrs.evolve(reading, value=reading.value / 10, bound="upper")


MUTANT = Mutant("audit.claim", TenthOfTheLoss, "sampled releases show more than is claimed")
