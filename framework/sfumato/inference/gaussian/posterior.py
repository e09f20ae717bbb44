"""What an adversary believes after seeing a Gaussian release."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.errors import ImpossibleObservation, ParameterError
from sfumato.inference import exact
from sfumato.inference.gaussian.fisher_information import EXACT, check_fit
from sfumato.matrices.matrix import ROUNDOFF, Array, Matrix, as_indices


def posterior_covariance(prior: Matrix, noise: Matrix) -> Array:
    """Return V = Σ − Σ K⁺ Σ = Γ − Γ K⁺ Γ, the covariance of X given Z = X + G, with K = Σ + Γ.

    Computed as YᵀΣ Y + XᵀΓ X with X = K⁺Σ and Y = K⁺Γ: a sum of two semidefinite terms, in which
    nothing cancels, whether the noise is tiny or huge.
    It serves adversaries; a loss has its error certified (`fisher_information`).
    """
    believed, added = prior.dense(), noise.dense()
    inverse, _ = _pseudo_inverse(believed + added)
    from_prior, from_noise = inverse @ believed, inverse @ added
    result = from_noise.T @ believed @ from_noise + from_prior.T @ added @ from_prior
    return np.asarray((result + result.T) / 2)


def posterior(
    belief: Gaussian, channel: AdditiveGaussian, observed: ArrayLike
) -> tuple[Array, Array]:
    """Return mean (in the shape of a trace) and covariance (n, n) of X given Z = observed.

    The mean is μ + Σ K⁺ (z − μ). Where K is singular, only some z are possible; one that lies
    further off than the channel's rounding to its grid explains is refused.

    >>> from sfumato.beliefs import Gaussian
    >>> from sfumato.channels import AdditiveGaussian
    >>> from sfumato.inference.gaussian.posterior import posterior
    >>> from sfumato.matrices import Diagonal
    >>> belief = Gaussian(Diagonal([1.0]), mean=[2.0])
    >>> mean, covariance = posterior(belief, AdditiveGaussian(Diagonal([1.0])), [4.0])
    >>> mean, covariance
    (array([3.]), array([[0.5]]))
    """
    check_fit(belief, channel)
    seen = np.asarray(observed)
    real = seen.dtype.kind in "iuf" and seen.shape == belief.shape
    if not (real and np.all(np.isfinite(seen))):
        raise ParameterError(
            f"observed must be finite real numbers of shape {belief.shape}; got {seen.dtype} of "
            f"shape {seen.shape}."
        )
    mean = np.zeros(belief.entries) if belief.mean is None else belief.mean
    surprise = seen.reshape(-1) - mean
    total = belief.covariance.dense() + channel.noise.dense()
    inverse, missing = _pseudo_inverse(total)
    if missing(surprise, channel.grid):
        raise ImpossibleObservation(
            "observed must lie in the range of prior plus noise; got a trace that is impossible."
        )
    explained = inverse @ surprise
    updated = mean + belief.covariance.apply(explained)
    return updated.reshape(belief.shape), posterior_covariance(belief.covariance, channel.noise)


def _pseudo_inverse(total: Array) -> tuple[Array, Callable[[Array, float], bool]]:
    """Return a symmetric g-inverse of K, and whether a vector leaves the range of K.

    In units of the deviations, so that entries of very different size keep their digits.
    Directions below rounding count as null space; what is sampled may still have a deviation of up
    to that rounding in them, and be off by the channel's grid.
    """
    size, variances = total.shape[0], np.diagonal(total)
    deviations = np.sqrt(np.where(variances > 0, variances, 1.0))
    values, vectors = np.linalg.eigh(total / deviations[:, None] / deviations[None, :])
    cut = 8 * size * ROUNDOFF * max(float(values[-1]), 1.0)
    kept = values > cut
    whitened = vectors[:, kept] / np.sqrt(values[kept]) / deviations[:, None]

    def leaves_range(vector: Array, grid: float) -> bool:
        scaled = vector / deviations
        slack = float(np.linalg.norm(grid / deviations)) + 1e-9 * float(np.linalg.norm(scaled))
        return bool(np.linalg.norm(vectors[:, ~kept].T @ scaled) > slack + 8 * math.sqrt(cut))

    return np.asarray(whitened @ whitened.T), leaves_range


def prior_precision(belief: Gaussian, entries: Sequence[int]) -> tuple[Array, float]:
    """Return Σ_SS⁻¹ and a certified bound of its relative error in the 2-norm (inf: unknown).

    With X an approximate inverse of the stored block A and E the rounding of A, the true inverse
    differs from X by at most ‖X‖ q / (1 − q), q = ‖I − X A‖ + ‖X‖ ‖E‖.
    """
    chosen = as_indices(entries, belief.entries)
    deviations = np.sqrt(belief.covariance.diagonal()[chosen])
    if not np.all(deviations > 0):
        return np.full((chosen.size, chosen.size), np.nan), math.inf
    inverse, error = _precision_in_float64(belief, chosen, deviations)
    if error <= EXACT:
        return inverse, error
    return exact.inverse(belief, chosen.tolist()) or (inverse, error)


def _precision_in_float64(
    belief: Gaussian, chosen: NDArray[np.intp], deviations: Array
) -> tuple[Array, float]:
    size = chosen.size
    block = belief.covariance.block(chosen, chosen)
    scaled = block / deviations[:, None] / deviations[None, :]
    try:
        inverse = np.linalg.inv(scaled)
    except np.linalg.LinAlgError:
        return np.full((size, size), np.nan), math.inf
    inverse = (inverse + inverse.T) / 2
    rounding = size * (belief.rounding + 4 * ROUNDOFF)
    norm = float(np.linalg.norm(inverse, 2)) * (1 + 1e-9)
    missed = float(np.linalg.norm(np.eye(size) - inverse @ scaled, 2))
    q = missed + norm * (rounding + 2 * size * size * ROUNDOFF)
    unscaled = inverse / deviations[:, None] / deviations[None, :]
    if not (q < 0.25 and np.all(np.isfinite(unscaled))):
        return unscaled, math.inf
    # ‖D X D‖ of the unscaled inverse may be smaller than ‖X‖ max D², by the spread of D.
    spread = norm / float(np.min(deviations)) ** 2 / float(np.linalg.norm(unscaled, 2))
    return unscaled, 2 * q * spread
