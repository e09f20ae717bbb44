"""The matrix mechanism for running sums: square-root and banded factorisations."""

from __future__ import annotations

import math

import numpy as np

from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.matrices import LowRank
from sfumato.parameters import (
    OPTIONAL,
    POSITIVE,
    POSITIVE_WHOLE,
    ExactlyOne,
    declare,
    parameter,
)
from sfumato.protocols import Mechanism, PriorClass, Release, Secret
from sfumato.quantities import MEAN_SQUARED_ERROR
from sfumato.questions import Displacements
from sfumato.values import FloatArray


def square_root_terms(count: int, bands: int | None) -> FloatArray:
    """Return the first column of C, C² = A the matrix of running sums, cut to some bands.

    1/(1 − x) = (Σ c_k x^k)² with c_0 = 1, c_k = c_{k−1} (2k − 1)/(2k).
    """
    k = np.arange(1, count)
    terms = np.concatenate([[1.0], np.cumprod((2.0 * k - 1.0) / (2.0 * k))])
    terms[bands if bands is not None else count :] = 0.0
    return np.asarray(terms)


def inverse_terms(terms: FloatArray) -> FloatArray:
    """Return the first column of the inverse of a lower triangular Toeplitz matrix."""
    found = np.zeros(len(terms))
    found[0] = 1.0 / terms[0]
    for k in range(1, len(terms)):
        found[k] = -(terms[1 : k + 1] @ found[k - 1 :: -1]) / terms[0]
    return found


@declare
class MatrixFactorisation(Mechanism):
    """Noise of a private running sum: sums $A x$ are released as $A (x + C⁻¹z)$, $z ∼ N(0, σ²I)$.

    A is invertible, so that is to release $x + C⁻¹z$: added noise of covariance $Γ = σ² C⁻¹C⁻ᵀ$.
    With all `bands` C is the square root of A, with b of them its lower b diagonals, with one the
    identity: independent noise. A change of one entry by `change` is hidden with Gaussian
    differential privacy $μ = change · max‖column of C‖ / σ$, which is given, or follows from `mse`
    and stands in the certificate. That promise counts on entries that know nothing of each other;
    what is left of it before somebody who knows better is for the measures to say.

    Reference: Fichtenberger, Henzinger and Upadhyay (2023), the square root; Kalinin and Lampert
    (2024), banded square roots; Dong, Roth and Su (2022), μ.

    >>> import sfumato as sf
    >>> smooth, secret = sf.priors.rbf(length_scale=6.0, times=50), sf.secrets.basic(24)
    >>> release = sf.mechanisms.matrix_factorisation(mu=1.0).protect(smooth, secret)
    >>> round(release.utility(), 4), release.certificate["mu"]
    (2.9264, 1.0)
    >>> round(sf.measures.advantage().loss(smooth, secret, release).value, 4)
    0.9546
    """

    name = "matrix_factorisation"
    asks = ((Gaussian, Displacements),)
    yields = AdditiveGaussian
    rules = (ExactlyOne(("mse", "mu")),)
    promises = (("mse", "mean_squared_error"),)
    strength = ("mse", "more")

    mse: float | None = parameter(POSITIVE, default=None, doc="average noise variance per entry")
    mu: float | None = parameter(
        POSITIVE, default=None, doc="Gaussian differential privacy of one entry's change"
    )
    bands: int | None = parameter(
        OPTIONAL(POSITIVE_WHOLE), default=None, doc="diagonals of the factor; all by default"
    )
    change: float = parameter(POSITIVE, default=1.0, doc="by how much one entry may change")

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Scale the factor to the noise or to the promise."""
        belief: Gaussian = next(prior.members()).belief()
        terms = square_root_terms(belief.times, self.bands)
        sensitivity = self.change * math.sqrt(float(terms @ terms))
        inverse = inverse_terms(terms)
        lags = np.subtract.outer(np.arange(belief.times), np.arange(belief.times))
        factor = np.where(lags >= 0, inverse[np.abs(lags)], 0.0)
        variance = float(np.square(factor).sum()) / belief.times  # per entry, at σ = 1
        if self.mu is not None:
            sigma, mu = sensitivity / self.mu, self.mu
        else:
            sigma = math.sqrt((self.mse or 0.0) / variance)
            mu = sensitivity / sigma
        noise = LowRank(sigma * np.kron(factor, np.eye(belief.dimensions)))
        channel = AdditiveGaussian(noise, dimensions=belief.dimensions)
        mse = noise.trace() / belief.entries
        return Release(self, prior, secret, channel, mse, MEAN_SQUARED_ERROR, {"mu": mu})
