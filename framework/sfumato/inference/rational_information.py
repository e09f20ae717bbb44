"""Fisher information in rational numbers, for singular matrices whose entries are exact."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from sfumato.beliefs.gaussian import Gaussian
from sfumato.errors import Undecidable
from sfumato.matrices.matrix import Array, Matrix, in_fractions

if TYPE_CHECKING:
    from sfumato.inference.secret_entries import SecretEntries

Rows = list[list[Fraction]]

MAX_ENTRIES = 32
"""Largest matrix that is eliminated in rational numbers, whose digits grow with every step."""


def rational_applies(belief: Gaussian, secret: SecretEntries) -> bool:
    """Whether M follows exactly from stored numbers.

    It does where the stored covariance is the belief itself, or where it does not enter because
    every entry of the trace is a copy of a secret one, a known multiple, or a constant.
    """
    known = belief.rounding == 0 and belief.exact is None
    determined = secret.others.size == 0 and not secret.rounded
    return belief.entries <= MAX_ENTRIES and (known or determined)


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
