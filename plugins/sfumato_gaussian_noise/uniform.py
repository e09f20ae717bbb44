"""Independent noise of equal variance on every entry."""

from __future__ import annotations

from sfumato.matrices import Diagonal
from sfumato.parameters import declare
from sfumato.protocols import PriorClass, Secret
from sfumato_gaussian_noise.calibrated import Calibrated, Design


@declare
class Uniform(Calibrated):
    """Independent noise of variance `mse` on every entry, whatever is secret: Γ = mse · I.

    Reference: Meehan and Chaudhuri (2021), section 5, the independent/uniform baseline.

    >>> Uniform(mse=0.02)
    sf.mechanisms.gaussian_uniform(mse=0.02)
    """

    name = "gaussian_uniform"

    def noise(self, prior: PriorClass, secret: Secret, mse: float) -> Design:  # noqa: ARG002
        """Spread the noise evenly; the secret does not matter."""
        entries = next(prior.members()).belief().entries
        return Design(Diagonal.constant(mse, entries))
