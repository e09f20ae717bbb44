"""Fisher information in ball arithmetic, for what float64 cannot decide."""

from __future__ import annotations

import contextlib
import importlib.util
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.beliefs import Gaussian
from sfumato.errors import Undecidable
from sfumato.matrices.matrix import ROUNDOFF, Array, Matrix, in_fractions

if TYPE_CHECKING:
    from sfumato.inference.gaussian.secret_entries import SecretEntries


FIRST_BITS, LAST_BITS = 256, 4096
"""The precision is doubled from the first to, at most, the last number of bits."""

TARGET = 1e-10
"""Relative radius at which the result is accepted."""

MAX_ENTRIES = 400
"""Largest trace for which balls are tried: the cost grows like n³ and with the precision."""


def flint_installed() -> bool:
    """Whether the extra sfumato[certify] is there.

    >>> isinstance(flint_installed(), bool)
    True
    """
    return importlib.util.find_spec("flint") is not None


@contextlib.contextmanager
def precision(bits: int) -> Iterator[None]:
    """Set flint's global precision, and restore it afterwards."""
    from flint import ctx

    before = ctx.prec
    ctx.prec = bits
    try:
        yield
    finally:
        ctx.prec = before


def balls_apply(belief: Gaussian) -> bool:
    """Whether the true covariance is known to any precision, and flint is there to use it.

    >>> from sfumato.matrices import Diagonal
    >>> balls_apply(Gaussian(Diagonal([1.0])))
    False
    """
    known = belief.exact is not None or belief.rounding == 0
    return known and belief.entries <= MAX_ENTRIES and flint_installed()


def ball_information(
    belief: Gaussian, noise: Matrix, secret: SecretEntries
) -> tuple[Array, float] | None:
    """Return an upper end of M = Ãᵀ(C + Γ)⁻¹Ã and its relative error; None if none is found.

    Ã = Σ_{:,S} Σ_SS⁻¹ and C = Σ − Ã Σ_{S,:} are formed from the belief's parameters, Γ from the
    float64 factors that the noise is sampled with. If every entry of M has a radius of at most
    ε √(M_ii M_jj), then M_true lies within k ε diag(M) of the midpoints, in Loewner order.
    """
    bits = FIRST_BITS
    while bits <= LAST_BITS:
        with precision(bits):
            found = _midpoints(_solved(belief, noise, secret, bits))
        if found is not None and found[1] <= TARGET:
            middle, error = found
            return middle + error * np.diag(np.diag(middle)), 2 * error
        bits *= 2
    return None


def ball_scalar_informations(
    belief: Gaussian, noise: Matrix, entries: list[int]
) -> dict[int, tuple[float, float]]:
    """Return upper ends of M_ss = 1/V_ss − 1/Σ_ss and relative errors, from one solve for all.

    V = Σ − Σ K⁻¹ Σ cancels almost wholly, which costs bits and nothing else.
    Entries whose ball stays wide, such as those of an infinite loss, are left out.
    """
    found: dict[int, tuple[float, float]] = {}
    bits = FIRST_BITS
    while bits <= LAST_BITS and len(found) < len(entries):
        with precision(bits):
            left = [entry for entry in entries if entry not in found]
            found.update(_scalars(belief, noise, left, bits))
        bits *= 2
    return found


def _scalars(
    belief: Gaussian, noise: Matrix, entries: list[int], bits: int
) -> dict[int, tuple[float, float]]:
    covariance = belief.covariance.in_balls() if belief.exact is None else belief.exact(bits)
    columns = _columns(covariance, entries)
    try:
        solved = (covariance + noise.in_balls(sampled=True)).solve(columns, algorithm="precond")
    except ZeroDivisionError:
        return {}
    found = {}
    for position, entry in enumerate(entries):
        own = covariance[entry, entry]
        gained = (_column(columns, position).transpose() * _column(solved, position))[0, 0]
        left = own - gained
        if not (left > 0 and own > 0):
            continue
        ball = gained / (left * own)
        middle, radius = float(ball.mid()), float(ball.rad())
        if middle > 0 and math.isfinite(middle) and radius <= TARGET * middle:
            error = radius / middle + 4 * ROUNDOFF
            found[entry] = (middle * (1 + error), 2 * error)
    return found


def _column(matrix: Any, position: int) -> Any:
    return _columns(matrix, [position])


def _solved(belief: Gaussian, noise: Matrix, secret: SecretEntries, bits: int) -> Any:
    """Return M as an `arb_mat`, or None where a ball matrix cannot be shown to be invertible."""
    covariance = belief.covariance.in_balls() if belief.exact is None else belief.exact(bits)
    chosen = secret.representatives.tolist()
    cross = _columns(covariance, chosen)
    try:
        inner = _rows(cross, chosen)
        regression = inner.solve(cross.transpose(), algorithm="precond").transpose()
        conditional = covariance - regression * cross.transpose()
        total = conditional + noise.in_balls(sampled=True)
        return regression.transpose() * total.solve(regression, algorithm="precond")
    except ZeroDivisionError:
        return None


