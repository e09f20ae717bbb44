"""Measures that are wrong in a way that another definition gives away."""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np

from mutants.mutant import FloatArray, Mutant
from sfumato.parameters import NONNEGATIVE, OPEN_UNIT, ORDER, declare, parameter
from sfumato.protocols import Quantity
from sfumato.quantities import MUTUAL_INFORMATION, POSTERIOR_GAP, renyi_divergence
from sfumato.views import EventMeasure, GuessMeasure, Outcomes, PairMeasure

ADVANTAGE = Quantity("advantage", unit="probability")
SUCCESS = Quantity("Bayes success", unit="probability")
INFORMATION = attrs.evolve(MUTUAL_INFORMATION, parameters={"about": "secret"})


@declare
class Undivided(PairMeasure):
    """log Σ p^λ q^(1−λ), not divided by λ − 1."""

    name = "mutant_undivided"

    order: float = parameter(ORDER, default=8.0, doc="the Rényi order")

    @property
    def quantity(self) -> Quantity:
        """The Rényi divergence of that order."""
        return renyi_divergence(self.order)

    def of_laws(self, p: FloatArray, q: FloatArray) -> FloatArray:
        """Return the logarithm alone."""
        both = (p > 0) & (q > 0)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            logs = np.log(p) + (self.order - 1.0) * (np.log(p) - np.log(q))
            terms = np.where(both, logs, -np.inf)
            top = terms.max(axis=-1, keepdims=True)
            value = np.log(np.exp(terms - top).sum(axis=-1)) + top[..., 0]
        return np.where(((p > 0) & (q == 0)).any(axis=-1), np.inf, value)


@declare
class Unhalved(PairMeasure):
    """Σ |p − q|, not halved."""

    name = "mutant_unhalved"
    quantity = ADVANTAGE

    def of_laws(self, p: FloatArray, q: FloatArray) -> FloatArray:
        """Return twice the advantage."""
        return np.asarray(np.abs(p - q).sum(axis=-1))


@declare
class BothWays(PairMeasure):
    """Σ (p − q) log p/q, the divergences of both ways together, said to be of order one."""

    name = "mutant_both_ways"
    quantity = renyi_divergence(1.0)

    def of_laws(self, p: FloatArray, q: FloatArray) -> FloatArray:
        """Return the sum of two divergences."""
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.where((p > 0) | (q > 0), (p - q) * (np.log(p) - np.log(q)), 0.0)
        return np.asarray(terms.sum(axis=-1))


@declare
class ExpectedRatio(PairMeasure):
    """The expected log-ratio, reported as the largest."""

    name = "mutant_expected_ratio"
    quantity = renyi_divergence(math.inf)

    def of_laws(self, p: FloatArray, q: FloatArray) -> FloatArray:
        """Return Σ p log p/q."""
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.where(p > 0, p * (np.log(p) - np.log(q)), 0.0)
        return np.asarray(np.maximum(terms.sum(axis=-1), 0.0))


@declare
class BentStick(PairMeasure):
    """Σ (p − e^ε q), of which no negative term is left out."""

    name = "mutant_bent_stick"

    epsilon: float = parameter(NONNEGATIVE, default=1.0, doc="the ratio that is allowed")

    @property
    def quantity(self) -> Quantity:
        """δ at that ε."""
        return Quantity("hockey-stick divergence", {"epsilon": self.epsilon}, unit="probability")

    def of_laws(self, p: FloatArray, q: FloatArray) -> FloatArray:
        """Return 1 − e^ε, or nothing."""
        allowed = math.exp(min(self.epsilon, 700.0))
        return np.asarray(np.maximum((p - allowed * q).sum(axis=-1), 0.0))


@declare
class TurnedStick(BentStick):
    """Σ max(0, p − e^−ε q): the ratio that is allowed is turned upside down."""

    name = "mutant_turned_stick"

    def of_laws(self, p: FloatArray, q: FloatArray) -> FloatArray:
        """Return δ(−ε)."""
        return np.asarray(np.maximum(p - math.exp(-self.epsilon) * q, 0.0).sum(axis=-1))


@declare
class TwoAlarms(PairMeasure):
    """α more than the advantage, and α again: the power of a test that raises the alarm twice."""

    name = "mutant_two_alarms"

    false_alarm: float = parameter(OPEN_UNIT, default=0.05, doc="the rate of false alarms")

    @property
    def quantity(self) -> Quantity:
        """The power at that rate."""
        return Quantity("power", {"false_alarm": self.false_alarm}, unit="probability")

    def of_laws(self, p: FloatArray, q: FloatArray) -> FloatArray:
        """Return what no test reaches."""
        return np.asarray(2.0 * self.false_alarm + np.maximum(p - q, 0.0).sum(axis=-1))


