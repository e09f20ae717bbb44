"""Gaussian traces in exact numbers: rational, or balls of high precision.

Independent of `sfumato.inference`: a belief and its noise are written out entry by entry, and
everything is solved by plain elimination.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, TypeVar

import flint
import numpy as np

from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.errors import OutsideHypotheses
from sfumato.inference.exact import in_balls, in_fractions
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
