"""NaN that becomes perfect privacy."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.laws.mutant import Mutant
from sfumato.laws.mutants.plain_gaussian import FloatArray, PlainRenyi
from sfumato.parameters import declare
from sfumato.protocols import Reading


@declare
class NanIsZero(PlainRenyi):
    """Divides by the noise; where there is none, 0/0 is reported as no loss."""

    name = "mutant_nan_is_zero"

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Return max(0, NaN) where nothing is added."""
        sigma, gamma = belief.covariance.dense(), channel.covariance()
        return Reading(
            value=self.worst(question, lambda s: _careless(sigma, gamma, s)), bound="exact"
        )


def _careless(sigma: FloatArray, gamma: FloatArray, entry: int) -> float:
    column = sigma[:, entry]
    with np.errstate(all="ignore"):
        scale = gamma.trace() / gamma.trace()  # NaN without noise
        posterior = sigma[entry, entry] - column @ np.linalg.pinv(sigma + gamma) @ column
        return max(0.0, float(scale * (1.0 / posterior - 1.0 / sigma[entry, entry])))


MUTANT = Mutant("processing.everything", NanIsZero, "NaN is not zero")
