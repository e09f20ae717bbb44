"""Coordinates in which the displacements that a belief allows are a product of balls."""

from __future__ import annotations

import attrs
import numpy as np

from sfumato.errors import OutsideHypotheses
from sfumato.inference.cut_box import cut_box_corners
from sfumato.matrices.matrix import Array

Balls = tuple[tuple[int, ...], ...]

MOST_CORNERS = 64
"""Corners of a cut box up to which all of them enter a program."""


@attrs.frozen(eq=False)
class FreeValues:
    """Free values δ of a displacement Δ of secret entries, δ of unit balls where Δ is.

    Attributes
    ----------
    values : array (k, m)
        δ = values · Δ.
    representatives : array (r, k)
        The displacement of the r representatives of the entries, from δ.
    balls : tuple of tuples of positions
        Which of the values share a ball.
    plain : bool
        Whether the values are the representatives themselves.
    corners : array (c, k), optional
        The extreme δ, where they are no product of balls but few; of δ and −δ one.
    """

    values: Array
    representatives: Array
    balls: Balls
    plain: bool
    corners: Array | None = None


def free_values(spread: Array, balls: Balls) -> FreeValues:
    """Return the free values of entries X_S = T Y, whose balls are given by position.

    The values Y_b that the entries of a ball b hold first are turned by T_b = Q R, Q orthonormal:
    |Δ_b| = |R y_b|, so δ_b = R y_b = Qᵀ Δ_b. A ball that only repeats another's length adds
    nothing. One that mixes values of several balls leaves no product: of intervals the corners are
    listed, and other balls are refused.

    >>> both = free_values(np.array([[1.0], [1.0]]), ((0, 1),))
    >>> abs(both.values).round(4), abs(both.representatives).round(4)
    (array([[0.7071, 0.7071]]), array([[0.7071]]))
    """
    size, rank = spread.shape
    values, inverse = np.zeros((rank, size)), np.zeros((rank, rank))
    found: list[tuple[int, ...]] = []
    lengths: dict[tuple[int, ...], Array] = {}
    for ball in balls:
        rows = spread[list(ball)]
        columns = tuple(np.flatnonzero(np.any(rows != 0, axis=0)).tolist())
        if not columns:
            continue  # constants
        inner = rows[:, columns]
        square = inner.T @ inner
        known = lengths.get(columns)
        if known is not None and np.allclose(square, known, rtol=1e-15, atol=0.0):
            continue
        mixed = any(set(columns) & set(other) for other in lengths)
        if mixed or len(columns) > len(ball):
            return _cut_box(spread, balls)
        lengths[columns] = square
        turned, upper = np.linalg.qr(inner)
        if np.array_equal(square, np.eye(len(columns))):
            turned, upper = inner, np.eye(len(columns))
        values[np.ix_(columns, ball)] = turned.T
        inverse[np.ix_(columns, columns)] = np.linalg.inv(upper)
        found.append(columns)
    plain = bool(np.array_equal(inverse, np.eye(rank)))
    return FreeValues(values, inverse, tuple(found), plain)


def _cut_box(spread: Array, balls: Balls) -> FreeValues:
    """Return δ = Qᵀ Δ for T = Q R, and the corners of the box that the range of T cuts."""
    turned, upper = np.linalg.qr(spread)
    corners = cut_box_corners(turned) if len(balls) == len(spread) else None
    if corners is None or len(corners) > MOST_CORNERS:
        raise OutsideHypotheses(
            "secret entries that hang together must be few times of one coordinate for a design; "
            f"got {len(spread)} entries of {len(balls)} times: use gaussian_uniform or "
            "gaussian_given, which need no design."
        )
    each = tuple((position,) for position in range(spread.shape[1]))
    return FreeValues(turned.T, np.linalg.inv(upper), each, plain=False, corners=corners @ turned)
