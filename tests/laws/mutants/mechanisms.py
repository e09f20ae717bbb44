"""Mechanisms that do not keep what they promise."""

from __future__ import annotations

from typing import Any

import numpy as np

from mutants.mutant import Mutant, gain
from sfumato.beliefs import Gaussian, Markov
from sfumato.channels import AdditiveGaussian, Suppression
from sfumato.errors import OutsideHypotheses
from sfumato.laws.brute_force import expected_releases
from sfumato.matrices import Diagonal, LowRank
from sfumato.parameters import OPEN_UNIT, ORDER, POSITIVE, UNIT, declare, parameter
from sfumato.protocols import Mechanism, PriorClass, Release, Secret
from sfumato.quantities import EXPECTED_RELEASES, MEAN_SQUARED_ERROR
from sfumato.questions import Displacements, Events


@declare
class BudgetUpsideDown(Mechanism):
    """Noise of variance 1/mse."""

    name = "mutant_budget_upside_down"
    asks = ((Gaussian, Displacements),)
    yields = AdditiveGaussian
    promises = (("mse", "mean_squared_error"),)

    mse: float = parameter(POSITIVE, doc="average noise variance per entry")

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Divide by the budget."""
        belief = next(prior.members()).belief()
        spent = 1.0 / self.mse
        return Release(
            mechanism=self,
            prior=prior,
            secret=secret,
            channel=AdditiveGaussian(
                Diagonal(np.full(belief.entries, spent)), dimensions=belief.dimensions
            ),
            utility_value=spent,
            utility_quantity=MEAN_SQUARED_ERROR,
        )


@declare
class PromisesNothing(BudgetUpsideDown):
    """Promises something of a parameter that it does not have."""

    name = "mutant_promises_nothing"
    promises = (("nse", "mean_squared_error"),)


@declare
class ForOneEntry(Mechanism):
    """Noise enough for an entry that nothing else tells about, promised of any trace."""

    name = "mutant_for_one_entry"
    asks = ((Gaussian, Displacements),)
    yields = AdditiveGaussian
    promises = (("epsilon", "renyi"),)

    epsilon: float = parameter(POSITIVE, doc="the Rényi divergence of order 2 that is promised")

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Divide the squared radius by the budget."""
        belief: Any = next(prior.members()).belief()
        question: Any = secret.question(belief)
        spent = max(question.radii) ** 2 / self.epsilon
        noise = Diagonal(np.full(belief.entries, spent))
        return Release(
            mechanism=self,
            prior=prior,
            secret=secret,
            channel=AdditiveGaussian(noise, dimensions=belief.dimensions),
            utility_value=spent,
            utility_quantity=MEAN_SQUARED_ERROR,
        )


@declare
class FirstMemberOnly(Mechanism):
    """Enough independent noise for one belief, whatever else the adversary may believe."""

    name = "mutant_first_member_only"
    asks = ((Gaussian, Displacements),)
    yields = AdditiveGaussian
    promises = (("epsilon", "renyi"),)

    epsilon: float = parameter(POSITIVE, doc="the Rényi divergence that is promised")
    order: float = parameter(ORDER, default=2.0, doc="its order")

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Look at the first member."""
        belief: Any = next(prior.members()).belief()
        question: Any = secret.question(belief)
        if len(question.groups) != 1 or len(question.entries) != 1:
            raise OutsideHypotheses("only one entry may be secret here")
        target = self.epsilon / (0.5 * self.order * question.radii[0] ** 2)
        variance = _enough(belief.covariance.dense(), question.entries[0], target)
        noise = Diagonal(np.full(belief.entries, variance))
        return Release(
            mechanism=self,
            prior=prior,
            secret=secret,
            channel=AdditiveGaussian(noise, dimensions=belief.dimensions),
            utility_value=variance,
            utility_quantity=MEAN_SQUARED_ERROR,
        )


def _enough(sigma: Any, entry: int, target: float) -> float:
    """Return a variance whose gain is at most the target, by doubling."""
    variance = 1e-6
    while gain(sigma, variance * np.eye(len(sigma)), entry) > target:
        variance *= 1.25
    return variance


@declare
class GapUpsideDown(Mechanism):
    """Releases each state with chance min(delta, 1 - delta)."""

    name = "mutant_gap_upside_down"
    asks = ((Markov, Events),)
    yields = Suppression
    promises = (("delta", "posterior_gap"),)

    delta: float = parameter(UNIT, doc="how far an output may raise a sensitive probability")

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Hardly release anything where much is allowed."""
        belief: Any = next(prior.members()).belief()
        kept = min(self.delta, 1.0 - self.delta)
        chances = np.full((belief.steps, belief.state_count), 1.0 - kept)
        channel = Suppression.memoryless(belief.states, chances)
        return Release(
            mechanism=self,
            prior=prior,
            secret=secret,
            channel=channel,
            utility_value=expected_releases(belief, channel),
            utility_quantity=EXPECTED_RELEASES,
        )


