"""Fisher information in float64, with an error bound that is proved, not hoped for."""

from __future__ import annotations

import math

import attrs
import numpy as np

from sfumato.beliefs import Gaussian
from sfumato.inference.gaussian.information import EXACT
from sfumato.inference.gaussian.secret_entries import SecretEntries
from sfumato.matrices import Diagonal
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


CHUNK = 256
"""Secrets looked at together: few enough for their columns to stay in the processor's cache."""


@attrs.frozen(eq=False)
class _Problem:
    """What every secret shares."""

    prior: Array
    noise: Matrix
    inverse: Array  # of K = Σ + Γ
    mixed: Array  # Γ K⁻¹
    sigma: Array  # standard deviations of the prior
    gamma: Array  # standard deviations of the noise
    rounding: float  # relative rounding of the prior's entries
    noise_error: float  # bound of ‖Γ_sampled − Γ‖

    @property
    def product_error(self) -> float:
        """Relative rounding of an inner product of n terms."""
        return float(self.inverse.shape[0] + 4) * ROUNDOFF


def one_factorisation(belief: Gaussian, noise: Matrix) -> tuple[Array, Array]:
    """Return M_ss = q/(V_ss Σ_ss) for every s, and its relative error (inf or nan: unknown).

    For any w, with y = e_s − w and r = Σ y − Γ w = Σ_s − K w, exactly

        V_ss = yᵀΣ y + wᵀΓ w − rᵀK⁻¹r,      q = Σ_ss − V_ss = wᵀΣ_s + wᵀr + rᵀK⁻¹r :

    no term cancels for w near K⁻¹Σ_s, and 0 ≤ rᵀK⁻¹r ≤ ‖r‖²/g with g below the spectrum of K.
    """
    size, own = belief.entries, belief.covariance.diagonal()
    problem = _problem(belief, noise)
    if problem is None:
        return np.full(size, np.nan), np.full(size, math.inf)
    chunks = [np.arange(i, min(i + CHUNK, size)) for i in range(0, size, CHUNK)]
    found = [_look(problem, chunk) for chunk in chunks]
    variance, variance_error, gained, gained_error, off = np.concatenate(found, axis=1)
    floor = _floor(belief, noise, float(np.max(off)), float(np.min(variance)))
    left_out = off**2 / floor if floor > 0 else np.full(size, math.inf)
    variance_error += left_out
    # q by subtraction where that loses at most one bit, else by its own formula.
    direct = variance <= own / 2
    by_subtraction = variance_error + (belief.rounding + 2 * ROUNDOFF) * own
    gained = np.where(direct, own - variance, gained)
    gained_error = np.where(direct, by_subtraction, gained_error + left_out)
    relative = variance_error / variance + gained_error / gained
    relative += belief.rounding + 8 * ROUNDOFF
    values = gained / variance / own
    sound = (variance > 0) & (gained > 0) & (relative < 0.25) & np.isfinite(values)
    return values, np.where(sound, relative / (1 - 2 * relative), math.inf)


def _look(problem: _Problem, chunk: np.ndarray[tuple[int], np.dtype[np.intp]]) -> Array:
    """Return V, its error, q, its error and a bound of ‖r‖ for a few secrets, as rows.

    |Σ_ij| ≤ σ_i σ_j and |Γ_ij| ≤ γ_i γ_j bound the terms of every product. The smaller of y and w
    is solved for; the other is its difference from e_s, so |y| ≤ |w| + e_s or the converse.
    """
    sigma, gamma, rows = problem.sigma[chunk], problem.gamma[chunk], np.arange(chunk.size)
    loud = gamma > sigma
    block = slice(int(chunk[0]), int(chunk[-1]) + 1)
    solved = problem.mixed[block]
    if np.any(loud):
        solved = np.where(loud[:, None], 0.0, solved)
        solved[loud] = problem.prior[chunk[loud]] @ problem.inverse
    other = -solved
    other[rows, chunk] += 1.0
    left, weights = solved, other
    if np.any(loud):
        left = np.where(loud[:, None], other, solved)
        weights = np.where(loud[:, None], solved, other)
    spread = left @ problem.prior
    jitter = problem.noise.apply(weights.T).T
    residual = spread - jitter
    variance = _dot(left, spread) + _dot(weights, jitter)
    gained = _dot(weights, problem.prior[block]) + _dot(weights, residual)
    lengths = np.abs(solved)
    a, b = lengths @ problem.sigma, lengths @ problem.gamma
    c = np.where(loud, a, a + sigma)
    a, b = np.where(loud, a + sigma, a), np.where(loud, b, b + gamma)
    weight = np.sqrt(_dot(solved, solved)) + np.where(loud, 0.0, 1.0)
    u, rounding = problem.product_error, problem.rounding
    off = np.sqrt(_dot(residual, residual)) + problem.noise_error * weight
    off += (u + rounding) * np.linalg.norm(problem.sigma) * a
    off += u * np.linalg.norm(problem.gamma) * b
    blurred = problem.noise_error * weight**2
    variance_error = rounding * a**2 + u * (a**2 + b**2) + 8 * ROUNDOFF * variance + blurred
    gained_error = (rounding + u) * (2 * sigma * c + c**2) + u * weight * off + blurred
    return np.stack([variance, variance_error, gained, gained_error, off])


