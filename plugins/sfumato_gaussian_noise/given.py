"""Noise of a covariance that the user gives."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.matrices import Dense
from sfumato.parameters import COVARIANCE, declare, parameter
from sfumato.protocols import DeclaredMechanism, PriorClass, Release, Secret
from sfumato.questions import Displacements
from sfumato_gaussian_noise.additive_release import additive_release


@declare
class Given(DeclaredMechanism):
    """Noise of a given covariance Γ, measured as it is.

    >>> Given(covariance=[[1.0, 0.5], [0.5, 1.0]]).covariance.shape
    (2, 2)
    """

    name = "gaussian_given"
    asks = ((Gaussian, Displacements),)
    yields = AdditiveGaussian

    covariance: NDArray[np.float64] = parameter(COVARIANCE("entries"), doc="the noise covariance Γ")

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Use the covariance for traces of its size."""
        entries = next(prior.members()).belief().entries
        if len(self.covariance) != entries:
            raise self.reject(
                "covariance", f"{entries} by {entries}, as the trace has it", self.covariance
            )
        return additive_release(self, prior, secret, Dense(self.covariance))
