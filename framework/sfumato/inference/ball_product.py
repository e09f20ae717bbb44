"""Maximising a convex quadratic over a product of unit balls: from below and from above."""

from __future__ import annotations

import importlib
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfumato.matrices.matrix import ROUNDOFF, Array

Balls: TypeAlias = tuple[NDArray[np.intp], ...]

RESTARTS, STEPS = 32, 500


def local_maximum(matrix: Array, balls: Balls) -> Array:
    """Return the best Δ of a local search: every step of Δ_k ← (MΔ)_k / ‖(MΔ)_k‖ climbs.

    (By convexity ΔᵀMΔ lies above its tangent, which the step maximises.) Starts are the leading
    eigenvector, the largest ball alone, and fixed pseudo-random directions.

    >>> local_maximum(np.diag([3.0, 1.0]), (np.array([0]), np.array([1])))
    array([1., 1.])
    """
    size = matrix.shape[0]
    rng = np.random.default_rng(0)  # a search, not a release: it must give the same answer twice
    starts = np.hstack(
        [
            np.linalg.eigh(matrix)[1][:, [-1]],
            np.ones((size, 1)),
            rng.standard_normal((size, RESTARTS)),
        ]
    )
    # M Δ may vanish on a ball; a multiple of the identity changes nothing at the maximum but that.
    shifted = matrix + 1e-12 * np.trace(matrix) / size * np.eye(size)
    points, values = _normalised(starts, balls), np.zeros(starts.shape[1])
    for _ in range(STEPS):
        points = _normalised(shifted @ points, balls)
        before, values = values, np.einsum("is,ij,js->s", points, matrix, points, optimize=True)
        if np.all(values - before <= 1e-15 * values):
            break
    best = points[:, int(np.argmax(values))]
    return np.asarray(best if best[np.argmax(np.abs(best))] > 0 else -best)


def best_dual(matrix: Array, balls: Balls, witness: Array, agreement: float) -> tuple[float, str]:
    """Return the smallest certified bound Σ d_k with blkdiag(d_k I) ⪰ M, and how it was found.

    The multipliers d_k = ‖(MΔ)_k‖ of the witness are tried first; if they prove it optimal, no
    program is solved.

    >>> matrix = np.diag([3.0, 1.0])
    >>> balls = (np.array([0]), np.array([1]))
    >>> round(best_dual(matrix, balls, np.ones(2), 1e-9)[0], 9)
    4.0
    """
    attained = float(witness @ matrix @ witness)
    gradient = matrix @ witness
    multipliers = np.array([np.linalg.norm(gradient[ball]) for ball in balls])
    value = feasible_value(matrix, balls, multipliers)
    if value - attained <= agreement * value:
        return value, "multipliers of the witness"
    options = [(value, "multipliers of the witness"), *_crude(matrix, balls)]
    solved = _program(matrix, balls)
    if solved is not None:
        options.append((feasible_value(matrix, balls, solved), "dual program, made feasible"))
    return min(options)


def feasible_value(matrix: Array, balls: Balls, multipliers: Array) -> float:
    """Return Σ d_k for multipliers raised, if need be, until blkdiag(d_k I) ⪰ M is certain.

    >>> feasible_value(np.eye(2), (np.array([0]), np.array([1])), np.zeros(2)) >= 2.0
    True
    """
    size = matrix.shape[0]
    diagonal = np.empty(size)
    for multiplier, ball in zip(multipliers, balls, strict=True):
        diagonal[ball] = multiplier
    difference = np.diag(diagonal) - matrix
    # A margin for the rounding of the eigenvalues, of the difference and of the sums.
    margin = 8 * size * ROUNDOFF * (float(np.trace(matrix)) + float(np.max(np.abs(diagonal))))
    shift = max(0.0, -float(np.linalg.eigvalsh(difference)[0])) + margin
    return float(np.sum(multipliers) + len(balls) * shift) * (1 + 4 * len(balls) * ROUNDOFF)


def _crude(matrix: Array, balls: Balls) -> list[tuple[float, str]]:
    norms = [[np.linalg.norm(matrix[np.ix_(a, b)], 2) for b in balls] for a in balls]
    up = 1 + 16 * matrix.shape[0] ** 2 * ROUNDOFF
    largest = float(np.linalg.eigvalsh(matrix)[-1])
    return [
        (float(np.sum(norms)) * up, "sum of the norms of the blocks"),
        (len(balls) * largest * up, "number of balls times the largest eigenvalue"),
    ]


def _program(matrix: Array, balls: Balls) -> Array | None:
    """Return the multipliers that minimise Σ d_k, as a solver sees it, or None if it fails."""
    cp: Any = importlib.import_module("cvxpy")  # slow to import, and only partly typed
    size, scale = matrix.shape[0], float(np.trace(matrix))
    if scale == 0:
        return np.zeros(len(balls))
    multipliers = cp.Variable(len(balls), nonneg=True)
    member = np.zeros((size, len(balls)))
    for k, ball in enumerate(balls):
        member[ball, k] = 1.0
    problem = cp.Problem(
        cp.Minimize(cp.sum(multipliers)),
        [cp.diag(member @ multipliers) - matrix / scale >> 0],
    )
    try:
        problem.solve(solver=cp.CLARABEL)
    except cp.error.SolverError:
        return None
    if multipliers.value is None or not np.all(np.isfinite(multipliers.value)):
        return None
    return np.maximum(np.asarray(multipliers.value, dtype=np.float64), 0.0) * scale


def _normalised(points: Array, balls: Balls) -> Array:
    """Scale every ball's part to length one; a vanishing part becomes its first axis."""
    result = np.array(points)
    for ball in balls:
        part = result[ball]
        lengths = np.linalg.norm(part, axis=0)
        axis = np.zeros((ball.size, 1))
        axis[0] = 1.0
        result[ball] = np.where(lengths > 0, part / np.where(lengths > 0, lengths, 1.0), axis)
    return result
