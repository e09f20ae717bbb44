"""A loss that shrinks as the secret grows."""

from __future__ import annotations

from typing import Any

import attrs

from sfumato.laws.mutant import Mutant
from sfumato.laws.mutants.plain_gaussian import PlainRenyi
from sfumato.parameters import declare
from sfumato.protocols import Reading


@declare
class DividedByRadius(PlainRenyi):
    """The gain divided by r² instead of multiplied."""

    name = "mutant_divided_by_radius"

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Use 1/r for r."""
        inverted = attrs.evolve(question, radii=tuple(1.0 / r for r in question.radii))
        return super().evaluate(belief, inverted, channel)


MUTANT = Mutant("monotone.radius", DividedByRadius, "a smaller radius must not lose more")
