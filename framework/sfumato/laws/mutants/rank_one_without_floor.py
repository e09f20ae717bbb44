"""Rank-one noise without a floor."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.errors import OutsideHypotheses
from sfumato.laws.mutant import Mutant
from sfumato.matrices import LowRank
from sfumato.parameters import ORDER, POSITIVE, declare, parameter
from sfumato.protocols import Mechanism, PriorClass, Release, Secret
from sfumato.quantities import MEAN_SQUARED_ERROR
from sfumato.questions import Displacements


@declare
class RankOneWithoutFloor(Mechanism):
    """The ideal shape q ∝ (Σ + B I)⁻¹Σe_s, rounded to half precision and nothing added.

    A smooth prior knows that the rounding cannot be the trace, and sees through it.
    """

    name = "mutant_rank_one_without_floor"
    asks = ((Gaussian, Displacements),)
    yields = AdditiveGaussian

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


MUTANT = Mutant("budget.epsilon", RankOneWithoutFloor, "a rounded shape needs a floor of noise")
