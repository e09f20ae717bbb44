"""Suppression counted as loss of privacy."""

from __future__ import annotations

from typing import Any

from sfumato.beliefs import Markov
from sfumato.channels import Suppression
from sfumato.laws.mutant import Mutant
from sfumato.parameters import declare
from sfumato.protocols import LossMeasure, Quantity, Reading


@declare
class SuppressedShare(LossMeasure):
    """The average suppression probability, said to be worse when larger."""

    name = "mutant_suppressed_share"
    reads = ((Markov, object, Suppression),)

    @property
    def quantity(self) -> Quantity:
        """A share of what could be released."""
        return Quantity("suppressed share")

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Return the average probability."""
        del belief, question
        return Reading(value=float(channel.start.mean()), bound="exact")


MUTANT = Mutant("monotone.suppression", SuppressedShare, "suppressing more must not lose more")
