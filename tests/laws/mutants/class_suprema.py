"""Losses of a class that are not the worst of its members."""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np

from mutants.mutant import Mutant, PlainRenyi
from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.parameters import declare
from sfumato.prior_classes.sets import AnyOf
from sfumato.protocols import Loss, LossMeasure, PriorClass, Quantity, Reading
from sfumato.questions import Displacements


@declare
class CountsTheOptions(PlainRenyi):
    """Adds one nat for every option of a class, even for the only one."""

    name = "mutant_counts_the_options"

    def loss(self, prior: PriorClass, secret: Any, release: Any) -> Loss:
        """Return the worst loss and the number of options."""
        found = super().loss(prior, secret, release)
        options = len(prior.options) if isinstance(prior, AnyOf) else 0
        return attrs.evolve(found, value=found.value + options)


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
        members = list(prior.members())
        for end in (members[0], members[-1]):
            found.append(super().loss(end, secret, release))  # noqa: PERF401 - super() needs a method
        worst = max(found, key=lambda loss: loss.value)
        return attrs.evolve(worst, scenario=attrs.evolve(worst.scenario, prior=prior))


@declare
class NamesTheMildest(PlainRenyi):
    """Reports the worst loss, and the member for which it is smallest."""

    name = "mutant_names_the_mildest"

    def loss(self, prior: PriorClass, secret: Any, release: Any) -> Loss:
        """Name another member than the one that attains the loss."""
        found = super().loss(prior, secret, release)
        members = list(prior.members())
        losses = [super(NamesTheMildest, self).loss(one, secret, release) for one in members]
        mildest = min(range(len(members)), key=lambda place: losses[place].value)
        return attrs.evolve(found, worst=members[mildest])


@declare
class WrongWaySupremum(LossMeasure):
    """The adversary's remaining deviation: the largest over the class, not the smallest."""

    name = "mutant_wrong_way_supremum"
    reads = ((Gaussian, Displacements, AdditiveGaussian),)

    @property
    def quantity(self) -> Quantity:
        """A width: smaller is worse."""
        return Quantity("remaining deviation", unit="units of the trace", worse="smaller")

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Return the smallest posterior deviation of a secret entry."""
        sigma = belief.covariance.dense()
        posterior = sigma - sigma @ np.linalg.pinv(sigma + channel.covariance()) @ sigma
        variances = posterior.diagonal()[list(question.entries)]
        return Reading(value=float(np.sqrt(np.maximum(variances, 0.0)).min()), bound="exact")

    def loss(self, prior: PriorClass, secret: Any, release: Any) -> Loss:
        """Return the largest width of any member."""
        found: list[Loss] = []
        for member in prior.members():
            found.append(super().loss(member, secret, release))  # noqa: PERF401 - as above
        return max(found, key=lambda loss: loss.value)


@declare
class WorstAtTheWrongEnd(PlainRenyi):
    """Says that a wide prior is the worst; the narrower one tells more about its neighbours."""

    name = "mutant_worst_at_the_wrong_end"
    worst_scale = "high"


MUTANTS = (
    Mutant("class.member", CountsTheOptions, "a class loses what its worst member loses"),
    Mutant("class.member", EndPointsOnly, "the worst of an interval can lie inside it"),
    Mutant("class.member", NamesTheMildest, "the member that is named must attain the loss"),
    Mutant("class.member", WrongWaySupremum, "where smaller is worse, the worst is smallest"),
    Mutant("class.scale", WorstAtTheWrongEnd, "the end that is named must be the worst"),
)
