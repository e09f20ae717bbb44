"""Fisher information in float64, with an error bound that is proved, not hoped for."""

from __future__ import annotations

import math

import attrs
import numpy as np

from sfumato.beliefs.gaussian import Gaussian
from sfumato.inference.information import EXACT
from sfumato.inference.secret_entries import SecretEntries
from sfumato.matrices.matrix import ROUNDOFF, Array, Matrix

TINY = 1e-303
"""Below this, float64 runs out of digits, and relative errors say nothing."""


@attrs.frozen(eq=False)
class Regression:
    """Z given X_S = x has mean Ã x and covariance C + Γ; with bounds of their rounding."""

    weights: Array  # Ã, (n, k)
    conditional: Array | None  # C, (n, n); None for zero
    weights_error: Array  # entrywise bound of Ã_true − Ã
    reach: Array  # e, (n,), with |yᵀ(C_true − C)y| ≤ (eᵀ|y|)² for every y

    @property
    def conditional_error(self) -> float:
        """A bound of ‖C_true − C‖."""
        return float(np.sum(self.reach**2))


def fisher_form(belief: Gaussian, noise: Matrix, secret: SecretEntries) -> tuple[Array, float]:
    """Return M = Ãᵀ(C + Γ)⁻¹Ã about the representatives, and its relative error (inf: unknown).

    Let Y approximate A⁻¹Ã for the stored A = C + Γ, with residual R = Ã − A Y. If the true matrices
    are A + E and Ã + D, then exactly

        M_true = [ÃᵀY + YᵀR] + DᵀY + YᵀD − YᵀEY + R'ᵀ(A + E)⁻¹R',   R' = R + D − E Y,

    so the error is at most 2|D|ᵀ|Y| + ‖E‖‖Y‖² + ‖R'‖²/g with g a lower bound of the smallest
    eigenvalue of A + E: the residual counts only squared.
    """
    unknown = np.full((secret.representatives.size,) * 2, np.nan), math.inf
    scales = np.concatenate([belief.covariance.diagonal(), noise.diagonal()])
    if np.any((scales != 0) & (scales < TINY)):
        return unknown
    regression = regress(belief, secret)
    if regression is None:
        return unknown
    total = noise.dense()
    error = noise.error_bound() + regression.conditional_error
    if regression.conditional is not None:
        total = total + regression.conditional
    trace = float(np.trace(total))
    error += 4 * ROUNDOFF * trace
    # Units in which the noise is of order one: a power of two, so nothing is rounded.
    unit = 2.0 ** round(math.log2(trace / total.shape[0])) if trace > 0 else 1.0
    floor = 0.99 * noise.smallest_eigenvalue()
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        matrix, relative = _solve(regression, total / unit, error / unit, floor / unit)
        matrix = matrix / unit
    # What overflows or underflows on the way back to the user's units is not certified.
    sound = np.all(np.isfinite(matrix)) and np.all(np.diag(matrix) >= TINY)
    return (matrix, relative) if sound else unknown


