"""A Gaussian adversary who moves half-way."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.laws.mutant import Mutant
from sfumato.parameters import declare
from sfumato.protocols import Adversary


@attrs.frozen
class _Posterior:
    mean: Any
    covariance: Any


@declare
class TimidPosterior(Adversary):
    """Promises the posterior; its mean is half-way between the prior's and the truth."""

    name = "mutant_timid_posterior"
    reads = ((Gaussian, AdditiveGaussian),)
    promises = ("posterior",)

    def infer(self, belief: Any, channel: Any, observed: Any) -> _Posterior:
        """Return half of the step."""
        sigma = belief.covariance.dense()
        gains = sigma @ np.linalg.pinv(sigma + channel.covariance())
        centre = np.zeros(belief.entries) if belief.mean is None else belief.mean
        step = gains @ (np.asarray(observed, dtype=float).reshape(-1) - centre)
        return _Posterior((centre + step / 2).reshape(belief.shape), sigma - gains @ sigma)


MUTANT = Mutant("oracle.adversary", TimidPosterior, "a posterior mean moves the whole way")
