"""A supremum taken where smaller is worse."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.laws.mutant import Mutant
from sfumato.parameters import declare
from sfumato.protocols import Loss, LossMeasure, PriorClass, Quantity, Reading
from sfumato.questions import Displacements


@declare
class WrongWaySupremum(LossMeasure):
    """The adversary's remaining deviation: the largest over the class, not the smallest."""

    name = "mutant_wrong_way_supremum"
    reads = ((Gaussian, Displacements, AdditiveGaussian),)

    @property
    def quantity(self) -> Quantity:
        """A width: smaller is worse."""
        return Quantity("remaining deviation", unit="units of the trace", worse="smaller")

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Return the smallest posterior deviation of a secret entry."""
        sigma = belief.covariance.dense()
        posterior = sigma - sigma @ np.linalg.pinv(sigma + channel.covariance()) @ sigma
        variances = posterior.diagonal()[list(question.entries)]
        return Reading(value=float(np.sqrt(np.maximum(variances, 0.0)).min()), bound="exact")

    def loss(self, prior: PriorClass, secret: Any, release: Any) -> Loss:
        """Return the largest width of any member."""
        found: list[Loss] = []
        for member in prior.members():
            found.append(super().loss(member, secret, release))  # noqa: PERF401 - as above
        return max(found, key=lambda loss: loss.value)


MUTANT = Mutant("class.member", WrongWaySupremum, "where smaller is worse, the worst is smallest")
