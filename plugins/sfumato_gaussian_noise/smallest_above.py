"""The program SDP_B of Meehan and Chaudhuri: the smallest noise above several."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.matrices.matrix import Array
from sfumato_gaussian_noise.solved import solve

TOLERANCE = 1e-9
"""How far, relatively, the trace may be above the smallest one."""
MOST_ROUNDS = 500
NEGLIGIBLE = 1e-14
"""Eigenvalues below this share of the largest are rounding."""


def smallest_above(covariances: Array) -> Array:
    """Return the matrix K of smallest trace with K ⪰ Γ_i for all i.

    For weights Z_i ⪰ 0 with Σ Z_i ⪯ I, tr K ≥ Σ tr K Z_i ≥ Σ tr Γ_i Z_i; at the optimum these are
    equal, so that (K − Γ_i) Z_i = 0, Z_i = K⁻¹ Γ_i Z_i Γ_i K⁻¹ and K² = Σ Γ_i Z_i Γ_i.
    The last two are iterated, from weights of the shape of the Γ_i; what K lacks of Γ_i is then
    added to its diagonal, so that it is above all of them whatever the iteration did. Where the
    lower bound shows that it has not come to an end, a solver has the word.

    Reference: Meehan and Chaudhuri (2021), appendix 7.3.2; the iteration is known from telling
    quantum states apart, which is the same program.

    >>> smallest_above(np.array([np.diag([1.0, 0.0]), np.diag([0.0, 2.0])])).round(6)
    array([[1., 0.],
           [0., 2.]])
    """
    scale = float(np.trace(covariances, axis1=1, axis2=2).max())
    if not scale > 0:
        return np.zeros_like(covariances[0])
    found, bound = _iterated(covariances / scale)
    above = _raised(found, covariances / scale)
    if float(np.trace(above)) > bound * (1 + 1e3 * TOLERANCE):
        above = _raised(_solved(covariances / scale), covariances / scale)
    return above * scale


def _iterated(covariances: Array) -> tuple[Array, float]:
    """Return K, and the lower bound Σ tr Γ_i Z_i of the trace."""
    factors = _factors(covariances)
    weights = _whitened(factors)[1]
    for _ in range(MOST_ROUNDS):
        inner = np.swapaxes(factors, 1, 2) @ weights
        root, weights = _whitened(factors @ inner)
        inner = np.swapaxes(factors, 1, 2) @ weights
        bound = float(np.sum(inner**2))
        if abs(float(np.trace(root)) - bound) <= 0.1 * TOLERANCE * bound and (
            _lacking(root, covariances) * len(root) <= TOLERANCE * bound
        ):
            break
    return root, bound


def _factors(covariances: Array) -> Array:
    """Return F_i with Γ_i = F_i F_iᵀ, all as wide as the highest rank."""
    values, vectors = np.linalg.eigh(covariances)
    kept = values > NEGLIGIBLE * values[:, -1:]
    width = int(kept.sum(axis=1).max())
    roots = np.sqrt(np.where(kept, values, 0.0))
    return np.asarray((vectors * roots[:, None, :])[:, :, -width:])


def _whitened(factors: Array) -> tuple[Array, Array]:
    """Return K = (Σ F_i F_iᵀ)^½ and the factors K⁻¹ F_i, on the range of K."""
    total: NDArray[np.float64] = np.einsum("kir,kjr->ij", factors, factors)
    values, vectors = np.linalg.eigh(total)
    kept = values > NEGLIGIBLE * values[-1]
    roots = np.sqrt(np.where(kept, values, 0.0))
    inverse = np.divide(1.0, roots, out=np.zeros_like(roots), where=kept)
    return (vectors * roots) @ vectors.T, (vectors * inverse) @ vectors.T @ factors


def _lacking(found: Array, covariances: Array) -> float:
    return max(0.0, -float(np.linalg.eigvalsh(found - covariances)[:, 0].min()))


def _raised(found: Array, covariances: Array) -> Array:
    even = (found + found.T) / 2
    return np.asarray(even + _lacking(even, covariances) * np.eye(len(even)))


def _solved(covariances: Array) -> Array:
    import cvxpy as cp

    size = covariances.shape[1]
    above = cp.Variable((size, size), symmetric=True)
    constraints = [above - covariance >> 0 for covariance in covariances]
    problem = cp.Problem(cp.Minimize(cp.trace(above)), constraints)
    # An interior-point method needs minutes for one cone per secret; what SCS leaves out is added.
    solve(problem, "SCS", "SDP_B", eps=1e-6, max_iters=20_000)
    return np.asarray(above.value)
