"""The mutual information of a Gaussian trace and its noisy release."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from sfumato.beliefs.gaussian import Gaussian
from sfumato.channels.additive_gaussian import AdditiveGaussian
from sfumato.errors import Undecidable
from sfumato.inference.ball_arithmetic import (
    FIRST_BITS,
    LAST_BITS,
    TARGET,
    balls_apply,
    precision,
)
from sfumato.inference.ball_definiteness import ball_pivots
from sfumato.inference.fisher_information import UPPER, check_fit
from sfumato.inference.information import EXACT
from sfumato.inference.rational_information import MAX_ENTRIES, independent_entries
from sfumato.matrices.matrix import ROUNDOFF, Array, Matrix
from sfumato.protocols.loss import Reading


def gaussian_mutual_information(belief: Gaussian, channel: AdditiveGaussian) -> Reading:
    """Return I(X; Z) = ½ log (det K / det Γ), K = Σ + Γ, in nats.

    In float64 as ½ Σ log(1 + wᵢ), w the eigenvalues of Γ^(−1/2) Σ Γ^(−1/2): no determinant and no
    inverse of Σ is formed. It is infinite if and only if Σ moves a direction that the noise
    leaves alone; if Γ is singular but Σ stays within its range, the same holds on that range.

    >>> from sfumato.matrices import Diagonal
    >>> belief = Gaussian(Diagonal([3.0]))
    >>> found = gaussian_mutual_information(belief, AdditiveGaussian(Diagonal([1.0])))
    >>> round(found.value, 6), found.bound
    (0.693147, 'exact')
    """
    check_fit(belief, channel)
    noise = channel.noise
    if reason := _structurally_infinite(belief, noise):
        return Reading(value=math.inf, how=reason)
    value, error = _whitened(belief, noise)
    if error <= EXACT:
        return Reading(value=value, relative_error=error, how="float64, error certified")
    for exactly in (_rational, _balls):
        found = exactly(belief, noise)
        if found is not None:
            return found
    if error < UPPER:
        how = "float64, raised by the certified error"
        return Reading(value=value * (1 + error), bound="upper", how=how)
    raise Undecidable(
        "float64 cannot tell this mutual information from an infinite one: add independent noise "
        "to every entry, or install sfumato[certify], which may decide it."
    )


def _structurally_infinite(belief: Gaussian, noise: Matrix) -> str:
    """Say why the information is infinite, where that needs no tolerance; else ""."""
    silent = noise.diagonal() == 0
    if np.any(belief.covariance.diagonal()[silent] > 0):
        return "an entry is released without noise"
    if belief.definite and noise.rank_bound() < belief.entries:
        return "the noise has too small a rank"
    return ""


def _whitened(belief: Gaussian, noise: Matrix) -> tuple[float, float]:
    """Return the information and its relative error (inf: unknown).

    Perturbations E of Σ and F of Γ ⪰ g I move det K by factors 1 ± (‖E‖ + ‖F‖) / (g (1 + wᵢ)) and
    det Γ by factors 1 ± ‖F‖/g, by Weyl's inequality in the coordinates in which Γ is the identity.
    """
    from scipy.linalg import LinAlgError, cholesky, solve_triangular

    floor = noise.smallest_eigenvalue()
    if not floor > 0:
        return math.nan, math.inf
    size, prior, added = belief.entries, belief.covariance.dense(), noise.dense()
    try:
        factor = cholesky(added, lower=True)
    except LinAlgError:
        return math.nan, math.inf
    half = solve_triangular(factor, prior, lower=True)
    white = solve_triangular(factor, half.T, lower=True)
    values: Array = np.maximum(np.linalg.eigvalsh((white + white.T) / 2), 0.0)
    total = 0.5 * float(np.sum(np.log1p(values)))
    trace, noisy = belief.covariance.trace(), noise.trace()
    # Rounding of Σ and of the two solves, and of Γ as it is sampled and factorised.
    solving = 16 * size * ROUNDOFF * math.sqrt(noisy / floor)
    from_prior = (belief.rounding + solving) * trace / floor
    from_noise = 2 * (noise.error_bound() + 16 * size * ROUNDOFF * noisy) / floor
    each = from_prior / (1 + values) + from_noise
    if not np.all(each < 0.5):
        return total, math.inf
    absolute = 0.5 * float(np.sum(-np.log1p(-each))) + 8 * size * ROUNDOFF * total
    return total, absolute / total if total > 0 else (0.0 if trace == 0 else math.inf)


def _rational(belief: Gaussian, noise: Matrix) -> Reading | None:
    """Decide and compute in rational numbers, where the stored numbers are the belief itself."""
    if belief.entries > MAX_ENTRIES or belief.rounding > 0 or belief.exact is not None:
        return None
    every = list(range(belief.entries))
    added = noise.rational(every, sampled=True)
    prior = belief.covariance.rational(every)
    total = [[x + y for x, y in zip(a, b, strict=True)] for a, b in zip(prior, added, strict=True)]
    basis = independent_entries(added, every)
    if len(independent_entries(total, every)) > len(basis):
        return Reading(value=math.inf, how="a direction is released without noise")
    ratio = _determinant(total, basis) / _determinant(added, basis)
    if ratio < 2:
        value = 0.5 * math.log1p(float(ratio - 1))
    else:  # numerator and denominator may each exceed float64; their logarithms do not
        value = 0.5 * (math.log(ratio.numerator) - math.log(ratio.denominator))
    return Reading(value=value, relative_error=1e-12, how="rational numbers")


def _determinant(matrix: list[list[Fraction]], chosen: list[int]) -> Fraction:
    rows = [[matrix[i][j] for j in chosen] for i in chosen]
    result = Fraction(1)
    for p, pivot_row in enumerate(rows):
        result *= pivot_row[p]
        for i in range(p + 1, len(rows)):
            factor = rows[i][p] / pivot_row[p]
            rows[i] = [x - factor * y for x, y in zip(rows[i], pivot_row, strict=True)]
    return result


def _balls(belief: Gaussian, noise: Matrix) -> Reading | None:
    """Return the information from determinants in balls; None where they cannot decide."""
    if not balls_apply(belief):
        return None
    bits = FIRST_BITS
    while bits <= LAST_BITS:
        with precision(bits):
            from flint import arb

            exact = belief.exact
            prior = belief.covariance.in_balls() if exact is None else exact(bits)
            added = noise.in_balls(sampled=True)
            logs = []
            for matrix in (prior + added, added):
                pivots = ball_pivots(matrix)
                if len(pivots) < belief.entries or not pivots[-1] > 0:
                    break
                logs.append(sum((pivot.log() for pivot in pivots), arb(0)))
            if len(logs) == 2:
                value = (logs[0] - logs[1]) / 2
                middle, radius = float(value.mid()), float(value.rad())
                if middle > 0 and radius <= TARGET * middle:
                    return Reading(
                        value=middle, relative_error=radius / middle + 1e-15, how="ball arithmetic"
                    )
        bits *= 2
    return None
