"""Measures of Gaussian losses that are wrong."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import attrs
import numpy as np

from mutants.mutant import FloatArray, Mutant, PlainRenyi, gain
from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.parameters import OPEN_UNIT, declare, parameter
from sfumato.protocols import LossMeasure, Quantity, Reading
from sfumato.questions import Displacements


@declare
class JitterInThePrior(PlainRenyi):
    """The loss under Σ + 10⁻³ I, an adversary who knows less than the real one."""

    name = "mutant_jitter_in_the_prior"

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Stabilise what must not be stabilised."""
        sigma = belief.covariance.dense() + 1e-3 * np.eye(belief.entries)
        gamma = channel.covariance()
        return Reading(value=self.worst(question, lambda s: gain(sigma, gamma, s)), bound="exact")


@declare
class OneSidedOdds(LossMeasure):
    """The δ-quantile of N(m, 2m), though the odds can move either way."""

    name = "mutant_one_sided_odds"
    reads = ((Gaussian, Displacements, AdditiveGaussian),)

    delta: float = parameter(OPEN_UNIT, default=0.01, doc="the chance δ")

    @property
    def quantity(self) -> Quantity:
        """The log-odds gap."""
        return Quantity("log-odds gap", {"delta": self.delta}, unit="log-odds")

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Return the quantile of one side."""
        mean = PlainRenyi(order=2.0).evaluate(belief, question, channel).value / 2
        if mean == 0 or math.isinf(mean):
            return Reading(value=mean, bound="exact")
        law = NormalDist(mean, math.sqrt(2 * mean))
        return Reading(value=max(0.0, law.inv_cdf(1 - self.delta)), bound="upper")


@declare
class EquationFive(PlainRenyi):
    """1/σ_s² + α*, which is an upper bound only where Γ_SU = 0."""

    name = "mutant_equation_five"

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Ignore the covariance between the noise on the secret and the rest."""
        sigma, gamma = belief.covariance.dense(), channel.covariance()
        value = self.worst(question, lambda s: _separately(sigma, gamma, s))
        return Reading(value=value, bound="upper", how="equation (5)")


def _separately(sigma: FloatArray, gamma: FloatArray, entry: int) -> float:
    rest = [i for i in range(len(sigma)) if i != entry]
    direct = 1.0 / max(float(gamma[entry, entry]), 1e-300)
    weights = sigma[rest, entry] / sigma[entry, entry]
    left = sigma[np.ix_(rest, rest)] - np.outer(weights, sigma[entry, rest])
    return direct + float(weights @ np.linalg.pinv(left + gamma[np.ix_(rest, rest)]) @ weights)


@declare
class MeanInTheLoss(PlainRenyi):
    """Uses E[XXᵀ], so that a trace with a mean looks more uncertain."""

    name = "mutant_mean_in_the_loss"

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Forget to subtract the mean."""
        sigma, gamma = belief.covariance.dense(), channel.covariance()
        if belief.mean is not None:
            sigma = sigma + np.outer(belief.mean, belief.mean)
        return Reading(value=self.worst(question, lambda s: gain(sigma, gamma, s)), bound="exact")


@declare
class NeighboursOnly(PlainRenyi):
    """The loss from the secret entry and the two next to it in the list."""

    name = "mutant_neighbours_only"

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Cut a window out of the trace."""
        sigma, gamma = belief.covariance.dense(), channel.covariance()
        return Reading(
            value=self.worst(question, lambda s: _windowed(sigma, gamma, s)), bound="exact"
        )


def _windowed(sigma: FloatArray, gamma: FloatArray, entry: int) -> float:
    near = np.arange(max(entry - 1, 0), min(entry + 2, len(sigma)))
    window = np.ix_(near, near)
    return gain(sigma[window], gamma[window], int(np.flatnonzero(near == entry)[0]))


@declare
class RadiusNotSquared(PlainRenyi):
    """(λ/2) r (1/V − 1/Σ): nats per metre."""

    name = "mutant_radius_not_squared"

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Use √r for r."""
        rooted = attrs.evolve(question, radii=tuple(r**0.5 for r in question.radii))
        return super().evaluate(belief, rooted, channel)


@declare
class NanIsZero(PlainRenyi):
    """Divides by the noise; where there is none, 0/0 is reported as no loss."""

    name = "mutant_nan_is_zero"

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Return max(0, NaN) where nothing is added."""
        sigma, gamma = belief.covariance.dense(), channel.covariance()
        return Reading(
            value=self.worst(question, lambda s: _careless(sigma, gamma, s)), bound="exact"
        )


def _careless(sigma: FloatArray, gamma: FloatArray, entry: int) -> float:
    column = sigma[:, entry]
    with np.errstate(all="ignore"):
        scale = gamma.trace() / gamma.trace()  # NaN without noise
        posterior = sigma[entry, entry] - column @ np.linalg.pinv(sigma + gamma) @ column
        return max(0.0, float(scale * (1.0 / posterior - 1.0 / sigma[entry, entry])))


@declare
class UpsideDownRatio(LossMeasure):
    """tr Γ / tr Σ, said to be worse when larger."""

    name = "mutant_upside_down_ratio"
    reads = ((Gaussian, object, AdditiveGaussian),)

    @property
    def quantity(self) -> Quantity:
        """A ratio without a unit."""
        return Quantity("noise to signal")

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Return the ratio."""
        del question
        return Reading(value=channel.noise.trace() / belief.covariance.trace(), bound="exact")


@declare
class DividedByRadius(PlainRenyi):
    """The gain divided by r² instead of multiplied."""

    name = "mutant_divided_by_radius"

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Use 1/r for r."""
        inverted = attrs.evolve(question, radii=tuple(1.0 / r for r in question.radii))
        return super().evaluate(belief, inverted, channel)


@declare
class OrderInTheDenominator(PlainRenyi):
    """λ / (2 (λ − 1)) in place of λ / 2."""

    name = "mutant_order_in_the_denominator"

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Confuse the divergence with the power it is the logarithm of."""
        reading = super().evaluate(belief, question, channel)
        return attrs.evolve(reading, value=reading.value / (self.order - 1.0))


@declare
class TenthOfTheLoss(PlainRenyi):
    """A tenth of the true divergence, reported as an upper bound."""

    name = "mutant_tenth_of_the_loss"

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Claim too little."""
        reading = super().evaluate(belief, question, channel)
        return attrs.evolve(reading, value=reading.value / 10, bound="upper")


MUTANTS = (
    Mutant("oracle.value", JitterInThePrior, "jitter changes the adversary"),
    Mutant("oracle.value", OneSidedOdds, "odds can move either way"),
    Mutant(
        "soundness.floor_ceiling", EquationFive, "equation (5) is no bound for correlated noise"
    ),
    Mutant("invariance.mean", MeanInTheLoss, "the mean is known to the adversary"),
    Mutant("invariance.padding", NeighboursOnly, "the order of a list is not the order of time"),
    Mutant("invariance.units", RadiusNotSquared, "Σ, Γ and r² scale together"),
    Mutant("processing.everything", NanIsZero, "NaN is not zero"),
    Mutant("processing.garbling", UpsideDownRatio, "more noise must not be a larger loss"),
    Mutant("monotone.secret", DividedByRadius, "a smaller radius must not lose more"),
    Mutant("monotone.order", OrderInTheDenominator, "divergences grow with their order"),
    Mutant("audit.claim", TenthOfTheLoss, "sampled releases show more than is claimed"),
)
