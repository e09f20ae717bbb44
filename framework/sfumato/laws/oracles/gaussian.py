"""Linear algebra on rows of exact numbers: fractions, or balls of high precision."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.inference.exact import Balls, in_balls, in_fractions, precision
from sfumato.laws.law import NotHere
from sfumato.laws.oracles.bracket import Bracket
from sfumato.questions import Displacements

Rows = list[list[Any]]


def solve(matrix: Rows, right: Rows) -> Rows:
    """Return matrix⁻¹ right for a positive definite matrix, by elimination.

    >>> from fractions import Fraction as F
    >>> solve([[F(2), F(1)], [F(1), F(1)]], [[F(1)], [F(0)]])
    [[Fraction(1, 1)], [Fraction(-1, 1)]]
    """
    size = len(matrix)
    rows = [list(a) + list(b) for a, b in zip(matrix, right, strict=True)]
    for pivot in range(size):
        head = _positive(rows[pivot][pivot])
        rows[pivot] = [value / head for value in rows[pivot]]
        for other in range(size):
            if other != pivot:
                _subtract(rows, other, pivot, rows[other][pivot])
    return [row[size:] for row in rows]


def pivots(matrix: Rows) -> list[Any]:
    """Return the pivots of a positive definite matrix; their product is its determinant."""
    rows = [list(row) for row in matrix]
    found = []
    for pivot in range(len(rows)):
        found.append(_positive(rows[pivot][pivot]))
        for other in range(pivot + 1, len(rows)):
            _subtract(rows, other, pivot, rows[other][pivot] / found[-1])
    return found


def is_definite(matrix: Rows) -> bool | None:
    """Whether a symmetric matrix is positive definite; None where balls do not settle it.

    >>> is_definite([[1, 1], [1, 1]])
    False
    """
    rows = [list(row) for row in matrix]
    for pivot in range(len(rows)):
        head = rows[pivot][pivot]
        if head <= 0:
            return False
        if not head > 0:
            return None
        for other in range(pivot + 1, len(rows)):
            _subtract(rows, other, pivot, rows[other][pivot] / head)
    return True


def _positive(head: Any) -> Any:
    if not head > 0:  # also where a ball contains zero
        raise NotHere("the oracle needs matrices that are certainly positive definite")
    return head


def _subtract(rows: Rows, other: int, pivot: int, factor: Any) -> None:
    rows[other] = [a - factor * b for a, b in zip(rows[other], rows[pivot], strict=True)]


def product(left: Rows, right: Rows) -> Rows:
    """Return the matrix product."""
    columns = transposed(right)
    return [[_dot(row, column) for column in columns] for row in left]


def _dot(row: Sequence[Any], column: Sequence[Any]) -> Any:
    total = row[0] * column[0]
    for a, b in zip(row[1:], column[1:], strict=True):
        total = total + a * b
    return total


def add(left: Rows, right: Rows) -> Rows:
    """Return the sum."""
    return [[a + b for a, b in zip(*rows, strict=True)] for rows in zip(left, right, strict=True)]


def subtract(left: Rows, right: Rows) -> Rows:
    """Return the difference."""
    return [[a - b for a, b in zip(*rows, strict=True)] for rows in zip(left, right, strict=True)]


def transposed(rows: Rows) -> Rows:
    """Return the transpose."""
    return [list(column) for column in zip(*rows, strict=True)]


BITS = 700
"""Working precision where a belief gives its covariance in balls."""

ASCENTS = 40
"""Rounds of the ascent that looks for the worst of several balls."""

_T = TypeVar("_T")


def renyi(
    belief: Gaussian, question: Displacements, channel: AdditiveGaussian, order: float
) -> Bracket:
    """Return sup over the allowed Δ of the Rényi divergence of the two releases.

    Given X_S = x the release is N(Ãx, C + Γ) with Ã = Σ_{:,S}Σ_SS⁻¹ and C = Σ − ÃΣ_{S,:}, so two
    hypotheses Δ apart have divergence (λ/2)(ÃΔ)ᵀ(C + Γ)⁻¹(ÃΔ).
    """

    def of_numbers(sigma: Rows, gamma: Rows) -> Bracket:
        forms = [
            _largest_form(_information(sigma, gamma, group), group).times(order / 2 * radius**2)
            for group, radius in zip(question.groups, question.radii, strict=True)
        ]
        return Bracket(max(form.low for form in forms), max(form.high for form in forms))

    return _in_numbers(belief, channel, of_numbers)


def posterior_interval(
    belief: Gaussian, question: Displacements, channel: AdditiveGaussian
) -> Bracket:
    """Return 2√λ_min(V_SS) of the narrowest group; the mean where the groups are all times."""

    def of_numbers(sigma: Rows, gamma: Rows) -> Bracket:
        left = _posterior_covariance(sigma, gamma)
        widths = []
        for group in question.groups:
            entries = [entry for ball in group for entry in ball]
            block = np.array([[_as_float(left[i][j]) for j in entries] for i in entries])
            smallest = float(np.linalg.eigvalsh(block)[0])
            if len(entries) > 1 and smallest < 1e-6 * float(block.diagonal().max()):
                raise NotHere("float64 does not settle the oracle's smallest eigenvalue")
            widths.append(2.0 * math.sqrt(max(smallest, 0.0)))
        every = [(belief.entries_at(time),) for time in range(belief.times)]
        mean = len(widths) > 1 and sorted(question.groups) == every
        return Bracket.of(float(np.mean(widths)) if mean else min(widths))

    return _in_numbers(belief, channel, of_numbers)


def mutual_information(belief: Gaussian, channel: AdditiveGaussian) -> Bracket:
    """Return ½ log(det(Σ + Γ) / det Γ), pivot by pivot."""

    def of_numbers(sigma: Rows, gamma: Rows) -> Bracket:
        pairs = zip(pivots(add(sigma, gamma)), pivots(gamma), strict=True)
        return Bracket.of(0.5 * math.fsum(math.log(_as_float(k / g)) for k, g in pairs))

    return _in_numbers(belief, channel, of_numbers)


def posterior(
    belief: Gaussian, channel: AdditiveGaussian, observed: Sequence[float]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean μ + ΣK⁻¹(z − μ) and the covariance Σ − ΣK⁻¹Σ of the trace, K = Σ + Γ."""
    centre = [0.0] * belief.entries if belief.mean is None else belief.mean.tolist()
    surprise = [
        [Fraction(z) - Fraction(m)] for z, m in zip(map(float, observed), centre, strict=True)
    ]

    def of_numbers(sigma: Rows, gamma: Rows) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        exact = isinstance(sigma[0][0], Fraction)
        seen = surprise if exact else [[_as_ball(value) for value in row] for row in surprise]
        moved = product(sigma, solve(add(sigma, gamma), seen))
        mean = [_as_float(row[0], absolute=1e-30) + m for row, m in zip(moved, centre, strict=True)]
        left = _posterior_covariance(sigma, gamma)
        covariance = [[_as_float(value, absolute=1e-30) for value in row] for row in left]
        return np.array(mean), np.array(covariance)

    return _in_numbers(belief, channel, of_numbers)


