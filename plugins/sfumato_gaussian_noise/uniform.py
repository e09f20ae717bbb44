"""Independent noise of equal variance on every entry."""

from __future__ import annotations

import numpy as np

from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.matrices import Diagonal
from sfumato.parameters import POSITIVE, declare, parameter
from sfumato.protocols import DeclaredMechanism, PriorClass, Release, Secret
from sfumato.questions import Displacements
from sfumato_gaussian_noise.additive_release import additive_release


@declare
class Uniform(DeclaredMechanism):
    """Independent noise of variance `mse` on every entry, whatever is secret: Γ = mse · I.

    Reference: Meehan and Chaudhuri (2021), section 5, the independent/uniform baseline.

    >>> Uniform(mse=0.02)
    sf.mechanisms.gaussian_uniform(mse=0.02)
    """

    name = "gaussian_uniform"
    asks = ((Gaussian, Displacements),)
    yields = AdditiveGaussian

    mse: float = parameter(POSITIVE, doc="average noise variance per entry")

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Spread the noise evenly."""
        entries = next(prior.members()).belief().entries
        return additive_release(self, prior, secret, Diagonal(np.full(entries, self.mse)))
