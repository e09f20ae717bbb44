"""The pair of secrets that a release tells apart best."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import attrs
import numpy as np
from numpy.typing import ArrayLike

from sfumato.content import ByContent, read_only
from sfumato.errors import ParameterError
from sfumato.inference.ball_product import Balls, best_dual, local_maximum
from sfumato.inference.cut_box import cut_box_corners
from sfumato.matrices.matrix import ROUNDOFF, Array, finite_array

MAX_SIGNS = 20
"""Largest number of one-entry balls for which all sign vectors are compared."""

AGREEMENT = 1e-9
"""Relative gap at which a value attained and a certified bound count as the same number."""


@attrs.frozen(eq=False)
class WorstPair(ByContent):
    """The supremum of ΔᵀMΔ over a product of balls: value, direction, and a Δ that comes close."""

    value: float
    bound: Literal["exact", "upper"]
    witness: Array = attrs.field(converter=read_only)
    how: str


def worst_pair(
    information: ArrayLike,
    balls: Sequence[Sequence[int]],
    radius: float,
    *,
    support: Array | None = None,
) -> WorstPair:
    """Return the supremum of ΔᵀMΔ over ‖Δ_k‖ ≤ r for every ball k.

    One ball: r² λ_max(M). Balls of one entry each: a convex quadratic is maximal at an extreme
    point, so the maximum over sign vectors, all compared up to 20 of them. Else the dual bound
    r² min Σ d_k subject to blkdiag(d_k I) ⪰ M, with every d made feasible before it counts.

    Parameters
    ----------
    information : array (k, k)
        The finite, semidefinite matrix M.
    balls : sequence of sequences of positions in M
        A partition of the positions: one time's coordinates each, as a rule.
    radius : float
        The radius r of every ball.
    support : array (k, m), optional
        Orthonormal basis of the Δ that the belief allows. If each of its vectors moves one ball
        alone, the problem is one of smaller balls; of balls of one entry each, it cuts a box, whose
        corners are compared while they are few. Otherwise, as M vanishes off the support, the
        supremum without it is an upper bound, and exact if the witness lies on it.

    Examples
    --------
    >>> worst_pair([[2.0, 1.0], [1.0, 2.0]], [(0,), (1,)], 1.0).value
    6.0
    """
    matrix = _semidefinite(information)
    groups = _partition(balls, matrix.shape[0])
    if not (math.isfinite(radius) and radius > 0):
        raise ParameterError(f"radius must be finite and positive; got {radius}.")
    found = _supported(matrix, groups, np.eye(len(matrix)) if support is None else support)
    return WorstPair(radius**2 * found.value, found.bound, radius * found.witness, found.how)


def _supported(matrix: Array, balls: Balls, support: Array) -> WorstPair:
    """Return the supremum over the unit balls within the support, at the least a bound of it."""
    size, rank = support.shape
    smaller = _smaller_balls(balls, support)
    if rank == size or smaller is None:
        found = _unit_radius(matrix, balls)
        if _within(found.witness, support):
            return found
        corners = cut_box_corners(support) if len(balls) == size else None
        if corners is None:
            return attrs.evolve(found, bound="upper")
        values = np.einsum("ci,ij,cj->c", corners, matrix, corners, optimize=True)
        best = int(np.argmax(values))
        return WorstPair(float(values[best]), "exact", corners[best], "every corner of a cut box")
    if not smaller:
        return WorstPair(0.0, "exact", np.zeros(size), "nothing can move")
    inner = support.T @ matrix @ support
    found = _unit_radius((inner + inner.T) / 2, smaller)
    return attrs.evolve(found, witness=support @ found.witness)


def _smaller_balls(balls: Balls, support: Array) -> Balls | None:
    """Return the support's vectors ball by ball; None where one of them moves several balls."""
    moved = np.array([np.any(support[ball] != 0, axis=0) for ball in balls])
    if np.any(np.sum(moved, axis=0) != 1):
        return None
    return tuple(np.flatnonzero(row) for row in moved if np.any(row))


