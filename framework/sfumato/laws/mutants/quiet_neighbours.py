"""Differential privacy of one step, whatever the trace's length."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sfumato.beliefs import Markov
from sfumato.channels import NoisyVectors
from sfumato.laws.mutant import Mutant
from sfumato.parameters import OPEN_UNIT, declare, parameter
from sfumato.protocols import LossMeasure, Quantity, Reading


@declare
class QuietNeighbours(LossMeasure):
    """√(2 log(1.25/δ))/σ times the largest move at one time, reported as an upper bound."""

    name = "mutant_quiet_neighbours"
    reads = ((Markov, object, NoisyVectors),)

    delta: float = parameter(OPEN_UNIT, default=1e-5, doc="chance of exceeding ε")

    @property
    def quantity(self) -> Quantity:
        """The ε at this δ."""
        return Quantity("differential privacy", {"delta": self.delta}, unit="nats")

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Forget that a person is counted at every time, and that the formula is for small ε."""
        del belief, question
        moves = channel.means[:, :, None] - channel.means[:, None]
        largest = float(np.sqrt(np.square(moves).sum(axis=3)).max())
        factor = math.sqrt(max(0.0, 2.0 * math.log(1.25 / self.delta)))
        return Reading(value=0.5 * factor * largest / channel.scale, bound="upper")


MUTANT = Mutant("oracle.value", QuietNeighbours, "a person is counted at every time")
