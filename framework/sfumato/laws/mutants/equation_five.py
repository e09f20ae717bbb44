"""Equation (5) of Meehan and Chaudhuri (2021), used on correlated noise."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.laws.mutant import Mutant
from sfumato.laws.mutants.plain_gaussian import FloatArray, PlainRenyi
from sfumato.parameters import declare
from sfumato.protocols import Reading


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


MUTANT = Mutant(
    "soundness.floor_ceiling", EquationFive, "equation (5) is no bound for correlated noise"
)
