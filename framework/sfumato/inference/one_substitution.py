"""The Fisher information about every single entry under noise that is nowhere very small."""

from __future__ import annotations

import numpy as np

from sfumato.beliefs.gaussian import Gaussian
from sfumato.inference.information import EXACT
from sfumato.matrices.diagonal import Diagonal
from sfumato.matrices.matrix import ROUNDOFF, Array, Matrix

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
