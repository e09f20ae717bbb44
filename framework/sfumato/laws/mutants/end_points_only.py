"""An interval of priors judged by its end points."""

from __future__ import annotations

from typing import Any

import attrs

from sfumato.laws.mutant import Mutant
from sfumato.laws.mutants.plain_gaussian import PlainRenyi
from sfumato.laws.operations.members import ends_of
from sfumato.parameters import declare
from sfumato.protocols import Loss, PriorClass


@declare
class EndPointsOnly(PlainRenyi):
    """The larger loss of the first and the last member, reported as exact."""

    name = "mutant_end_points_only"

    def loss(self, prior: PriorClass, secret: Any, release: Any) -> Loss:
        """Look at the ends and nowhere else."""
        own = super(EndPointsOnly, self)
        found = [own.loss(end, secret, release) for end in ends_of(prior)]
        worst = max(found, key=lambda loss: loss.value)
        return attrs.evolve(worst, scenario=attrs.evolve(worst.scenario, prior=prior))


MUTANT = Mutant("class.member", EndPointsOnly, "the worst of an interval can lie inside it")