@declare
class Posterior(EventMeasure):
    """The largest posterior, from which the prior was not taken away."""

    name = "mutant_posterior"
    quantity = POSTERIOR_GAP

    def of_posteriors(
        self, prior: float, posteriors: FloatArray, seen: FloatArray, error: float
    ) -> tuple[float, float]:
        """Return max Pr[E | o]."""
        del prior, seen, error
        return float(posteriors.max()), 0.0


@declare
class EvenOdds(GuessMeasure):
    """The success of someone who takes all values for equally likely, whatever they are."""

    name = "mutant_even_odds"
    quantity = SUCCESS

    def of_joint(self, outcomes: Outcomes) -> float:
        """Return the success under a flat prior."""
        return float(outcomes.likelihoods.max(axis=0).sum()) / len(outcomes.joint)


@declare
class JointLeakage(GuessMeasure):
    """log Σ max Pr[s, o], where likelihoods belong."""

    name = "mutant_joint_leakage"
    quantity = Quantity("maximal leakage", unit="nats")

    def of_joint(self, outcomes: Outcomes) -> float:
        """Return a logarithm that is hardly ever positive."""
        return max(0.0, math.log(float(outcomes.joint.max(axis=0).sum())))


@declare
class Entropy(GuessMeasure):
    """The entropy of the secret, as if all of it were told."""

    name = "mutant_entropy"
    quantity = INFORMATION

    def of_joint(self, outcomes: Outcomes) -> float:
        """Return H(S)."""
        return float(-(outcomes.prior * np.log(outcomes.prior)).sum())


@declare
class BestAgainstBest(GuessMeasure):
    """The log of the largest posterior over the largest prior, of whatever values."""

    name = "mutant_best_against_best"
    quantity = Quantity("pointwise maximal leakage", unit="nats")

    def of_joint(self, outcomes: Outcomes) -> float:
        """Return the quotient of two maxima."""
        return max(0.0, math.log(float(outcomes.posteriors.max() / outcomes.prior.max())))


@declare
class RatioOfSums(GuessMeasure):
    """log Σ_s max_o Pr[s | o] / Pr[s]: the ratios of all values are added up."""

    name = "mutant_ratio_of_sums"
    quantity = Quantity("pointwise maximal leakage", unit="nats")

    def of_joint(self, outcomes: Outcomes) -> float:
        """Return the logarithm of a sum in the place of a maximum."""
        return math.log(float((outcomes.posteriors.max(axis=1) / outcomes.prior).sum()))


@declare
class Kilonats(GuessMeasure):
    """Information in thousands of nats, said to be in nats."""

    name = "mutant_kilonats"
    quantity = INFORMATION

    def of_joint(self, outcomes: Outcomes) -> float:
        """Return a thousandth of the information."""
        return outcomes.told_nats / 1000.0


def _mutants() -> Any:
    yield Mutant("relations.orders", Undivided, "Not divided by λ − 1.")
    yield Mutant("relations.orders", BothWays, "Both ways are added up.")
    yield Mutant("relations.pointwise_prior", RatioOfSums, "A sum in the place of a maximum.")
    yield Mutant("relations.advantage", Unhalved, "Σ |p − q| is not halved.")
    yield Mutant("relations.advantage", ExpectedRatio, "An expectation is no maximum.")
    yield Mutant("relations.hockey_advantage", BentStick, "Negative terms cancel the others.")
    yield Mutant("relations.hockey_divergence", TurnedStick, "The ratio is upside down.")
    yield Mutant("relations.power", TwoAlarms, "False alarms count twice.")
    yield Mutant("relations.gap_ratio", Posterior, "The prior is not subtracted.")
    yield Mutant("relations.success_advantage", EvenOdds, "The prior is taken for flat.")
    yield Mutant("relations.success_leakage", JointLeakage, "Joint in place of conditional laws.")
    yield Mutant("relations.information_leakage", Entropy, "All is taken to be told.")
    yield Mutant("relations.leakage_pointwise", BestAgainstBest, "Two maxima of different values.")
    yield Mutant(
        "relations.success_information", Kilonats, "The unit is a thousand times too large."
    )


MUTANTS = tuple(_mutants())
