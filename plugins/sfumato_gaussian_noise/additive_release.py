"""From a noise covariance to a release."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.matrices import Matrix
from sfumato.protocols import Mechanism, PriorClass, Release, Secret
from sfumato.quantities import MEAN_SQUARED_ERROR


def additive_release(
    mechanism: Mechanism,
    prior: PriorClass,
    secret: Secret,
    noise: Matrix,
    claims: Mapping[str, Any] | None = None,
) -> Release:
    """Return the release that adds the noise; its utility is the noise variance per entry."""
    belief: Gaussian = next(prior.members()).belief()
    return Release(
        mechanism=mechanism,
        prior=prior,
        secret=secret,
        channel=AdditiveGaussian(noise, dimensions=belief.dimensions),
        utility_value=noise.trace() / belief.entries,
        utility_quantity=MEAN_SQUARED_ERROR,
        claims=claims or {},
    )
