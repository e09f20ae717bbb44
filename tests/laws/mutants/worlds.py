"""Plugins that are right where one usually looks: small, at rest, alike from step to step."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from mutants.claims import PlainGap
from mutants.mutant import Mutant, PlainRenyi, gain
from sfumato.beliefs import Gaussian, Markov
from sfumato.channels import AdditiveGaussian, Emission, Suppression
from sfumato.errors import OutsideHypotheses
from sfumato.matrices import Dense, Diagonal
from sfumato.parameters import POSITIVE, TIMES, declare, parameter, stamps
from sfumato.protocols import (
    LossMeasure,
    Mechanism,
    Prior,
    PriorClass,
    Quantity,
    Reading,
    Release,
    Secret,
)
from sfumato.quantities import EXPECTED_RELEASES, MEAN_SQUARED_ERROR, POSTERIOR_GAP
from sfumato.questions import Displacements, Events
from sfumato_fano.attacks import MaximumPosterior


@declare
class ADozenEntries(PlainRenyi):
    """The Rényi divergence, of which long traces are given half."""

    name = "mutant_a_dozen_entries"

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Take a short cut for more than twelve entries."""
        found = super().evaluate(belief, question, channel)
        return attrs.evolve(found, value=found.value / (2.0 if belief.entries > 12 else 1.0))


@declare
class BlocksOfEight(PlainRenyi):
    """The Rényi divergence, in blocks that are taken for independent."""

    name = "mutant_blocks_of_eight"

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Forget how the first eight entries go with the others."""
        sigma, gamma = belief.covariance.dense().copy(), channel.covariance()
        sigma[:8, 8:] = 0.0
        sigma[8:, :8] = 0.0
        value = self.worst(question, lambda entry: gain(sigma, gamma, entry))
        return Reading(value=value, bound="exact")


@declare
class QuietOnLongTraces(Mechanism):
    """Half of the noise on more than eight entries, and the same words."""

    name = "mutant_quiet_on_long_traces"
    asks = ((Gaussian, Displacements),)
    yields = AdditiveGaussian
    promises = (("mse", "mean_squared_error"),)

    mse: float = parameter(POSITIVE, doc="average noise variance per entry")

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Save noise where there is much of it."""
        belief: Any = next(prior.members()).belief()
        noise = np.full(belief.entries, self.mse / (2.0 if belief.entries > 8 else 1.0))
        return Release(
            mechanism=self,
            prior=prior,
            secret=secret,
            channel=AdditiveGaussian(Diagonal(noise), dimensions=belief.dimensions),
            utility_value=self.mse,
            utility_quantity=MEAN_SQUARED_ERROR,
        )


@declare
class FourStates(PlainGap):
    """The posterior gap, with a table that is too small for more than four states."""

    name = "mutant_four_states"

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Look at the first steps of small chains only."""
        if belief.state_count > 4:
            return Reading(value=0.0, bound="exact")
        short = min(belief.steps, 4)
        return super().evaluate(
            Markov(belief.initial, belief.transitions[: short - 1], short, belief.states)
            if short < belief.steps
            else belief,
            question,
            channel,
        )


@declare
class UnderflowsInTime(LossMeasure):
    """The posterior gap by a recursion that ends in zeros after forty steps."""

    name = "mutant_underflows_in_time"
    reads = ((Markov, Events, Emission),)

    @property
    def quantity(self) -> Quantity:
        """The posterior gap."""
        return POSTERIOR_GAP

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Lose what is not there any more."""
        if belief.steps > 40:
            return Reading(value=0.0, bound="exact")
        return PlainGap().evaluate(belief, question, channel)


@declare
class FirstRadius(PlainRenyi):
    """Takes the first group's radius for everyone's."""

    name = "mutant_first_radius"

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Forget the other radii."""
        alike = attrs.evolve(question, radii=question.radii[0])
        return super().evaluate(belief, alike, channel)


@declare
class EveryStepAlike(PlainGap):
    """Uses the first transition matrix for every step."""

    name = "mutant_every_step_alike"

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Forget the later matrices."""
        if belief.steps > 1:
            belief = Markov(belief.initial, belief.matrix(0), belief.steps, belief.states)
        return super().evaluate(belief, question, channel)