@declare
class NaiveMasking(Mechanism):
    """Withholds a state exactly when it is sensitive: the gap tells."""

    name = "mutant_naive_masking"
    asks = ((Markov, Events),)
    yields = Suppression
    promises = (("delta", "posterior_gap"),)

    delta: float = parameter(OPEN_UNIT, doc="the posterior gap that is promised")

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Mask what is sensitive at its time."""
        belief: Any = next(prior.members()).belief()
        masks: Any = secret.question(belief).masks
        channel = Suppression.memoryless(belief.states, masks.any(axis=0).astype(np.float64))
        return Release(
            mechanism=self,
            prior=prior,
            secret=secret,
            channel=channel,
            utility_value=expected_releases(belief, channel),
            utility_quantity=EXPECTED_RELEASES,
        )


@declare
class OptimisticUtility(Mechanism):
    """The noise that was allowed, reported as half of it."""

    name = "mutant_optimistic_utility"
    asks = ((Gaussian, Displacements),)
    yields = AdditiveGaussian
    promises = (("mse", "mean_squared_error"),)

    mse: float = parameter(POSITIVE, doc="average noise variance per entry")

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Report half the noise."""
        belief = next(prior.members()).belief()
        spent = self.mse
        return Release(
            mechanism=self,
            prior=prior,
            secret=secret,
            channel=AdditiveGaussian(
                Diagonal(np.full(belief.entries, spent)), dimensions=belief.dimensions
            ),
            utility_value=spent / 2,
            utility_quantity=MEAN_SQUARED_ERROR,
        )


@declare
class Overspends(Mechanism):
    """Twice the noise that was allowed."""

    name = "mutant_overspends"
    asks = ((Gaussian, Displacements),)
    yields = AdditiveGaussian
    promises = (("mse", "mean_squared_error"),)

    mse: float = parameter(POSITIVE, doc="average noise variance per entry")

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Spend twice the budget, and say so."""
        belief = next(prior.members()).belief()
        spent = 2.0 * self.mse
        return Release(
            mechanism=self,
            prior=prior,
            secret=secret,
            channel=AdditiveGaussian(
                Diagonal(np.full(belief.entries, spent)), dimensions=belief.dimensions
            ),
            utility_value=spent,
            utility_quantity=MEAN_SQUARED_ERROR,
        )


@declare
class RandomDesign(Mechanism):
    """The budget shared out by lot: what was measured is not what is released next time."""

    name = "mutant_random_design"
    asks = ((Gaussian, Displacements),)
    yields = AdditiveGaussian
    promises = (("mse", "mean_squared_error"),)

    mse: float = parameter(POSITIVE, doc="average noise variance per entry")

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Draw the shares."""
        belief = next(prior.members()).belief()
        shares = np.random.default_rng().uniform(0.5, 1.0, belief.entries)
        noise = Diagonal(self.mse * shares / shares.mean() * 0.999)
        return Release(
            mechanism=self,
            prior=prior,
            secret=secret,
            channel=AdditiveGaussian(noise, dimensions=belief.dimensions),
            utility_value=noise.trace() / belief.entries,
            utility_quantity=MEAN_SQUARED_ERROR,
        )