def _floor(belief: Gaussian, noise: Matrix, off: float, variance: float) -> float:
    """Return g: the noise's own smallest eigenvalue if that suffices, else that of K."""
    floor = 0.99 * noise.smallest_eigenvalue()
    if off**2 <= 0.01 * EXACT * floor * variance:
        return floor
    total = belief.covariance.dense() + noise.dense()
    # LAPACK's symmetric solvers are backward stable: a small multiple of n u ‖A‖.
    backward = 8 * belief.entries * ROUNDOFF * float(np.trace(total))
    perturbed = belief.rounding * belief.covariance.trace() + noise.error_bound()
    return max(floor, float(np.linalg.eigvalsh(total)[0]) - backward - perturbed)


def _problem(belief: Gaussian, noise: Matrix) -> _Problem | None:
    """Factorise K; None where float64 finds it singular, or its squares might underflow."""
    scales = np.concatenate([belief.covariance.diagonal(), noise.diagonal()])
    if np.any((scales != 0) & ((scales < 1e-150) | (scales > 1e150))):
        return None
    prior = belief.covariance.dense()
    total = np.array(prior)
    if isinstance(noise, Diagonal):
        np.einsum("ii->i", total)[:] += noise.variances
    else:
        total += noise.dense()
    inverse = _inverse(total)
    if inverse is None:
        return None
    if isinstance(noise, Diagonal):
        mixed = noise.variances[:, None] * inverse
    else:
        mixed = noise.apply(inverse)
    return _Problem(
        prior=prior,
        noise=noise,
        inverse=inverse,
        mixed=mixed,
        sigma=np.sqrt(belief.covariance.diagonal()),
        gamma=np.sqrt(noise.diagonal()),
        rounding=belief.rounding,
        noise_error=noise.error_bound(),
    )


def _inverse(total: Array) -> Array | None:
    """Return the inverse by Cholesky factorisation, in the memory of `total`; None if singular."""
    from scipy.linalg.lapack import dpotrf, dpotri

    factor, failed = dpotrf(total.T, lower=1, overwrite_a=1, clean=0)
    if failed:
        return None
    inverse, failed = dpotri(factor, lower=1, overwrite_c=1)
    if failed:
        return None
    # Only the lower triangle is filled; the other half is copied block by block.
    size = inverse.shape[0]
    for i in range(0, size, CHUNK):
        j = min(i + CHUNK, size)
        corner = np.tril(inverse[i:j, i:j])
        inverse[i:j, i:j] = corner + np.tril(corner, -1).T
        inverse[i:j, j:] = inverse[j:, i:j].T
    return np.asarray(inverse.T)


def _dot(left: Array, right: Array) -> Array:
    return np.asarray(np.einsum("si,si->s", left, right))


PANEL = 256
"""Columns that are solved for together: few and large products."""


