"""Deciding in ball arithmetic whether a symmetric matrix is positive definite."""

from __future__ import annotations

from typing import Any

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