def _columns(matrix: Any, chosen: list[int]) -> Any:
    from flint import arb_mat

    return arb_mat([[matrix[i, j] for j in chosen] for i in range(matrix.nrows())])


def _rows(matrix: Any, chosen: list[int]) -> Any:
    from flint import arb_mat

    return arb_mat([[matrix[i, j] for j in range(matrix.ncols())] for i in chosen])


def _midpoints(balls: Any) -> tuple[Array, float] | None:
    """Return midpoints and relative error; None unless every ball is finite and every M_ii > 0."""
    if balls is None:
        return None
    size = balls.nrows()
    entries = [[balls[i, j] for j in range(size)] for i in range(size)]
    if not all(ball.is_finite() for row in entries for ball in row):
        return None
    middle = np.array([[float(ball.mid()) for ball in row] for row in entries])
    radius = np.array([[float(ball.rad()) for ball in row] for row in entries])
    if not (np.all(np.isfinite(middle)) and np.all(np.isfinite(radius))):
        return None
    middle = (middle + middle.T) / 2
    scale = np.sqrt(np.maximum(np.diag(middle), 0.0))
    if not np.all(scale > 0):
        return None
    # Midpoints are rounded to float64 (twice: conversion and symmetrising).
    relative = radius / scale[:, None] / scale[None, :] + 4 * ROUNDOFF
    error = size * float(np.max(relative)) * (1 + 1e-9)
    return (middle, error) if math.isfinite(error) else None


SMALL = 8
"""Matrices up to this size are eliminated entry by entry; larger ones are halved first."""


def ball_pivots(matrix: Any) -> list[Any]:
    """Return the pivots of symmetric elimination, up to the first that is not surely positive.

    All n of them, each positive, mean that every matrix in the balls is positive definite, and
    their product is the determinant; a surely negative last one means that none is.

    >>> from flint import arb_mat
    >>> [float(pivot) for pivot in ball_pivots(arb_mat([[2, 1], [1, 1]]))]
    [2.0, 0.5]
    """
    size = matrix.nrows()
    if size <= SMALL:
        return _eliminated(matrix)
    half = size // 2
    corner = _block(matrix, 0, half, 0, half)
    first = ball_pivots(corner)
    if len(first) < half or not first[-1] > 0:
        return first
    side = _block(matrix, 0, half, half, size)
    try:
        reduced = corner.solve(side, algorithm="precond")
    except ZeroDivisionError:  # too few bits to invert what has been shown to be definite
        return first[:-1]
    rest = _block(matrix, half, size, half, size) - side.transpose() * reduced
    return first + ball_pivots(rest)


def is_positive_definite(matrix: Any) -> bool | None:
    """Return whether a ball matrix is positive definite; None where its precision cannot tell.

    >>> from flint import arb_mat
    >>> is_positive_definite(arb_mat([[1, 2], [2, 1]]))
    False
    """
    pivots = ball_pivots(matrix)
    if len(pivots) == matrix.nrows() and all(pivot > 0 for pivot in pivots):
        return True
    return False if pivots and pivots[-1] <= 0 else None


def _block(matrix: Any, top: int, bottom: int, left: int, right: int) -> Any:
    from flint import arb_mat

    return arb_mat([[matrix[i, j] for j in range(left, right)] for i in range(top, bottom)])


def _eliminated(matrix: Any) -> list[Any]:
    size = matrix.nrows()
    rows = [[matrix[i, j] for j in range(size)] for i in range(size)]
    pivots: list[Any] = []
    for p in range(size):
        pivot = rows[p][p]
        pivots.append(pivot)
        if not pivot > 0:
            break
        for i in range(p + 1, size):
            factor = rows[i][p] / pivot
            for j in range(p + 1, size):
                rows[i][j] = rows[i][j] - factor * rows[p][j]
    return pivots


Rows = list[list[Fraction]]

MOST_RATIONAL_ENTRIES = 32
"""Largest matrix that is eliminated in rational numbers, whose digits grow with every step."""


def rational_applies(belief: Gaussian, secret: SecretEntries) -> bool:
    """Whether M follows exactly from stored numbers.

    It does where the stored covariance is the belief itself, or where it does not enter because
    every entry of the trace is a copy of a secret one, a known multiple, or a constant.
    """
    known = belief.rounding == 0 and belief.exact is None
    determined = secret.others.size == 0 and not secret.rounded
    return belief.entries <= MOST_RATIONAL_ENTRIES and (known or determined)