@declare
class RankOneWithoutFloor(Mechanism):
    """The ideal shape q ∝ (Σ + B I)⁻¹Σe_s, rounded to half precision and nothing added.

    A smooth prior knows that the rounding cannot be the trace, and sees through it.
    """

    name = "mutant_rank_one_without_floor"
    asks = ((Gaussian, Displacements),)
    yields = AdditiveGaussian
    promises = (("epsilon", "renyi"),)

    epsilon: float = parameter(POSITIVE, doc="the Rényi divergence that is promised")
    order: float = parameter(ORDER, default=2.0, doc="its order")

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Find the budget for which the ideal noise has the promised loss."""
        belief: Any = next(prior.members()).belief()
        question: Any = secret.question(belief)
        if len(question.groups) != 1 or len(question.entries) != 1:
            raise OutsideHypotheses("only one entry may be secret here")
        sigma, entry = belief.covariance.dense(), question.entries[0]
        target = self.epsilon / (0.5 * self.order * question.radii[0] ** 2)
        variance = 1.0 / (target + 1.0 / sigma[entry, entry])
        budget = _budget(sigma, entry, variance)
        shape = np.linalg.solve(sigma + budget * np.eye(len(sigma)), sigma[:, entry])
        shape = np.asarray(shape, dtype=np.float16).astype(float)
        noise = LowRank((np.sqrt(budget) / np.linalg.norm(shape) * shape)[:, None])
        return Release(
            mechanism=self,
            prior=prior,
            secret=secret,
            channel=AdditiveGaussian(noise, dimensions=belief.dimensions),
            utility_value=noise.trace() / belief.entries,
            utility_quantity=MEAN_SQUARED_ERROR,
        )


def _budget(sigma: Any, entry: int, variance: float) -> float:
    """Return B with B [Σ(Σ + B I)⁻¹]_ss = variance, by bisection."""
    low, high = 0.0, 1e12
    for _ in range(200):
        middle = (low + high) / 2
        inverse = np.linalg.solve(sigma + middle * np.eye(len(sigma)), sigma[:, entry])
        low, high = (middle, high) if middle * inverse[entry] < variance else (low, middle)
    return high


@declare
class MeddlesWithBeliefs(Mechanism):
    """Moves the mean of the belief it designs for, which every later measure then reads."""

    name = "mutant_meddles_with_beliefs"
    asks = ((Gaussian, Displacements),)
    yields = AdditiveGaussian
    promises = (("mse", "mean_squared_error"),)

    mse: float = parameter(POSITIVE, doc="average noise variance per entry")

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Overwrite what is remembered."""
        belief: Any = next(prior.members()).belief()
        object.__setattr__(belief, "mean", np.ones(belief.entries))
        noise = Diagonal(np.full(belief.entries, self.mse))
        return Release(
            mechanism=self,
            prior=prior,
            secret=secret,
            channel=AdditiveGaussian(noise, dimensions=belief.dimensions),
            utility_value=self.mse,
            utility_quantity=MEAN_SQUARED_ERROR,
        )


MUTANTS = (
    Mutant("contract.release", MeddlesWithBeliefs, "a design leaves the belief as it was"),
    Mutant("monotone.budget", BudgetUpsideDown, "a larger budget must not mean less noise"),
    Mutant("contract.release", PromisesNothing, "what is promised is there", "promise"),
    Mutant("budget.promise", ForOneEntry, "a divergence is that of the prior", "promise"),
    Mutant("budget.class", FirstMemberOnly, "a promise is for every member of the class"),
    Mutant("monotone.budget", GapUpsideDown, "what is allowed must not be taken for its opposite"),
    Mutant("budget.promise", NaiveMasking, "a masked state is a state known to be sensitive"),
    Mutant("budget.utility", OptimisticUtility, "the utility must be that of the channel"),
    Mutant("budget.promise", Overspends, "mse= is the noise that may be spent"),
    Mutant("contract.release", RandomDesign, "designing twice must give the same channel"),
    Mutant("budget.promise", RankOneWithoutFloor, "a rounded shape needs a floor of noise"),
)
