"""The noise that a release adds."""

from __future__ import annotations

from typing import Any

import attrs

from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.compatibility import require_measure
from sfumato.parameters import declare
from sfumato.protocols import (
    DeclaredMeasure,
    Loss,
    PriorClass,
    Quantity,
    Reading,
    Release,
    Scenario,
    Secret,
)
from sfumato.quantities import MEAN_SQUARED_ERROR


@declare
class MeanSquaredError(DeclaredMeasure):
    """The average noise variance per real-valued entry: tr Γ / n.

    Exact, for any additive noise of mean zero.

    >>> MeanSquaredError().quantity.name
    'mean squared error'
    """

    name = "mean_squared_error"
    reads = ((Gaussian, object, AdditiveGaussian),)

    @property
    def quantity(self) -> Quantity:
        """The mean squared error."""
        return MEAN_SQUARED_ERROR

    def evaluate(self, belief: Gaussian, question: Any, channel: AdditiveGaussian) -> Reading:
        """Return the trace of the noise over the number of entries."""
        del question
        return Reading(value=channel.noise.trace() / belief.entries, how="trace of the noise")

    def loss(self, prior: PriorClass, secret: Secret, release: Release) -> Loss:
        """Return the error, which is the same for every member: no class is searched."""
        require_measure(self, prior, secret, release)
        return attrs.evolve(
            super().loss(next(iter(prior.members())), secret, release),
            scenario=Scenario(prior, secret, release.channel),
        )
