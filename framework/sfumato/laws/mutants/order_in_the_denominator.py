"""A Rényi divergence that falls with its order."""

from __future__ import annotations

from typing import Any

import attrs

from sfumato.laws.mutant import Mutant
from sfumato.laws.mutants.plain_gaussian import PlainRenyi
from sfumato.parameters import declare
from sfumato.protocols import Reading


@declare
class OrderInTheDenominator(PlainRenyi):
    """λ / (2 (λ − 1)) in place of λ / 2."""

    name = "mutant_order_in_the_denominator"

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Confuse the divergence with the power it is the logarithm of."""
        reading = super().evaluate(belief, question, channel)
        return attrs.evolve(reading, value=reading.value / (self.order - 1.0))


MUTANT = Mutant("monotone.order", OrderInTheDenominator, "divergences grow with their order")
