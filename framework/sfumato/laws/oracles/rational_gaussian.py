"""Gaussian losses in exact or high-precision arithmetic, straight from their definitions."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.laws.violation import NotHere
from sfumato.questions import Displacements

BITS = 700
"""Working precision where a belief gives its covariance in balls."""

Rows = list[list[Any]]


def renyi(
    belief: Gaussian, question: Displacements, channel: AdditiveGaussian, order: float
) -> float:
    """Return sup over the allowed Δ of the Rényi divergence of the two releases.

    Given X_S = x the release is N(Ãx, C + Γ) with Ã = Σ_{:,S}Σ_SS⁻¹ and C = Σ − ÃΣ_{S,:}, so two
    hypotheses Δ apart have divergence (λ/2)(ÃΔ)ᵀ(C + Γ)⁻¹(ÃΔ).
    """

    def of_numbers(sigma: Rows, gamma: Rows) -> float:
        return max(
            order / 2 * radius**2 * _largest_form(_information(sigma, gamma, group), group)
            for group, radius in zip(question.groups, question.radii, strict=True)
        )

    return _in_numbers(belief, channel, of_numbers)


def posterior_interval(
    belief: Gaussian, question: Displacements, channel: AdditiveGaussian
) -> float:
    """Return the mean over single entries of 2√V_ss, V = Σ − Σ(Σ + Γ)⁻¹Σ."""
    if any(len(group) != 1 or len(group[0]) != 1 for group in question.groups):
        raise NotHere("the oracle knows intervals of single entries only")

    def of_numbers(sigma: Rows, gamma: Rows) -> float:
        total = _add(sigma, gamma)
        widths = []
        for group in question.groups:
            column = [[row[group[0][0]]] for row in sigma]
            solved = _solve(total, column)
            entry = group[0][0]
            variance = sigma[entry][entry] - _product(_transposed(column), solved)[0][0]
            widths.append(2.0 * np.sqrt(max(_as_float(variance), 0.0)))
        return float(np.mean(widths))

    return _in_numbers(belief, channel, of_numbers)


def mean_squared_error(channel: AdditiveGaussian) -> float:
    """Return tr Γ / n."""
    every = range(channel.entries)
    noise = channel.noise.rational(list(every), sampled=True)
    return float(sum((noise[i][i] for i in every), Fraction()) / channel.entries)


def _in_numbers(
    belief: Gaussian, channel: AdditiveGaussian, of_numbers: Callable[[Rows, Rows], float]
) -> float:
    """Evaluate on exact entries: rational if the stored numbers are the belief, else balls."""
    every = list(range(belief.entries))
    gamma = channel.noise.rational(every, sampled=True)
    if belief.exact is None:
        return of_numbers(belief.covariance.rational(every), gamma)
    try:
        import flint
    except ImportError:
        raise NotHere("the oracle needs the extra sfumato[certify]") from None
    with flint.ctx.workprec(BITS):
        balls = belief.exact(BITS)
        sigma = [[balls[i, j] for j in every] for i in every]
        noise = [[flint.arb(x.numerator) / flint.arb(x.denominator) for x in row] for row in gamma]
        return of_numbers(sigma, noise)


def _information(sigma: Rows, gamma: Rows, group: Sequence[Sequence[int]]) -> Rows:
    """Return Ãᵀ(C + Γ)⁻¹Ã."""
    secret = [entry for ball in group for entry in ball]
    own = [[sigma[i][j] for j in secret] for i in secret]
    cross = [[row[j] for j in secret] for row in sigma]
    weights = _transposed(_solve(own, _transposed(cross)))
    explained = _product(weights, _transposed(cross))
    left = [
        [a - b + c for a, b, c in zip(*rows, strict=True)]
        for rows in zip(sigma, explained, gamma, strict=True)
    ]
    return _product(_transposed(weights), _solve(left, weights))


def _largest_form(information: Rows, group: Sequence[Sequence[int]]) -> float:
    """Return sup ΔᵀMΔ over unit balls: signs for scalars, the top eigenvalue for one ball."""
    matrix = np.array([[_as_float(x) for x in row] for row in information])
    if len(group) == 1:
        return float(np.linalg.eigvalsh((matrix + matrix.T) / 2)[-1])
    if any(len(ball) > 1 for ball in group):
        raise NotHere("the oracle knows one ball, or several of one entry each")
    signs = itertools.product((1.0, -1.0), repeat=len(matrix))
    return max(float(np.array(s) @ matrix @ np.array(s)) for s in signs)


def _solve(matrix: Rows, right: Rows) -> Rows:
    """Return matrix⁻¹ right for a positive definite matrix, by elimination."""
    size = len(matrix)
    rows = [list(a) + list(b) for a, b in zip(matrix, right, strict=True)]
    for pivot in range(size):
        head = rows[pivot][pivot]
        if not head > 0:  # also where a ball contains zero
            raise NotHere("the oracle needs matrices that are certainly positive definite")
        rows[pivot] = [value / head for value in rows[pivot]]
        for other in range(size):
            if other != pivot:
                factor = rows[other][pivot]
                rows[other] = [
                    a - factor * b for a, b in zip(rows[other], rows[pivot], strict=True)
                ]
    return [row[size:] for row in rows]


def _product(left: Rows, right: Rows) -> Rows:
    columns = _transposed(right)
    return [[_dot(row, column) for column in columns] for row in left]


def _dot(row: Sequence[Any], column: Sequence[Any]) -> Any:
    total = row[0] * column[0]
    for a, b in zip(row[1:], column[1:], strict=True):
        total = total + a * b
    return total


def _add(left: Rows, right: Rows) -> Rows:
    return [[a + b for a, b in zip(*rows, strict=True)] for rows in zip(left, right, strict=True)]


def _transposed(rows: Rows) -> Rows:
    return [list(column) for column in zip(*rows, strict=True)]


def _as_float(value: Any) -> float:
    """Return a number as a float, if it is known well enough."""
    if isinstance(value, Fraction):
        return float(value)
    middle, radius = float(value.mid()), float(value.rad())
    if not radius <= 1e-13 * abs(middle):
        raise NotHere(f"{BITS} bits do not settle the oracle's value")
    return middle
