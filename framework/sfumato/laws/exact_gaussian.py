"""Gaussian traces in exact numbers: rational, or balls of high precision.

Independent of `sfumato.inference`: a belief and its noise are written out entry by entry, and
everything is solved by plain elimination.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, TypeVar

import flint
import numpy as np

from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.errors import OutsideHypotheses
from sfumato.inference.exact import in_balls, in_fractions
from sfumato.protocols import Reading
from sfumato.questions import Displacements
from sfumato.questions.displacements import Group
from sfumato.values import FloatArray

BITS = 700
"""Working precision where a belief gives its covariance in balls."""

Exact = Any
"""A matrix of fractions or of balls: `fmpq_mat` or `arb_mat`."""

_T = TypeVar("_T")


def in_exact_numbers(
    belief: Gaussian, channel: AdditiveGaussian, compute: Callable[[Exact, Exact], _T]
) -> _T:
    """Return ``compute(Σ, Γ)`` of the belief and the noise that is really sampled."""
    with flint.ctx.workprec(BITS):
        sigma, gamma = covariance_of(belief), noise_of(channel)
        return compute(sigma, gamma if belief.exact is None else flint.arb_mat(gamma))


def covariance_of(belief: Gaussian) -> Exact:
    """Return Σ: the stored numbers where they are the belief itself, else balls around it."""
    if belief.exact is not None:
        return in_balls(belief, BITS)
    return _rational(in_fractions(belief.covariance))


def noise_of(channel: AdditiveGaussian) -> Exact:
    """Return Γ, in fractions."""
    return _rational(in_fractions(channel.noise, sampled=True))


def _rational(rows: Sequence[Sequence[Fraction]]) -> Exact:
    return flint.fmpq_mat([[flint.fmpq(x.numerator, x.denominator) for x in row] for row in rows])


def leading_pivots(matrix: Exact) -> list[Any]:
    """Return the pivots of a symmetric matrix up to the first that is not certainly positive.

    Their product is the determinant.

    >>> import flint
    >>> from sfumato.laws.exact_gaussian import leading_pivots
    >>> leading_pivots(flint.fmpq_mat([[2, 1], [1, 2]]))
    [2, 3/2]
    """
    rows: list[list[Any]] = matrix.tolist()
    found: list[Any] = []
    while rows and (not found or found[-1] > 0):
        head, *rest = rows
        found.append(head[0])
        if found[-1] > 0:
            rows = [
                [x - row[0] / head[0] * y for x, y in zip(row[1:], head[1:], strict=True)]
                for row in rest
            ]
    return found


def is_definite(matrix: Exact) -> bool | None:
    """Whether a symmetric matrix is positive definite; None where balls do not settle it."""
    last = leading_pivots(matrix)[-1]
    return True if last > 0 else False if last <= 0 else None


def is_definite_belief(belief: Gaussian) -> bool | None:
    """Whether the true covariance is positive definite; None where that is not settled."""
    if belief.exact is None and belief.rounding > 0:
        return None  # the stored numbers are not the belief itself
    with flint.ctx.workprec(BITS):
        return is_definite(covariance_of(belief))


def solve(matrix: Exact, right: Exact) -> Exact:
    """Return matrix⁻¹ right for a matrix that is certainly positive definite."""
    if not is_definite(matrix):
        raise OutsideHypotheses("brute force needs covariances that are certainly definite.")
    return matrix.solve(right)


def part(matrix: Exact, rows: Sequence[int], columns: Sequence[int]) -> Exact:
    """Return the chosen rows and columns."""
    return type(matrix)([[matrix[i, j] for j in columns] for i in rows])


def posterior_covariance(sigma: Exact, gamma: Exact) -> Exact:
    """Return Σ − ΣK⁻¹Σ, K = Σ + Γ."""
    return sigma - sigma * solve(sigma + gamma, sigma)


def posterior(
    belief: Gaussian, channel: AdditiveGaussian, observed: Sequence[float]
) -> tuple[FloatArray, FloatArray]:
    """Return the mean μ + ΣK⁻¹(z − μ) and the covariance Σ − ΣK⁻¹Σ of the trace, K = Σ + Γ."""
    centre = [0.0] * belief.entries if belief.mean is None else belief.mean.tolist()
    pairs = zip(map(float, observed), centre, strict=True)
    surprise = _rational([[Fraction(z) - Fraction(m)] for z, m in pairs])

    def of_numbers(sigma: Exact, gamma: Exact) -> tuple[FloatArray, FloatArray]:
        moved = sigma * solve(sigma + gamma, type(sigma)(surprise))
        left = posterior_covariance(sigma, gamma)
        mean = as_array(moved, absolute=1e-30)[:, 0] + np.array(centre)
        return mean, as_array(left, absolute=1e-30)

    return in_exact_numbers(belief, channel, of_numbers)


def as_array(matrix: Exact, absolute: float = 0.0) -> FloatArray:
    """Return a matrix in float64, known to 1e-13 of its largest entry or to `absolute`."""
    rows = matrix.tolist()
    # Independent coordinates have zeros, which balls know to within a radius only.
    largest = max(abs(float(value)) for row in rows for value in row)
    room = max(absolute, 1e-13 * largest)
    return np.array([[as_float(value, room) for value in row] for row in rows])


def as_float(value: Any, absolute: float = 0.0) -> float:
    """Return a number in float64, if it is known well enough."""
    if isinstance(value, flint.fmpq):
        return float(Fraction(int(value.p), int(value.q)))
    middle, radius = float(value.mid()), float(value.rad())
    if not radius <= max(1e-13 * abs(middle), absolute):
        raise OutsideHypotheses(f"{BITS} bits do not settle what brute force looks for.")
    return middle


# The definitions of Gaussian losses ---------------------------------------------------------------

ASCENTS = 40
"""Rounds of the ascent that looks for the worst of several balls."""


def worst_squares(
    belief: Gaussian, question: Displacements, channel: AdditiveGaussian
) -> tuple[float, float]:
    """Return two ends of sup ΔᵀMΔ over the allowed Δ.

    Given X_S = x the release is N(Ãx, C + Γ) with Ã = Σ_{:,S}Σ_SS⁻¹ and C = Σ − ÃΣ_{S,:}, so two
    hypotheses Δ apart have means ÃΔ apart, and M = Ãᵀ(C + Γ)⁻¹Ã.
    """

    def of_numbers(sigma: Any, gamma: Any) -> tuple[float, float]:
        ends = np.array([_largest_form(_information(sigma, gamma, g), g) for g in question.groups])
        low, high = (np.square(question.radii)[:, None] * ends).max(axis=0).tolist()
        return low, high

    return in_exact_numbers(belief, channel, of_numbers)


def gaussian_distances(
    belief: Gaussian, question: Displacements, channel: AdditiveGaussian
) -> tuple[float, float]:
    """Return two ends of √(ΔᵀMΔ) of the worst pair."""
    low, high = worst_squares(belief, question, channel)
    return math.sqrt(max(low, 0.0)), math.sqrt(max(high, 0.0))


def _information(sigma: Any, gamma: Any, group: Group) -> Any:
    """Return Ãᵀ(C + Γ)⁻¹Ã."""
    secret, every = [entry for ball in group for entry in ball], range(sigma.nrows())
    cross = part(sigma, every, secret)
    weights = solve(part(sigma, secret, secret), cross.transpose()).transpose()
    return weights.transpose() * solve(sigma - weights * cross.transpose() + gamma, weights)


def _largest_form(information: Any, group: Group) -> tuple[float, float]:
    """Return two ends of sup ΔᵀMΔ over unit balls: signs for scalars, eigenvalues for one ball."""
    matrix = as_array(information)
    matrix = (matrix + matrix.T) / 2
    if len(group) == 1:
        return (float(np.linalg.eigvalsh(matrix)[-1]),) * 2
    if any(len(ball) > 1 for ball in group):
        return _several_balls(matrix, [len(ball) for ball in group])
    signs = np.array(list(itertools.product((1.0, -1.0), repeat=len(matrix))))
    return (float(np.einsum("si,ij,sj->s", signs, matrix, signs).max()),) * 2


def _several_balls(matrix: FloatArray, sizes: Sequence[int]) -> tuple[float, float]:
    """Return what an ascent reaches, and Σ_kl ‖M_kl‖, which nothing exceeds.

    One ball at a time: ΔᵀMΔ is convex in Δ_k, so replacing Δ_k by the unit vector along its
    gradient never lowers it.
    """
    ends = np.cumsum([0, *sizes])
    balls = [slice(a, b) for a, b in itertools.pairwise(ends)]
    high = sum(float(np.linalg.norm(matrix[one, other], 2)) for one in balls for other in balls)
    low = 0.0
    starts = np.random.default_rng(0).standard_normal((2 * len(matrix), len(matrix)))
    for point in (*np.linalg.eigh(matrix)[1].T, *starts):
        for _ in range(ASCENTS):
            for ball in balls:
                gradient = matrix[ball] @ point
                point[ball] = gradient / max(float(np.linalg.norm(gradient)), 1e-300)
        low = max(low, float(point @ matrix @ point))
    return low, high


def entries_left(
    belief: Gaussian, question: Displacements, channel: AdditiveGaussian
) -> list[FloatArray]:
    """Return V_SS of every group, V = Σ − ΣK⁻¹Σ."""

    def of_numbers(sigma: Exact, gamma: Exact) -> list[FloatArray]:
        left = posterior_covariance(sigma, gamma)
        groups = [[entry for ball in group for entry in ball] for group in question.groups]
        return [as_array(part(left, entries, entries)) for entries in groups]

    return in_exact_numbers(belief, channel, of_numbers)


def ball_success(
    belief: Gaussian,
    question: Displacements,
    channel: AdditiveGaussian,
    within: float | None,
    *,
    ratio: bool = False,
) -> Reading:
    """Return max over groups of Pr[‖N(0, V_SS)‖ ≤ r], or its ratio to that of the prior."""
    found = []
    after = entries_left(belief, question, channel)
    for group, radius, left in zip(question.groups, question.radii, after, strict=True):
        if len(group) > 1 or len(group[0]) > 2:
            raise OutsideHypotheses("brute force guesses one ball, on a line or in a plane.")
        value = _ball_chance(left, within or radius)
        own = belief.covariance.block(group[0], group[0])
        found.append(value / _ball_chance(own, within or radius) if ratio else value)
    return Reading(value=max(found), bound="exact")


def _ball_chance(covariance: FloatArray, radius: float) -> float:
    """Return Pr[‖N(0, V)‖ ≤ r] from polar coordinates: 1 − e^{−r²a/2} over a, a = uᵀV⁻¹u."""
    if len(covariance) == 1:
        deviation = math.sqrt(float(covariance[0, 0]))
        return math.erf(radius / deviation / math.sqrt(2.0)) if deviation > 0 else 1.0
    determinant = float(np.linalg.det(covariance))
    spread = np.linalg.eigvalsh(covariance)
    if spread[0] < 1e-4 * spread[1]:
        raise OutsideHypotheses("the ball's law is too flat for brute force.")
    angles = np.linspace(0, 2 * np.pi, 4000, endpoint=False)
    around = np.stack([np.cos(angles), np.sin(angles)])
    forms = np.einsum("in,in->n", around, np.linalg.solve(covariance, around))
    return float(np.mean(-np.expm1(-(radius**2) * forms / 2) / forms) / math.sqrt(determinant))
