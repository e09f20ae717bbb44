"""The pair of secrets that a release tells apart best."""

from __future__ import annotations

import importlib
import itertools
import math
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.errors import ParameterError
from sfumato.inference.gaussian.fisher_information import fisher_information, scalar_informations
from sfumato.matrices.matrix import ROUNDOFF, Array, finite_array
from sfumato.questions.displacements import Displacements, Group
from sfumato.values import ByContent, read_only

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


MOST_CORNERS = 100_000
"""Candidates up to which all are looked at."""

SINGULAR, UNSURE = 1e-13, 1e-6
"""Smallest singular values below the first count as zero; between the two, nothing is sure."""

OUTSIDE = 1e-9
"""How far outside the box rounding may have put a corner: a corner too many errs upwards."""


def cut_box_corners(basis: Array) -> Array | None:
    """Return the corners of {Δ = T δ : |Δ_i| ≤ 1}, one of Δ and −Δ each, as rows; None if unsure.

    For a basis T, (k, r) with orthonormal columns, a corner has r independent rows of T at ±1. A
    convex function of Δ is largest at one of them.

    >>> cut_box_corners(np.array([[0.6], [0.8]])).round(9)
    array([[0.75, 1.  ]])
    """
    size, rank = basis.shape
    if math.comb(size, rank) * 2 ** (rank - 1) > MOST_CORNERS:
        return None
    rows = basis[np.array(list(itertools.combinations(range(size), rank)))]
    smallest = np.linalg.svd(rows, compute_uv=False)[:, -1]
    if np.any((smallest > SINGULAR) & (smallest < UNSURE)):
        return None
    signs = np.array([(1.0, *rest) for rest in itertools.product((1.0, -1.0), repeat=rank - 1)])
    chosen = rows[smallest >= UNSURE]
    values = np.linalg.solve(chosen, np.broadcast_to(signs.T, (len(chosen), *signs.T.shape)))
    corners = np.swapaxes(basis @ values, 1, 2).reshape(-1, size)
    return np.asarray(corners[np.max(np.abs(corners), axis=1) <= 1.0 + OUTSIDE])


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


@attrs.frozen(eq=False)
class GroupLosses:
    """For each group j of a question, an upper bound of r_j² sup ΔᵀM_jΔ, and a Δ that is close.

    Attributes
    ----------
    values : array
        The losses, in units of half the Rényi order, raised by their certified errors.
    witnesses : tuple of arrays
        For each group, its displacement Δ in units of the radius; empty where the loss is infinite.
    """

    values: Array
    witnesses: tuple[Array, ...]

    @property
    def worst(self) -> int:
        """The group with the largest loss."""
        return int(np.argmax(self.values))


def group_losses(
    belief: Gaussian, question: Displacements, channel: AdditiveGaussian
) -> GroupLosses:
    """Return the loss of every group, from one factorisation where all groups are single entries.

    >>> from sfumato.matrices import Diagonal
    >>> question = Displacements(groups=(((0,),), ((1,),)), radii=(1.0, 2.0))
    >>> channel = AdditiveGaussian(Diagonal([0.5, 0.25]))
    >>> group_losses(Gaussian(Diagonal([1.0, 1.0])), question, channel).values.round(9)
    array([ 2., 16.])
    """
    if len(question.groups) > 1 and all(is_scalar(group) for group in question.groups):
        entries = np.array([group[0][0] for group in question.groups])
        informations, error = scalar_informations(belief, channel)
        values = np.square(question.radii) * informations[entries] * (1 + error)
        return GroupLosses(values, (np.ones(1),) * entries.size)
    found = [_of_group(belief, group, channel) for group in question.groups]
    values = np.array([value for value, _ in found]) * np.square(question.radii)
    return GroupLosses(values, tuple(witness for _, witness in found))


def is_scalar(group: Group) -> bool:
    """Whether the group is one ball of one entry.

    >>> is_scalar(((3,),)), is_scalar(((3,), (4,)))
    (True, False)
    """
    return len(group) == 1 and len(group[0]) == 1


def positions(group: Group) -> tuple[tuple[int, ...], ...]:
    """Return the balls as positions in the group's own list of entries.

    >>> positions(((7, 8), (3, 4)))
    ((0, 1), (2, 3))
    """
    counter = iter(range(sum(len(ball) for ball in group)))
    return tuple(tuple(next(counter) for _ in ball) for ball in group)


def _of_group(belief: Gaussian, group: Group, channel: AdditiveGaussian) -> tuple[float, Array]:
    entries = tuple(entry for ball in group for entry in ball)
    information = fisher_information(belief, channel, entries)
    if information.infinite:
        return math.inf, np.zeros(0)
    worst = worst_pair(information.matrix, positions(group), 1.0, support=information.support)
    return worst.value * (1 + information.relative_error), worst.witness
