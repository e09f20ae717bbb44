"""The Fisher information about every single entry in float64, from one factorisation."""

from __future__ import annotations

import math

import numpy as np

from sfumato.beliefs.gaussian import Gaussian
from sfumato.inference.information import EXACT
from sfumato.matrices.diagonal import Diagonal
from sfumato.matrices.matrix import ROUNDOFF, Array, Matrix


def one_factorisation(belief: Gaussian, noise: Matrix) -> tuple[Array, Array]:
    """Return M_ss = q/(V_ss Σ_ss) for every s, and its relative error (inf or nan: unknown).

    For any w, with y = e_s − w and r = Σ y − Γ w = Σ_s − K w, exactly

        V_ss = yᵀΣ y + wᵀΓ w − rᵀK⁻¹r,      q = Σ_ss − V_ss = wᵀΣ_s + wᵀr + rᵀK⁻¹r :

    no term cancels for w near K⁻¹Σ_s, and 0 ≤ rᵀK⁻¹r ≤ ‖r‖²/g with g below the spectrum of K.
    """
    prior, size = belief.covariance.dense(), belief.entries
    unknown = np.full(size, np.nan), np.full(size, math.inf)
    total = prior + noise.dense()
    inverse = _inverse(total)
    if inverse is None:
        return unknown
    own, noisy = belief.covariance.diagonal(), noise.diagonal()
    left, weights = _weights(inverse, prior, noise, noisy <= own)
    spread, jitter = prior @ left, noise.apply(weights)
    variance = np.einsum("is,is->s", left, spread) + np.einsum("is,is->s", weights, jitter)
    residual = spread - jitter
    # |Σ_ij| ≤ σ_i σ_j and |Γ_ij| ≤ γ_i γ_j bound every product by these sums.
    sigma, gamma = np.sqrt(own), np.sqrt(noisy)
    a, b, c = sigma @ np.abs(left), gamma @ np.abs(weights), sigma @ np.abs(weights)
    u, rounding, noise_error = (size + 4) * ROUNDOFF, belief.rounding, noise.error_bound()
    squares = np.einsum("is,is->s", weights, weights)
    off = np.linalg.norm(residual, axis=0) + noise_error * np.sqrt(squares)
    off += (u + rounding) * np.linalg.norm(sigma) * a + u * np.linalg.norm(gamma) * b
    common = noise_error * squares
    floor = 0.99 * noise.smallest_eigenvalue()
    if not float(np.max(off)) ** 2 <= EXACT**2 * floor * float(np.min(variance)):
        backward = 8 * size * ROUNDOFF * float(np.trace(total))
        perturbed = rounding * float(np.sum(own)) + noise_error
        floor = max(floor, float(np.linalg.eigvalsh(total)[0]) - backward - perturbed)
    common = common + off**2 / floor if floor > 0 else np.full(size, math.inf)
    variance_error = rounding * a**2 + u * (a**2 + b**2) + 8 * ROUNDOFF * variance + common
    # q from the subtraction where that loses at most one bit, else from its own formula.
    gained = np.einsum("is,is->s", weights, prior) + np.einsum("is,is->s", weights, residual)
    gained_error = (rounding + u) * (2 * sigma * c + c**2) + common
    gained_error += u * np.einsum("is,is->s", np.abs(weights), np.abs(residual))
    direct = variance <= own / 2
    gained = np.where(direct, own - variance, gained)
    gained_error = np.where(direct, variance_error + (rounding + 2 * ROUNDOFF) * own, gained_error)
    relative = variance_error / variance + gained_error / gained + rounding + 8 * ROUNDOFF
    sound = (variance > 0) & (gained > 0) & (relative < 0.25)
    return gained / (variance * own), np.where(sound, relative / (1 - 2 * relative), math.inf)


def _inverse(total: Array) -> Array | None:
    """Return the inverse by Cholesky factorisation, or None where float64 finds none."""
    from scipy.linalg.lapack import dpotrf, dpotri

    if not np.all(np.isfinite(total)):
        return None
    factor, failed = dpotrf(total, lower=1)
    if failed:
        return None
    lower, _ = dpotri(factor, lower=1, overwrite_c=1)
    return np.asarray(np.tril(lower) + np.tril(lower, -1).T)


def _weights(
    inverse: Array, prior: Array, noise: Matrix, quiet: np.ndarray[tuple[int], np.dtype[np.bool_]]
) -> tuple[Array, Array]:
    """Return y and w = e_s − y for every s, as columns; the smaller of the two is solved for."""
    size = inverse.shape[0]
    if isinstance(noise, Diagonal):
        left = inverse * noise.variances
    else:
        left = np.empty_like(inverse)
        left[:, quiet] = inverse @ noise.columns(np.flatnonzero(quiet))
    weights = np.eye(size) - left
    loud = ~quiet
    if np.any(loud):
        weights[:, loud] = inverse @ prior[:, loud]
        left[:, loud] = np.eye(size)[:, loud] - weights[:, loud]
    return left, weights
