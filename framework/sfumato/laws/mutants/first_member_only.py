"""A mechanism that keeps its promise for the first member of a class."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.errors import OutsideHypotheses
from sfumato.laws.mutant import Mutant
from sfumato.laws.mutants.plain_gaussian import gain
from sfumato.matrices import Diagonal
from sfumato.parameters import ORDER, POSITIVE, declare, parameter
from sfumato.protocols import Mechanism, PriorClass, Release, Secret
from sfumato.quantities import MEAN_SQUARED_ERROR
from sfumato.questions import Displacements


@declare
class FirstMemberOnly(Mechanism):
    """Enough independent noise for one belief, whatever else the adversary may believe."""

    name = "mutant_first_member_only"
    asks = ((Gaussian, Displacements),)
    yields = AdditiveGaussian

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


MUTANT = Mutant("budget.class", FirstMemberOnly, "a promise is for every member of the class")