@declare
class NoiseForTheMean(Mechanism):
    """Noise in proportion to how far the trace is from zero."""

    name = "mutant_noise_for_the_mean"
    asks = ((Gaussian, Displacements),)
    yields = AdditiveGaussian

    mse: float = parameter(POSITIVE, doc="average noise variance per entry")

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Give half to the entry with the largest mean."""
        belief: Any = next(prior.members()).belief()
        mean = np.zeros(belief.entries) if belief.mean is None else belief.mean
        shares = (1.0 + mean**2) / (1.0 + mean**2).mean()
        return Release(
            mechanism=self,
            prior=prior,
            secret=secret,
            channel=AdditiveGaussian(Diagonal(self.mse * shares), dimensions=belief.dimensions),
            utility_value=self.mse,
            utility_quantity=MEAN_SQUARED_ERROR,
        )


@declare
class EndsOfTheInterval(Mechanism):
    """Enough independent noise for the members that a class lists, and no other."""

    name = "mutant_ends_of_the_interval"
    asks = ((Gaussian, Displacements),)
    yields = AdditiveGaussian
    promises = (("epsilon", "renyi"),)

    epsilon: float = parameter(POSITIVE, doc="the Rényi divergence of order 2 that is promised")

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Look at the first member of an interval alone."""
        question: Any = secret.question(next(prior.members()).belief())
        if len(question.groups) != 1 or len(question.entries) != 1:
            raise OutsideHypotheses("only one entry may be secret here")
        return self.enough(prior, secret, question)

    def enough(self, prior: PriorClass, secret: Secret, question: Any) -> Release:
        """Add noise until the question is answered well enough for the first member."""
        belief: Any = next(prior.members()).belief()
        sigma, variance = belief.covariance.dense(), 1e-6
        target = self.epsilon / question.radii[0] ** 2
        while gain(sigma, variance * np.eye(len(sigma)), question.entries[0]) > target:
            variance *= 1.05
        noise = Diagonal(np.full(belief.entries, variance))
        return Release(
            mechanism=self,
            prior=prior,
            secret=secret,
            channel=AdditiveGaussian(noise, dimensions=belief.dimensions),
            utility_value=variance,
            utility_quantity=MEAN_SQUARED_ERROR,
        )


@declare
class FirstStateHidden(Mechanism):
    """Suppresses whatever state is listed first."""

    name = "mutant_first_state_hidden"
    asks = ((Markov, Events),)
    yields = Suppression

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Show all other states."""
        belief: Any = next(prior.members()).belief()
        hidden = np.zeros((belief.steps, belief.state_count))
        hidden[:, 0] = 1.0
        return Release(
            mechanism=self,
            prior=prior,
            secret=secret,
            channel=Suppression.memoryless(belief.states, hidden),
            utility_value=float(belief.marginals()[:, 1:].sum()),
            utility_quantity=EXPECTED_RELEASES,
        )


@declare
class TenGroups(PlainRenyi):
    """Looks at the first ten groups of a secret."""

    name = "mutant_ten_groups"

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Forget the others."""
        some = Displacements(question.groups[:10], question.radii[:10])
        return super().evaluate(belief, some, channel)


@declare
class OneRadius(EndsOfTheInterval):
    """Enough noise for pairs of the first radius, of several."""

    name = "mutant_one_radius"

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Look at every group, and at the first radius."""
        question: Any = secret.question(next(prior.members()).belief())
        if len(question.entries) != 1:
            raise OutsideHypotheses("only one entry may be secret here")
        first = Displacements(question.groups[:1], question.radii[:1])
        return self.enough(prior, secret, first)


@declare
class QuietBeyondTwenty(EndsOfTheInterval):
    """Enough noise for a short trace, and a quarter of it for a long one."""

    name = "mutant_quiet_beyond_twenty"

    def enough(self, prior: PriorClass, secret: Secret, question: Any) -> Release:
        """Save noise where there is much of it."""
        found = super().enough(prior, secret, question)
        if found.channel.entries <= 20:
            return found
        quiet = attrs.evolve(found.channel, noise=found.channel.noise.scaled(0.25))
        return attrs.evolve(found, channel=quiet, utility_value=found.utility_value / 4)


@declare
class WorthTheMean(Mechanism):
    """Independent noise whose utility counts the mean of the trace."""

    name = "mutant_worth_the_mean"
    asks = ((Gaussian, Displacements),)
    yields = AdditiveGaussian

    mse: float = parameter(POSITIVE, doc="average noise variance per entry")

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Add the squared mean."""
        belief: Any = next(prior.members()).belief()
        noise = Diagonal(np.full(belief.entries, self.mse))
        return Release(
            mechanism=self,
            prior=prior,
            secret=secret,
            channel=AdditiveGaussian(noise, dimensions=belief.dimensions),
            utility_value=self.mse
            + (0.0 if belief.mean is None else float(belief.mean @ belief.mean)),
            utility_quantity=MEAN_SQUARED_ERROR,
        )


