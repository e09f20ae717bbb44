"""Independent noise on the secret entries alone."""

from __future__ import annotations

import numpy as np

from sfumato.matrices import Diagonal
from sfumato.parameters import declare
from sfumato.protocols import PriorClass, Secret
from sfumato_gaussian_noise.calibrated import Calibrated, Design


@declare
class Concentrated(Calibrated):
    """Independent noise that spends the whole budget on the secret entries S.

    Γ_SS = (n · mse / |S|) · I and nothing elsewhere, so the other entries are released as they are:
    on a smooth prior they give the secret away, and the loss is astronomical though finite.

    Reference: Meehan and Chaudhuri (2021), section 5, the independent/concentrated baseline.

    >>> Concentrated(mse=0.02)
    sf.mechanisms.gaussian_concentrated(mse=0.02)
    """

    name = "gaussian_concentrated"

    def noise(self, prior: PriorClass, secret: Secret, mse: float) -> Design:
        """Spread the noise over the secret entries."""
        belief = next(prior.members()).belief()
        chosen = np.array(secret.question(belief).entries)
        variances = np.zeros(belief.entries)
        variances[chosen] = mse * belief.entries / chosen.size
        return Design(Diagonal(variances))