def one_substitution(belief: Gaussian, noise: Matrix) -> tuple[Array, Array] | None:
    """Return M_ss = q/(V_ss Σ_ss) for every s and its relative error; None if not all to 1e-5.

    With K = Σ + Γ = L Lᵀ and Γ_s a column of the noise,

        V_ss = Γ_ss − h,   h = Γ_sᵀK⁻¹Γ_s = ‖L⁻¹Γ_s‖²,   q = Σ_ss − V_ss :

    one factorisation and one substitution, and for independent noise only half of the latter.
    However its sums are ordered, a Cholesky factorisation obeys |L Lᵀ − K| ≤ (n + 1)u |L||Lᵀ|, and
    a substitution solves (L + δL) t = Γ_s with |δL| ≤ n u |L|. As the rows of L have the norms
    √K_ii, what is found is Γ_sᵀ(K + E)⁻¹Γ_s with |E_ij| ≤ 4 n u √(K_ii K_jj), so ‖E‖ ≤ 4 n u tr K;
    the rounding of the belief and of what is sampled adds to E. For g below the spectrum of K and
    δ = ‖E‖/g, −δK ⪯ E ⪯ δK, so h is right to δ/(1 − δ) relatively. A change e of the noise itself
    changes h by at most 2e ‖K⁻¹Γ_s‖ + e²/g, and ‖K⁻¹Γ_s‖² ≤ Γ_ss/g.
    """
    own, added = belief.covariance.diagonal(), noise.diagonal()
    floor = 0.99 * noise.smallest_eigenvalue()
    if not (min(floor, float(own.min())) > 1e-150 and max(own.max(), added.max()) < 1e150):
        return None
    trace, wrong = belief.covariance.trace(), noise.error_bound()
    rounded = (4 * belief.entries + 64) * ROUNDOFF * (trace + noise.trace())
    delta = (rounded + belief.rounding * trace + wrong) / floor
    if not delta < EXACT:
        return None
    removed = _removed(belief.covariance.dense(), noise)
    if removed is None:
        return None
    variance = added - removed
    gained = own - variance
    error = 1.01 * delta * removed + 4 * ROUNDOFF * added
    error += wrong * (1 + 2.1 * np.sqrt(added / floor) + wrong / floor)
    if not np.all((variance > 0) & (gained > 0)):
        return None
    relative = error / variance + (error + (belief.rounding + 2 * ROUNDOFF) * own) / gained
    relative = (relative + belief.rounding + 8 * ROUNDOFF) / (1 - 2 * EXACT)
    values = gained / variance / own
    if not np.all((relative <= EXACT) & np.isfinite(values)):
        return None
    return values, relative


def _removed(prior: Array, noise: Matrix) -> Array | None:
    """Return h for every entry; None where float64 finds Σ + Γ singular."""
    from scipy.linalg.lapack import dpotrf

    added = None if isinstance(noise, Diagonal) else noise.dense()
    total = np.array(prior)
    if added is None:
        np.einsum("ii->i", total)[:] += noise.diagonal()
    else:
        total += added
    # The transpose of an array by rows is one by columns: it is factorised in its own memory.
    factor, failed = dpotrf(total.T, lower=1, overwrite_a=1, clean=0)
    if failed:
        return None
    size = total.shape[0]
    result = np.empty(size)
    for first in range(0, size, PANEL):
        chosen = slice(first, min(first + PANEL, size))
        if added is None:
            # Above its own rows the solution is zero.
            columns = np.zeros((size - first, chosen.stop - first))
            np.fill_diagonal(columns, noise.diagonal()[chosen])
        else:
            columns = np.array(added[:, chosen])
        _substitute(factor, columns)
        result[chosen] = np.einsum("is,is->s", columns, columns)
    return result


def _substitute(factor: Array, columns: Array) -> None:
    """Replace the columns by L⁻¹ of them, for the last rows of L if they are fewer."""
    from scipy.linalg.blas import dtrsm

    size = factor.shape[0]
    start = size - columns.shape[0]
    for i in range(start, size, PANEL):
        stop = min(i + PANEL, size)
        rows = slice(i - start, stop - start)
        if i > start:
            columns[rows] -= factor[i:stop, start:i] @ columns[: i - start]
        corner = np.asfortranarray(factor[i:stop, i:stop])
        columns[rows] = dtrsm(1.0, corner, columns[rows].T, side=1, lower=1, trans_a=1).T
