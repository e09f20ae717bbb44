"""A log-odds gap that forgets the other side."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.laws.mutant import Mutant
from sfumato.laws.mutants.plain_gaussian import PlainRenyi
from sfumato.parameters import OPEN_UNIT, declare, parameter
from sfumato.protocols import LossMeasure, Quantity, Reading
from sfumato.questions import Displacements


@declare
class OneSidedOdds(LossMeasure):
    """The δ-quantile of N(m, 2m), though the odds can move either way."""

    name = "mutant_one_sided_odds"
    reads = ((Gaussian, Displacements, AdditiveGaussian),)

    delta: float = parameter(OPEN_UNIT, default=0.01, doc="the chance δ")

    @property
    def quantity(self) -> Quantity:
        """The log-odds gap."""
        return Quantity("log-odds gap", {"delta": self.delta}, unit="log-odds")

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Return the quantile of one side."""
        mean = PlainRenyi(order=2.0).evaluate(belief, question, channel).value / 2
        if mean == 0 or math.isinf(mean):
            return Reading(value=mean, bound="exact")
        law = NormalDist(mean, math.sqrt(2 * mean))
        return Reading(value=max(0.0, law.inv_cdf(1 - self.delta)), bound="upper")


MUTANT = Mutant("oracle.value", OneSidedOdds, "odds can move either way")
