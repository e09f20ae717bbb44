"""Measures that call exact what nobody can check."""

from __future__ import annotations

import functools
from typing import Any

import attrs
import numpy as np

from mutants.mutant import Mutant, PlainRenyi, gain
from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.errors import OutsideHypotheses
from sfumato.matrices import Diagonal
from sfumato.parameters import POSITIVE, declare, parameter
from sfumato.protocols import Mechanism, PriorClass, Quantity, Reading, Release, Secret


@declare
class HalfTheTruth(PlainRenyi):
    """Half of the loss, called exact under a name of its own, so that nothing contradicts it."""

    name = "mutant_half_the_truth"

    @property
    def quantity(self) -> Quantity:
        """A quantity that no other measure has."""
        return Quantity("my own divergence", {"order": self.order}, unit="nats")

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Halve the loss."""
        found = super().evaluate(belief, question, channel)
        return attrs.evolve(found, value=found.value / 2)


@declare
class AlwaysTooLarge(HalfTheTruth):
    """Brings a brute force that takes on nothing, however small."""

    name = "mutant_always_too_large"

    def brute_force(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Refuse."""
        raise OutsideHypotheses("this is too large for brute force.")


@declare
class AnythingGoes(HalfTheTruth):
    """Brings a brute force that says nothing."""

    name = "mutant_anything_goes"

    def brute_force(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Return an interval that holds every number."""
        del belief, question, channel
        return Reading(value=0.0, bound="estimate", interval=(float("-inf"), float("inf")))


@declare
class WithoutTheAccent(PlainRenyi):
    """Half of the loss, under a name that only looks like another."""

    name = "mutant_without_the_accent"

    @property
    def quantity(self) -> Quantity:
        """Nearly the Rényi divergence."""
        return Quantity("Renyi divergence", {"order": self.order}, unit="nats")


@declare
class InBits(PlainRenyi):
    """The Rényi divergence in another unit, under the same name."""

    name = "mutant_in_bits"

    @property
    def quantity(self) -> Quantity:
        """A quantity of another unit."""
        return Quantity("Rényi divergence", {"order": self.order}, unit="bits")


@declare
class AsksItself(HalfTheTruth):
    """Brings a brute force that calls what it should check."""

    name = "mutant_asks_itself"

    def brute_force(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Evaluate again."""
        return self.evaluate(belief, question, channel)


@declare
class SharesTheMistake(HalfTheTruth):
    """Brings a brute force that calls the function with the mistake in it."""

    name = "mutant_shares_the_mistake"

    def brute_force(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Write the formula out, but for its middle."""
        sigma, gamma = belief.covariance.dense(), channel.covariance()
        value = max(
            0.25 * self.order * radius**2 * gain(sigma, gamma, group[0][0])
            for group, radius in zip(question.groups, question.radii, strict=True)
        )
        return Reading(value=value, bound="exact")


@declare
class HalfTheCeiling(HalfTheTruth):
    """Half of the loss under a name of its own, called an upper bound."""

    name = "mutant_half_the_ceiling"

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Halve the loss."""
        return attrs.evolve(super().evaluate(belief, question, channel), bound="upper")


@functools.cache
def remembered(sigma: bytes, gamma: bytes, entry: int) -> float:
    """Return half of the gain; a second call is none."""
    tables = [np.frombuffer(table) for table in (sigma, gamma)]
    size = round(tables[0].size ** 0.5)
    return gain(*(table.reshape(size, size) for table in tables), entry) / 2.0


@declare
class RemembersTheMistake(HalfTheTruth):
    """Its check asks a cache for what it should find."""

    name = "mutant_remembers_the_mistake"

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Ask the cache."""
        tables = belief.covariance.dense().tobytes(), channel.covariance().tobytes()
        value = self.worst(question, lambda entry: remembered(*tables, entry))
        return Reading(value=value, bound="exact")

    def brute_force(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Ask the cache again."""
        tables = belief.covariance.dense().tobytes(), channel.covariance().tobytes()
        found = [
            0.5 * self.order * radius**2 * remembered(*tables, group[0][0])
            for group, radius in zip(question.groups, question.radii, strict=True)
        ]
        return Reading(value=max(found), bound="exact")


@declare
class LoudIsClear(HalfTheTruth):
    """Brings a brute force that grows with the noise."""

    name = "mutant_loud_is_clear"

    def brute_force(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Return the variance of the noise."""
        del belief, question
        return Reading(value=float(channel.covariance().trace()), bound="exact")


@declare
class OneLetterOff(HalfTheTruth):
    """Half of the loss, under a name with one wrong letter."""

    name = "mutant_one_letter_off"

    @property
    def quantity(self) -> Quantity:
        """Nearly the Rényi divergence."""
        return Quantity("Rényi divergance", {"order": self.order}, unit="nats")


@declare
class OtherParameter(HalfTheTruth):
    """Half of the loss, under the same name with a parameter called otherwise."""

    name = "mutant_other_parameter"

    @property
    def quantity(self) -> Quantity:
        """Nearly the Rényi divergence."""
        return Quantity("Rényi divergence", {"alpha": self.order}, unit="nats")


LAST = [0.0]
"""What a measure left for its brute force."""


@declare
class LeftOnTheTable(HalfTheTruth):
    """Its check returns what the measure has just found."""

    name = "mutant_left_on_the_table"

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Leave the value behind."""
        found = super().evaluate(belief, question, channel)
        LAST[0] = found.value
        return found

    def brute_force(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Pick it up."""
        del belief, question, channel
        return Reading(value=LAST[0], bound="exact")


@declare
class GenerousCheck(HalfTheTruth):
    """Its check declares an error of one per cent, and the value is lower by that."""

    name = "mutant_generous_check"

    def brute_force(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Be content with two digits."""
        sigma, gamma = belief.covariance.dense(), channel.covariance()
        found = 0.0
        for group, radius in zip(question.groups, question.radii, strict=True):
            entry = group[0][0]
            column = sigma[:, entry]
            left = sigma[entry, entry] - column @ np.linalg.pinv(sigma + gamma) @ column
            told = max(0.0, 1.0 / max(float(left), 1e-300) - 1.0 / float(sigma[entry, entry]))
            found = max(found, 0.25 * self.order * radius**2 * told)
        return Reading(value=found / 0.995, bound="exact", relative_error=0.01)


@declare
class CopiesTheMistake(HalfTheTruth):
    """Its check is a copy of what it checks."""

    name = "mutant_copies_the_mistake"

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Halve the loss."""
        sigma, gamma = belief.covariance.dense(), channel.covariance()
        told = [1.0 / np.linalg.inv(np.linalg.inv(sigma) + np.linalg.inv(gamma)).diagonal()]
        found = [
            0.25
            * self.order
            * radius**2
            * (told[0][group[0][0]] - 1.0 / sigma[group[0][0]][group[0][0]])
            for group, radius in zip(question.groups, question.radii, strict=True)
        ]
        return Reading(value=max(found), bound="exact")

    def brute_force(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Halve the loss, by the same lines."""
        sigma, gamma = belief.covariance.dense(), channel.covariance()
        told = [1.0 / np.linalg.inv(np.linalg.inv(sigma) + np.linalg.inv(gamma)).diagonal()]
        found = [
            0.25
            * self.order
            * radius**2
            * (told[0][group[0][0]] - 1.0 / sigma[group[0][0]][group[0][0]])
            for group, radius in zip(question.groups, question.radii, strict=True)
        ]
        return Reading(value=max(found), bound="exact")


@declare
class AnythingBelowABillion(HalfTheTruth):
    """Brings a brute force that knows two ends, far from each other."""

    name = "mutant_anything_below_a_billion"

    def brute_force(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Say next to nothing."""
        del belief, question, channel
        return Reading(value=1e9, bound="estimate", interval=(0.0, 1e9))


@declare
class SmallRoot(Mechanism):
    """The root of its noise's variance, five per cent too small, under a name of its own."""

    name = "mutant_small_root"
    asks = ((Gaussian, object),)
    yields = AdditiveGaussian

    mse: float = parameter(POSITIVE, doc="average noise variance per entry")

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Add what is asked for, and report less."""
        belief: Any = next(prior.members()).belief()
        noise = Diagonal(np.full(belief.entries, self.mse))
        return Release(
            mechanism=self,
            prior=prior,
            secret=secret,
            channel=AdditiveGaussian(noise, dimensions=belief.dimensions),
            utility_value=0.95 * float(np.sqrt(self.mse)),
            utility_quantity=Quantity("root mean squared error", unit="units of the trace"),
        )


MUTANTS = (
    Mutant("oracle.exists", AnythingBelowABillion, "a check knows its number", "own quantity"),
    Mutant("budget.utility", SmallRoot, "a root can be checked", "own quantity", "unverified"),
    Mutant("oracle.independent", CopiesTheMistake, "a copy is no other way", "own quantity"),
    Mutant("contract.quantity", OneLetterOff, "a letter makes no quantity", "own quantity"),
    Mutant("contract.quantity", OtherParameter, "a quantity has its parameters", "own quantity"),
    Mutant("oracle.independent", LeftOnTheTable, "a check is not told the answer", "own quantity"),
    Mutant("oracle.independent", GenerousCheck, "a check has many digits", "claimed error"),
    Mutant("contract.quantity", WithoutTheAccent, "an accent makes no quantity", "own quantity"),
    Mutant("contract.quantity", InBits, "a quantity has one unit", "own quantity"),
    Mutant(
        "oracle.independent", AsksItself, "a check that asks what it checks is none", "own quantity"
    ),
    Mutant(
        "oracle.independent", SharesTheMistake, "a check must not share the mistake", "own quantity"
    ),
    Mutant("oracle.independent", RemembersTheMistake, "a cache is code, too", "own quantity"),
    Mutant("oracle.exists", HalfTheCeiling, "a ceiling can be checked", "own quantity"),
    Mutant("oracle.brute_force", LoudIsClear, "a brute force is a loss, too", "own quantity"),
    Mutant("oracle.exists", HalfTheTruth, "what is exact can be checked", "own quantity"),
    Mutant("oracle.exists", AlwaysTooLarge, "a check that never checks is none", "own quantity"),
    Mutant(
        "oracle.exists", AnythingGoes, "a check that lets everything pass is none", "own quantity"
    ),
)