def rational_information(
    belief: Gaussian, noise: Matrix, secret: SecretEntries
) -> tuple[Array, Array] | None:
    """Return (M about a basis of the secret entries, T with X_S = T X_basis); None if infinite.

    M = Ãᵀ(C + Γ)⁺Ã with Ã = Σ_{:,I} Σ_II⁻¹ and C = Σ − Ã Σ_{I,:}, for a maximal set I of linearly
    independent secret entries; infinite iff a column of Ã leaves the range of C + Γ.
    """
    every = list(range(belief.entries))
    if secret.others.size == 0 and not secret.rounded:
        regression = in_fractions(secret.copies)
        conditional = [[Fraction()] * len(every) for _ in every]
    else:
        covariance = belief.covariance.rational(every)
        basis = independent_entries(covariance, secret.representatives.tolist())
        regression, conditional = regress_exactly(covariance, basis)
    noisy = noise.rational(every, sampled=True)
    total = [
        [x + y for x, y in zip(a, b, strict=True)] for a, b in zip(conditional, noisy, strict=True)
    ]
    found = projected_square(total, regression)
    if found is None:
        return None
    return _in_floats(found), _in_floats([regression[i] for i in secret.entries.tolist()])


def _in_floats(rows: Rows) -> Array:
    try:
        return np.array([[float(x) for x in row] for row in rows])
    except OverflowError as error:
        raise Undecidable("the loss must fit in float64; got a larger one.") from error


def projected_square(matrix: Rows, sides: Rows) -> Rows | None:
    """Return BᵀA⁺B for a semidefinite A, or None if B leaves the range of A, by elimination.

    A semidefinite matrix has zero rows where a pivot is zero, so no search for pivots is needed.

    >>> one = Fraction(1)
    >>> projected_square([[one, one], [one, one]], [[one], [one]])
    [[Fraction(1, 1)]]
    >>> projected_square([[one, one], [one, one]], [[one], [-one]]) is None
    True
    """
    a, b = [list(row) for row in matrix], [list(row) for row in sides]
    width = len(b[0])
    square = [[Fraction()] * width for _ in range(width)]
    for p, pivot_row in enumerate(a):
        pivot = pivot_row[p]
        if not _is_positive(pivot, pivot_row[p + 1 :]):
            if any(b[p]):
                return None
            continue
        for i in range(p + 1, len(a)):
            factor = a[i][p] / pivot
            if factor:
                a[i] = [x - factor * y for x, y in zip(a[i], pivot_row, strict=True)]
                b[i] = [x - factor * y for x, y in zip(b[i], b[p], strict=True)]
        for i in range(width):
            for j in range(width):
                square[i][j] += b[p][i] * b[p][j] / pivot
    return square


def is_singular(matrix: Rows) -> bool:
    """Whether a semidefinite matrix of rational numbers is singular.

    >>> is_singular([[Fraction(1), Fraction(2)], [Fraction(2), Fraction(4)]])
    True
    """
    return len(independent_entries(matrix, list(range(len(matrix))))) < len(matrix)


def _is_positive(pivot: Fraction, rest: list[Fraction]) -> bool:
    if pivot < 0 or (pivot == 0 and any(rest)):
        raise Undecidable(
            "the stored covariance must be positive semidefinite in exact arithmetic; got one that "
            "rounding has made indefinite: give the belief its exact form."
        )
    return pivot > 0


def independent_entries(covariance: Rows, chosen: list[int]) -> list[int]:
    """Return the entries of `chosen` that no earlier ones determine.

    >>> one = Fraction(1)
    >>> independent_entries([[one, one], [one, one]], [0, 1])
    [0]
    """
    block = [[covariance[i][j] for j in chosen] for i in chosen]
    kept = []
    for p, entry in enumerate(chosen):
        pivot_row = block[p]
        if not _is_positive(pivot_row[p], pivot_row[p + 1 :]):
            continue
        kept.append(entry)
        for i in range(p + 1, len(chosen)):
            factor = block[i][p] / pivot_row[p]
            block[i] = [x - factor * y for x, y in zip(block[i], pivot_row, strict=True)]
    return kept


def regress_exactly(covariance: Rows, basis: list[int]) -> tuple[Rows, Rows]:
    """Return Ã = Σ_{:,I} Σ_II⁻¹ and C = Σ − Ã Σ_{I,:}, eliminating one entry of I at a time.

    >>> one = Fraction(1)
    >>> regress_exactly([[one, 2 * one], [2 * one, 5 * one]], [0])[0]
    [[Fraction(1, 1)], [Fraction(2, 1)]]
    """
    size = len(covariance)
    conditional = [list(row) for row in covariance]
    # Row i of `weights` expresses X_i − (conditional part) in the basis found so far.
    weights = [[Fraction()] * len(basis) for _ in range(size)]
    for step, entry in enumerate(basis):
        pivot = conditional[entry][entry]
        row, own = list(conditional[entry]), list(weights[entry])
        own[step] -= 1
        for i in range(size):
            factor = row[i] / pivot
            conditional[i] = [x - factor * y for x, y in zip(conditional[i], row, strict=True)]
            weights[i] = [x - factor * y for x, y in zip(weights[i], own, strict=True)]
    return weights, conditional
