"""A radius that is not squared."""

from __future__ import annotations

from typing import Any

import attrs

from sfumato.laws.mutant import Mutant
from sfumato.laws.mutants.plain_gaussian import PlainRenyi
from sfumato.parameters import declare
from sfumato.protocols import Reading


@declare
class RadiusNotSquared(PlainRenyi):
    """(λ/2) r (1/V − 1/Σ): nats per metre."""

    name = "mutant_radius_not_squared"

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Use √r for r."""
        rooted = attrs.evolve(question, radii=tuple(r**0.5 for r in question.radii))
        return super().evaluate(belief, rooted, channel)


MUTANT = Mutant("invariance.units", RadiusNotSquared, "Σ, Γ and r² scale together")