def mean_squared_error(channel: AdditiveGaussian) -> Bracket:
    """Return tr Γ / n."""
    every = range(channel.entries)
    noise = in_fractions(channel.noise, sampled=True)
    return Bracket.of(float(sum((noise[i][i] for i in every), Fraction()) / channel.entries))


def _in_numbers(
    belief: Gaussian, channel: AdditiveGaussian, of_numbers: Callable[[Rows, Rows], _T]
) -> _T:
    """Evaluate on exact entries: rational if the stored numbers are the belief, else balls."""
    gamma = in_fractions(channel.noise, sampled=True)
    if belief.exact is None:
        return of_numbers(in_fractions(belief.covariance), gamma)
    with precision(BITS):
        noise = [[_as_ball(value) for value in row] for row in gamma]
        return of_numbers(_balls_of(belief), noise)


def _balls_of(belief: Gaussian) -> Rows:
    rows: Rows = in_balls(belief, BITS).tolist()
    return rows


def is_definite_belief(belief: Gaussian) -> bool | None:
    """Whether the true covariance is positive definite; None where that is not settled."""
    if belief.exact is None:
        if belief.rounding > 0:  # the stored numbers are not the belief itself
            return None
        return is_definite(in_fractions(belief.covariance))
    with precision(BITS):
        return is_definite(_balls_of(belief))


