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
        found: list[Loss] = []
        for end in ends_of(prior):
            found.append(super().loss(end, secret, release))  # noqa: PERF401 - super() needs a method
        worst = max(found, key=lambda loss: loss.value)
        return attrs.evolve(worst, scenario=attrs.evolve(worst.scenario, prior=prior))


MUTANT = Mutant("class.member", EndPointsOnly, "the worst of an interval can lie inside it")
