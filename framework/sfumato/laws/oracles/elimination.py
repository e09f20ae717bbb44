"""Linear algebra on rows of exact numbers: fractions, or balls of high precision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sfumato.laws.violation import NotHere

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
