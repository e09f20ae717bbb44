"""A Monte Carlo estimate reported as an upper bound."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.beliefs import Markov
from sfumato.channels import Emission
from sfumato.laws.mutant import Mutant
from sfumato.laws.oracles.markov import Table
from sfumato.parameters import declare
from sfumato.protocols import LossMeasure, Quantity, Reading
from sfumato.quantities import RECONSTRUCTION
from sfumato.questions import Guess

DRAWS = 50


@declare
class MonteCarloCeiling(LossMeasure):
    """The frequency of success in fifty draws, with a ceiling it cannot vouch for."""

    name = "mutant_monte_carlo_ceiling"
    reads = ((Markov, Guess, Emission),)

    @property
    def quantity(self) -> Quantity:
        """The reconstruction success."""
        return RECONSTRUCTION

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Return the frequency with which the likeliest trace is right."""
        del question
        joint = Table.of(belief, channel).joint
        rng = np.random.default_rng(0)
        cells = rng.choice(joint.size, size=DRAWS, p=(joint / joint.sum()).reshape(-1))
        traces, outputs = np.unravel_index(cells, joint.shape)
        hits = (joint.argmax(axis=0)[outputs] == traces).mean()
        return Reading(value=float(hits), bound="upper", how="fifty draws")


MUTANT = Mutant("oracle.value", MonteCarloCeiling, "a frequency is no upper bound")