def _unit_radius(matrix: Array, balls: Balls) -> WorstPair:
    if len(balls) == 1:
        values, vectors = np.linalg.eigh(matrix)
        return WorstPair(float(max(values[-1], 0.0)), "exact", vectors[:, -1], "largest eigenvalue")
    scalar = all(ball.size == 1 for ball in balls)
    if scalar and len(balls) <= MAX_SIGNS:
        signs = _best_signs(matrix)
        return WorstPair(float(signs @ matrix @ signs), "exact", signs, "every sign vector")
    return _bounded(matrix, balls)


def _bounded(matrix: Array, balls: Balls) -> WorstPair:
    """Return the smallest certified upper bound, and the best Δ of a local search."""
    # Units in which M is of order one: a power of two, so nothing is rounded.
    trace = float(np.trace(matrix))
    unit = 2.0 ** math.floor(math.log2(trace)) if trace > 0 else 1.0
    scaled = matrix / unit
    witness = local_maximum(scaled, balls)
    attained = float(witness @ scaled @ witness)
    value, how = best_dual(scaled, balls, witness, AGREEMENT)
    # For two balls the dual has no gap (the S-lemma): agreement with a witness is then exact.
    exact = len(balls) == 2 and value - attained <= AGREEMENT * value
    return WorstPair(unit * value, "exact" if exact else "upper", witness, how)


def _best_signs(matrix: Array) -> Array:
    """Return a sign vector v with the largest vᵀMv; v and −v count once.

    With v = (a, b): aᵀM₁₁a + 2 aᵀM₁₂b + bᵀM₂₂b, for all a and b by three matrix products.
    """
    size = matrix.shape[0]
    half = size // 2
    left, right = _signs(half), _signs(size - half, first=1.0)
    own = np.einsum("vi,ij,vj->v", left, matrix[:half, :half], left, optimize=True)
    other = np.einsum("vi,ij,vj->v", right, matrix[half:, half:], right, optimize=True)
    values = own[:, None] + other[None, :] + 2 * left @ matrix[:half, half:] @ right.T
    i, j = np.unravel_index(int(np.argmax(values)), values.shape)
    return np.concatenate([left[i], right[j]])


def _signs(count: int, first: float | None = None) -> Array:
    """Return all sign vectors as rows; with `first`, those that start with it."""
    free = count if first is None else count - 1
    bits = (np.arange(2**free)[:, None] >> np.arange(free)) & 1
    signs = np.asarray(2.0 * bits - 1.0, dtype=np.float64)
    if first is None:
        return signs
    fixed = np.full((signs.shape[0], 1), first, dtype=np.float64)
    return np.concatenate([fixed, signs], axis=1)


def _semidefinite(information: ArrayLike) -> Array:
    matrix = finite_array(information, "information", 2)
    if matrix.shape[0] != matrix.shape[1]:
        raise ParameterError(f"information must be square; got shape {matrix.shape}.")
    size = float(np.max(np.abs(matrix)))
    if float(np.max(np.abs(matrix - matrix.T))) > 1e-12 * size:
        raise ParameterError("information must be symmetric; got a matrix that is not.")
    matrix = (matrix + matrix.T) / 2
    if float(np.linalg.eigvalsh(matrix)[0]) < -1e-9 * size:
        raise ParameterError("information must be positive semidefinite; got an indefinite matrix.")
    return matrix


def _partition(balls: Sequence[Sequence[int]], size: int) -> Balls:
    groups = tuple(np.array(ball, dtype=np.intp) for ball in balls)
    positions = np.concatenate([*groups, np.zeros(0, dtype=np.intp)])
    if any(group.size == 0 for group in groups) or not np.array_equal(
        np.sort(positions), np.arange(size)
    ):
        raise ParameterError(
            f"balls must hold each of the positions 0..{size - 1} once; got {balls!r}."
        )
    return groups


def _within(displacement: Array, support: Array) -> bool:
    rest = displacement - support @ (support.T @ displacement)
    return float(np.linalg.norm(rest)) <= 64 * displacement.size * ROUNDOFF * float(
        np.linalg.norm(displacement)
    )
