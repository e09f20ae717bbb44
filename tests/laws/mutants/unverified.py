"""Measures that call exact what nobody can check."""

from __future__ import annotations

from typing import Any

import attrs

from mutants.mutant import Mutant, PlainRenyi
from sfumato.errors import OutsideHypotheses
from sfumato.parameters import declare
from sfumato.protocols import Quantity, Reading


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


MUTANTS = (
    Mutant("oracle.exists", HalfTheTruth, "what is exact can be checked"),
    Mutant("oracle.exists", AlwaysTooLarge, "a check that never checks is none"),
    Mutant("oracle.exists", AnythingGoes, "a check that lets everything pass is none"),
)
