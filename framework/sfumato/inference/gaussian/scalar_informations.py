"""The gain in precision about every entry on its own, from one factorisation for all."""

from __future__ import annotations

import math

import attrs
import numpy as np

from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.errors import OutsideHypotheses
from sfumato.inference import exact
from sfumato.inference.gaussian.fisher_information import (
    EXACT,
    check_fit,
    fisher_information,
)
from sfumato.matrices import Diagonal, Scaled, Sum
from sfumato.matrices.matrix import MAX_DENSE, ROUNDOFF, Array, Matrix

# Secrets looked at together: few enough for their columns to stay in the processor's cache.
CHUNK = 256
PANEL = 256  # columns that are solved for together: few and large products


def scalar_informations(belief: Gaussian, channel: AdditiveGaussian) -> tuple[Array, float]:
    """Return M_ss = 1/V_ss − 1/Σ_ss for every entry s, and the largest certified relative error.

    An error above 1e-5 means that the values are upper bounds. Entries that float64 cannot certify
    from the common factorisation are computed in balls, together or one by one.
    """
    check_fit(belief, channel)
    if belief.entries > MAX_DENSE:
        shaped = noise_shaped_like_the_prior(belief, channel.noise)
        if shaped is None:
            raise OutsideHypotheses(
                f"every entry is read of traces up to {MAX_DENSE} entries, or of noise shaped like "
                f"the prior; got {belief.entries}: ask for one secret time, or a shorter trace."
            )
        return shaped
    with np.errstate(all="ignore"):  # what overflows has no certificate, and is done again below
        found = one_substitution(belief, channel.noise) or one_factorisation(belief, channel.noise)
    values, errors = found
    pending = np.flatnonzero(~(errors <= EXACT)).tolist()
    if len(pending) > 1 and exact.balls_apply(belief):
        in_balls = exact.scalar_informations(belief, channel.noise, pending)
        for entry, (value, error) in in_balls.items():
            values[entry], errors[entry] = value, error
    for entry in np.flatnonzero(~(errors <= EXACT)).tolist():
        information = fisher_information(belief, channel, [entry])
        values[entry] = information.matrix[0, 0]
        errors[entry] = information.relative_error
    return values, float(errors.max())


def noise_shaped_like_the_prior(belief: Gaussian, noise: Matrix) -> tuple[Array, float] | None:
    """Return 1/(c Σ_ss) ≥ M_ss for noise cΣ + ηI, and its relative error; None for other noise.

    s − s²/((1 + c)s + η) lies between cs/(1 + c) and cs/(1 + c) + η/(1 + c)² for every s ≥ 0, so

        c/(1 + c) Σ ⪯ V ⪯ c/(1 + c) Σ + η/(1 + c)² I :

    no matrix is factorised, whatever the length. The rounding of Σ and of what is sampled must be
    covered by η, and is counted with it above.
    """
    terms = noise.terms if isinstance(noise, Sum) and len(noise.terms) == 2 else (None, None)
    shape, floor = sorted(terms, key=lambda term: isinstance(term, Diagonal))
    if not (isinstance(shape, Scaled) and isinstance(floor, Diagonal)):
        return None
    own, c = belief.covariance.diagonal(), shape.factor
    wrong = c * belief.rounding * belief.covariance.trace() + noise.error_bound()
    covered = wrong < float(floor.variances.min()) and c * float(own.min()) > 1e-150
    if not covered or shape.base != belief.covariance:
        return None
    largest = (1 + c) / (c * own + (floor.variances.max() + wrong) / (1 + c)) - 1 / own
    values = 1 / (c * own) * (1 + 8 * ROUNDOFF)
    lost = float(np.max(1 - largest * (c * own)))
    return values, lost + belief.rounding + 32 * ROUNDOFF * (1 + c)


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
        solved = np.array(solved)
        solved[loud] = problem.prior[chunk[loud]] @ problem.inverse
    other = -solved
    other[rows, chunk] += 1.0
    left, weights = solved, other
    if np.any(loud):
        left, weights = (
            np.where(loud[:, None], *pair) for pair in ((other, solved), (solved, other))
        )
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
    inverse = _inverse(_sum(prior, noise))
    if inverse is None:
        return None
    sigma, gamma = np.sqrt(belief.covariance.diagonal()), np.sqrt(noise.diagonal())
    wrong, mixed = noise.error_bound(), noise.apply(inverse)
    return _Problem(prior, noise, inverse, mixed, sigma, gamma, belief.rounding, wrong)


def _sum(prior: Array, noise: Matrix) -> Array:
    total = np.array(prior)
    if isinstance(noise, Diagonal):
        np.einsum("ii->i", total)[:] += noise.variances
    else:
        total += noise.dense()
    return total


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
    total = _sum(prior, noise)
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