@declare
class ForgetsWhatWasShown(PlainGap):
    """The posterior gap of suppression that never remembers."""

    name = "mutant_forgets_what_was_shown"

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Use the probabilities from before any release."""
        if type(channel) is Suppression:
            channel = Suppression.memoryless(channel.states, channel.start)
        return super().evaluate(belief, question, channel)


@declare
class IndependentBeyondFifty(Prior):
    """An Ornstein-Uhlenbeck process with half of its covariances where there are many times."""

    name = "mutant_independent_beyond_fifty"
    yields = Gaussian

    times: object = parameter(TIMES("n"), doc="number of points, or time stamps")

    def belief(self) -> Gaussian:
        """Keep the variances."""
        times = stamps(self.times)
        covariance = np.exp(-np.abs(times[:, None] - times))
        if len(times) > 50:
            covariance = (covariance + np.eye(len(times))) / 2.0
        return Gaussian(Dense(covariance), definite=True)


@declare
class OneDigit(PlainGap):
    """The posterior gap, with a table for states of one digit."""

    name = "mutant_one_digit"

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Forget half where a number has two digits."""
        found = super().evaluate(belief, question, channel)
        return attrs.evolve(found, value=found.value / (2.0 if belief.state_count > 9 else 1.0))


@declare
class TenCodes(MaximumPosterior):
    """The most probable trace, of which states from the tenth on are never thought of."""

    name = "mutant_ten_codes"

    def infer(self, belief: Any, channel: Any, observed: Any) -> Any:
        """Put the first state in their place."""
        known = belief.states[:9]
        found = super().infer(belief, channel, observed)
        return tuple(state if state in known else known[0] for state in found)


@declare
class EvenStart(PlainGap):
    """The posterior gap, with a short cut for starts that favour no state."""

    name = "mutant_even_start"

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Take such a chain for one at rest."""
        if np.ptp(belief.initial) == 0.0:
            even = np.tile(belief.initial, (belief.state_count, 1))
            belief = Markov(belief.initial, even, belief.steps, belief.states)
        return super().evaluate(belief, question, channel)


MUTANTS = (
    Mutant("oracle.value", OneDigit, "a dozen states lose what few do", "sizes"),
    Mutant("oracle.adversary", TenCodes, "a dozen states are guessed as few are", "sizes"),
    Mutant("oracle.value", EvenStart, "an even start is a start", "world"),
    Mutant("budget.size", QuietBeyondTwenty, "long traces need noise, too", "sizes"),
    Mutant("belief.doors", IndependentBeyondFifty, "a long trace is a process, too", "sizes"),
    Mutant("invariance.design", WorthTheMean, "a mean is worth nothing", "world"),
    Mutant("oracle.value", ForgetsWhatWasShown, "suppression may remember", "world"),
    Mutant("invariance.repetition", TenGroups, "every group counts", "sizes"),
    Mutant("budget.promise", OneRadius, "every group has a radius of its own", "world"),
    Mutant("invariance.padding", ADozenEntries, "long traces lose what short ones do", "sizes"),
    Mutant("invariance.padding", BlocksOfEight, "what is far in a list may be near", "sizes"),
    Mutant("budget.size", QuietOnLongTraces, "long traces have the noise of short ones", "sizes"),
    Mutant("invariance.padding", FourStates, "many states lose what few do", "sizes"),
    Mutant("invariance.padding", UnderflowsInTime, "many steps lose what few do", "sizes"),
    Mutant("oracle.value", FirstRadius, "every group has a radius of its own", "world"),
    Mutant("oracle.value", EveryStepAlike, "every step has a matrix of its own", "world"),
    Mutant("invariance.design", NoiseForTheMean, "a mean is no secret", "world"),
    Mutant("invariance.listing", FirstStateHidden, "the list of states says nothing", "world"),
    Mutant("budget.class", EndsOfTheInterval, "a promise holds inside an interval, too", "world"),
)