def regress(belief: Gaussian, secret: SecretEntries) -> Regression | None:
    """Return Ã and C; None where float64 cannot tell Σ_SS from a singular matrix.

    Entries obey |E_ij| ≤ ε σ_i σ_j, with ε the belief's rounding and that of the elimination. Let
    τ_i = σ_i + Σ_s |Ã_is| σ_s, and μ be the smallest eigenvalue of the correlations of S. Then
    D (Σ_SS + E_SS) = E_US − Ã E_SS gives |D_is| ≤ ε τ_i √k / (σ_s μ), and T E Tᵀ with T = [−Ã, I],
    before and after the perturbation, bounds C_true − C on both sides, in Loewner order:
    |yᵀ(C_true − C)y| ≤ ε (τᵀ|y|)².
    """
    weights = secret.copies.copy()
    known = ROUNDOFF * np.abs(weights) if secret.rounded else np.zeros_like(weights)
    if secret.others.size == 0:
        return Regression(weights, None, known, np.zeros(belief.entries))
    chosen, others, k = secret.representatives, secret.others, secret.representatives.size
    deviations = np.sqrt(belief.covariance.diagonal())
    own, rest = deviations[chosen], deviations[others]
    inner = belief.covariance.block(chosen, chosen) / own[:, None] / own[None, :]
    cross = belief.covariance.block(chosen, others) / own[:, None]
    rounding = belief.rounding + (5 * k + 8) * ROUNDOFF
    spread = float(np.linalg.eigvalsh(inner)[0]) - k * rounding
    if not spread > 2 * k * rounding:
        return None
    scaled = np.linalg.solve(inner, cross).T  # Ã in units of the secret's deviations
    weights[others] = scaled / own
    reach = rest + np.sum(np.abs(scaled), axis=1)
    slack = known
    slack[others] = rounding * math.sqrt(k) / spread * reach[:, None] / own
    reach = reach + slack[others] @ own
    conditional = np.zeros((belief.entries, belief.entries))
    left = belief.covariance.block(others, others) - scaled @ cross
    conditional[np.ix_(others, others)] = (left + left.T) / 2
    blurred = np.zeros(belief.entries)
    blurred[others] = math.sqrt(1.01 * rounding) * reach
    return Regression(weights, conditional, slack, blurred)


def _solve(regression: Regression, total: Array, error: float, floor: float) -> tuple[Array, float]:
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    weights, size = regression.weights, total.shape[0]
    unknown = np.full((weights.shape[1],) * 2, np.nan), math.inf
    try:
        factor = cho_factor(total, lower=True)
    except (LinAlgError, ValueError):  # not definite, or not finite
        return unknown
    solution = cho_solve(factor, weights)
    residual = weights - total @ solution
    matrix = weights.T @ solution + solution.T @ residual
    matrix = (matrix + matrix.T) / 2
    scale = np.sqrt(np.diag(matrix))
    if not (np.all(np.isfinite(matrix)) and np.all(scale > 0)):
        return unknown
    # Rounding of the residual itself: |A| |y| ≤ a (aᵀ|y|) for a = √diag(A).
    root = np.sqrt(np.diag(total))
    missed = (
        (size + 2)
        * ROUNDOFF
        * (_norms(weights) + float(np.linalg.norm(root)) * (root @ np.abs(solution)))
    )
    lengths = _norms(solution)
    off = (_norms(residual) + missed + _norms(regression.weights_error) + error * lengths) / scale
    first = 2 * _gram(regression.weights_error, solution, scale)
    first += 2 * (size + 4) * ROUNDOFF * _gram(weights, solution, scale)
    first += error * float(np.sum((lengths / scale) ** 2))
    for smallest in (floor, None):
        bound = _smallest(total, error) if smallest is None else smallest
        relative = first + float(np.sum(off**2)) / bound if bound > 0 else math.inf
        if relative <= EXACT / 2:
            break
    # M/(1 + ρ) ≤ M_true must hold as well as M_true ≤ M/(1 − ρ).
    return matrix, relative / (1 - relative) if relative < 0.5 else math.inf


def _smallest(total: Array, error: float) -> float:
    """Return a lower bound of the smallest eigenvalue of every matrix within `error` of `total`."""
    # LAPACK's symmetric solvers are backward stable: a small multiple of n u ‖A‖.
    solver = 8.0 * float(total.shape[0]) * ROUNDOFF * float(np.trace(total))
    return float(np.linalg.eigvalsh(total)[0]) - (solver + error)


def _norms(columns: Array) -> Array:
    return np.asarray(np.linalg.norm(columns, axis=0))


def _gram(left: Array, right: Array, scale: Array) -> float:
    """Bound the 2-norm of LᵀR, its entries in units of √(M_ii M_jj)."""
    products = np.abs(left).T @ np.abs(right) / scale[:, None] / scale[None, :]
    return float(np.linalg.norm(products))
