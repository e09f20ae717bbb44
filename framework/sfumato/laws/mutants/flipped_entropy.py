"""Fano's inequality with the sign of H(E) flipped."""

from __future__ import annotations

import math
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


@declare
class FlippedEntropy(LossMeasure):
    """The largest p with (1 − p) log(N − 1) ≥ H(X | O) + H(p), where Fano has − H(p)."""

    name = "mutant_flipped_entropy"
    reads = ((Markov, Guess, Emission),)

    @property
    def quantity(self) -> Quantity:
        """The reconstruction success."""
        return RECONSTRUCTION

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Return the spoilt bound, which is too small."""
        if question.mistakes:
            return Reading(value=1.0, bound="upper")
        joint = Table.of(belief, channel).joint
        seen = joint.sum(axis=0)
        some = joint > 0
        conditional = (
            -float(
                (
                    joint
                    * np.log(
                        np.where(some, joint / seen, 1.0), where=some, out=np.zeros_like(joint)
                    )
                ).sum()
            )
            if seen.all()
            else math.inf
        )
        if not math.isfinite(conditional):
            return Reading(value=1.0, bound="upper")
        grid = np.linspace(1e-6, 1 - 1e-6, 2001)
        entropy = -grid * np.log(grid) - (1 - grid) * np.log1p(-grid)
        count = max(len(joint) - 1, 1)
        allowed = grid[(1 - grid) * math.log(count) >= conditional + entropy]
        return Reading(value=float(allowed.max(initial=0.0)), bound="upper", how="Fano, spoilt")


MUTANT = Mutant("oracle.value", FlippedEntropy, "H(E) loosens Fano's bound, it does not tighten it")
