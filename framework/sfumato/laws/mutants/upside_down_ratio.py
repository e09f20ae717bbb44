"""A signal-to-noise ratio upside down."""

from __future__ import annotations

from typing import Any

from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.laws.mutant import Mutant
from sfumato.parameters import declare
from sfumato.protocols import LossMeasure, Quantity, Reading


@declare
class UpsideDownRatio(LossMeasure):
    """tr Γ / tr Σ, said to be worse when larger."""

    name = "mutant_upside_down_ratio"
    reads = ((Gaussian, object, AdditiveGaussian),)

    @property
    def quantity(self) -> Quantity:
        """A ratio without a unit."""
        return Quantity("noise to signal")

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Return the ratio."""
        del question
        return Reading(value=channel.noise.trace() / belief.covariance.trace(), bound="exact")


MUTANT = Mutant("monotone.noise", UpsideDownRatio, "more noise must not be a larger loss")