def _posterior_covariance(sigma: Rows, gamma: Rows) -> Rows:
    return subtract(sigma, product(sigma, solve(add(sigma, gamma), sigma)))


def _information(sigma: Rows, gamma: Rows, group: Sequence[Sequence[int]]) -> Rows:
    """Return Ãᵀ(C + Γ)⁻¹Ã."""
    secret = [entry for ball in group for entry in ball]
    own = [[sigma[i][j] for j in secret] for i in secret]
    cross = [[row[j] for j in secret] for row in sigma]
    weights = transposed(solve(own, transposed(cross)))
    left = add(subtract(sigma, product(weights, transposed(cross))), gamma)
    return product(transposed(weights), solve(left, weights))


def _largest_form(information: Rows, group: Sequence[Sequence[int]]) -> Bracket:
    """Return sup ΔᵀMΔ over unit balls: signs for scalars, the top eigenvalue for one ball."""
    # Independent coordinates have zeros here, which balls know to within a radius only.
    entries = [x for row in information for x in row]
    room = 1e-13 * max(abs(float(x if isinstance(x, Fraction) else x.mid())) for x in entries)
    matrix = np.array([[_as_float(x, absolute=room) for x in row] for row in information])
    matrix = (matrix + matrix.T) / 2
    if len(group) == 1:
        return Bracket.of(np.linalg.eigvalsh(matrix)[-1])
    if any(len(ball) > 1 for ball in group):
        return _several_balls(matrix, [len(ball) for ball in group])
    signs = np.array(list(itertools.product((1.0, -1.0), repeat=len(matrix))))
    return Bracket.of(np.einsum("si,ij,sj->s", signs, matrix, signs).max())


def _several_balls(matrix: NDArray[np.float64], sizes: Sequence[int]) -> Bracket:
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
    return Bracket(low, high)


def _as_ball(value: Fraction) -> Any:
    numbers = Balls()
    return numbers.number(value.numerator) / numbers.number(value.denominator)


def _as_float(value: Any, absolute: float = 0.0) -> float:
    """Return a number as a float, if it is known well enough."""
    if isinstance(value, Fraction):
        return float(value)
    middle, radius = float(value.mid()), float(value.rad())
    if not radius <= max(1e-13 * abs(middle), absolute):
        raise NotHere(f"{BITS} bits do not settle the oracle's value")
    return middle


HALVINGS = 200


def log_odds_gap(mean: float, delta: float) -> float:
    """Return g with Pr[|G| > g] = δ for G ~ N(m, 2m).

    Given one of two secrets Δ apart, log p(Z | s)/p(Z | s') is Gaussian of mean m = ½ΔᵀMΔ and
    variance 2m: the release is N(a, K) or N(b, K), and the log-ratio is linear in it.

    >>> round(log_odds_gap(0.02, 4.75e-10), 3)
    1.251
    """
    if mean == 0 or math.isinf(mean):
        return mean
    if not 1e-290 < delta < 1:
        raise NotHere("the oracle's chances leave float64")
    low, high = 0.0, mean + 60.0 * math.sqrt(2.0 * mean)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _chance_beyond(mean, middle) > delta else (low, middle)
    return (low + high) / 2


def _chance_beyond(mean: float, gap: float) -> float:
    """Return Pr[G > g] + Pr[G < −g]; with variance 2m, a deviation of √2·√(2m) is 2√m."""
    scale = 2.0 * math.sqrt(mean)
    return 0.5 * (math.erfc((gap - mean) / scale) + math.erfc((gap + mean) / scale))
