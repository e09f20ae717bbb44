"""An interval of priors judged by its end points."""

from __future__ import annotations

import math
from typing import Any

import attrs

from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.laws.mutant import Mutant
from sfumato.laws.operations.beliefs_and_channels import ends_of
from sfumato.parameters import declare
from sfumato.protocols import Loss, LossMeasure, PriorClass, Quantity, Reading


@declare
class EndPointsOnly(LossMeasure):
    """The larger loss of the first and the last member, reported as exact.

    The quantity rises and falls several times along a parameter, as resonances do.
    """

    name = "mutant_end_points_only"
    reads = ((Gaussian, object, AdditiveGaussian),)

    @property
    def quantity(self) -> Quantity:
        """A number between one and three."""
        return Quantity("resonance")

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Return two and the sine of the prior's total covariance."""
        del question, channel
        return Reading(
            value=2.0 + math.sin(20.0 * float(belief.covariance.dense().sum())), bound="exact"
        )

    def loss(self, prior: PriorClass, secret: Any, release: Any) -> Loss:
        """Look at the ends and nowhere else."""
        found: list[Loss] = []
        for end in ends_of(prior):
            found.append(super().loss(end, secret, release))  # noqa: PERF401 - super() needs a method
        worst = max(found, key=lambda loss: loss.value)
        return attrs.evolve(worst, scenario=attrs.evolve(worst.scenario, prior=prior))


MUTANT = Mutant("class.member", EndPointsOnly, "the worst of an interval can lie inside it")
