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
from sfumato.errors import ParameterError, Undecidable
from sfumato.inference.gaussian.fisher_information import (
    EXACT,
    Information,
    fisher_information,
    too_long,
)
from sfumato.inference.gaussian.interval_classes import GroupBounds
from sfumato.inference.gaussian.scalar_informations import (
    noise_shaped_like_the_prior,
    scalar_informations,
)
from sfumato.matrices.matrix import MAX_DENSE, ROUNDOFF, Array, Matrix, finite_array
from sfumato.questions.displacements import Displacements, Group

Balls: TypeAlias = tuple[NDArray[np.intp], ...]

RESTARTS, STEPS = 128, 500  # starting points of the local search, and its most steps
MAX_SIGNS = 20  # largest number of one-entry balls for which all sign vectors are compared
MOST_GROUPS = 64  # groups of a long trace that are read one by one
# Relative gap at which a value attained and a certified bound count as the same number.
AGREEMENT = 1e-9


@attrs.frozen(eq=False)
class WorstSquares:
    """For each group j of a question, r_j² sup ΔᵀM_jΔ over unit balls: the loss at order 2."""

    values: Array  # where `exact`, right to within `errors`; else upper bounds
    errors: Array  # certified relative errors; 0.0 where the value is an upper bound
    exact: NDArray[np.bool_]
    attained: Array  # where not exact, what some displacement attains
    # For each group a Δ (close to) the worst, in units of the radius; empty for an infinite loss.
    displacements: Sequence[Array]
    hows: Sequence[str]
    informations: Sequence[Information]  # M_j, about the entries of each group

    @property
    def ceilings(self) -> Array:
        """Values that the true ones do not exceed."""
        return self.values * (1 + self.errors)

    @property
    def floors(self) -> Array:
        """Values that the true ones do not fall below."""
        return np.where(self.exact, self.values * (1 - self.errors), self.attained)

    @property
    def worst(self) -> int:
        """The group with the largest value."""
        return int(np.argmax(self.values))


def worst_squares(
    belief: Gaussian, question: Displacements, channel: AdditiveGaussian
) -> WorstSquares:
    """Return r² sup ΔᵀMΔ of every group, M = V_SS⁻¹ − Σ_SS⁻¹ the gain in precision.

    From one factorisation, or for noise shaped like a long prior from none, where all groups are of
    entries that are learnt apart: single ones, or the coordinates of one time where neither belief
    nor noise ties coordinates to each other.
    """
    groups, together = question.groups, len(question.groups) > 1
    if belief.entries > MAX_DENSE:
        shaped = noise_shaped_like_the_prior(belief, channel.noise)
        together = len(groups) > MOST_GROUPS or (
            shaped is not None and (together or shaped[1] <= EXACT)
        )
    if together and _are_learnt_apart(belief, channel.noise, groups):
        informations, error = scalar_informations(belief, channel)
        if error > EXACT:  # some are upper bounds, and the others certain up to this
            informations = informations * (1 + EXACT)
        own = [informations[list(group[0])] for group in groups]
        units = np.array([values.max() for values in own])
        exact = np.full(len(groups), error <= EXACT)
        errors, attained = np.where(exact, error, 0.0), np.zeros(len(groups))
        displacements: Sequence[Array] = [np.eye(len(v))[int(np.argmax(v))] for v in own]
        hows: Sequence[str] = ("all entries at once",) * len(groups)
        each = [
            Information(np.diag(v), np.eye(len(v)), bool(np.isinf(v).any()), error, hows[0])
            for v in own
        ]
    elif belief.entries > MAX_DENSE and len(groups) > MOST_GROUPS:
        raise too_long(belief)
    else:
        each = [fisher_information(belief, channel, entries_of(group)) for group in groups]
        found = [_worst_of_group(one, group) for one, group in zip(each, groups, strict=True)]
        units = np.array([worst.value for worst, _ in found])
        attained = np.array([worst.attained for worst, _ in found])
        exact = np.array([worst.bound == "exact" for worst, _ in found])
        errors = np.array([error for _, error in found])
        displacements = [worst.witness for worst, _ in found]
        hows = [worst.how for worst, _ in found]
    for radius in set(question.radii):
        multiply(radius, np.array([radius]))  # refuses one whose square vanishes or overflows
    values = multiply(np.square(question.radii), units)
    with np.errstate(over="ignore", under="ignore"):
        attained = np.minimum(np.square(question.radii) * attained, values)
    return WorstSquares(values, errors, exact, attained, displacements, hows, each)


def entries_of(group: Group) -> list[int]:
    """Return the entries of all balls of a group, in order."""
    return [entry for ball in group for entry in ball]


def _are_learnt_apart(belief: Gaussian, noise: Matrix, groups: Sequence[Group]) -> bool:
    """Whether M is diagonal for every group, so that its entries may be read one by one."""
    d = belief.dimensions
    if all(is_scalar(group) for group in groups):
        return True
    apart = belief.covariance.keeps_apart(d) and noise.keeps_apart(d)
    if not apart or np.any(belief.covariance.diagonal() == 0):
        return False
    return all(len(group) == 1 and len({entry // d for entry in group[0]}) == 1 for group in groups)


def _worst_of_group(information: Information, group: Group) -> tuple[WorstPair, float]:
    """Return the worst pair of one product of unit balls, and the relative error of its square."""
    if information.infinite:
        return WorstPair(math.inf, math.inf, np.zeros(0), information.how), 0.0
    worst = worst_pair(information.matrix, positions(group), 1.0, support=information.support)
    worst = attrs.evolve(worst, how=f"{information.how}; {worst.how}")
    if information.bound == "exact":
        error = information.relative_error
        if worst.bound == "exact":
            apart = worst.value - worst.attained
            return worst, error + apart / worst.value if apart > 0 else error
        # A bound is one only above the rounding of M, and what is attained only below it.
        ends = worst.value * (1 + error), max(0.0, worst.attained - error * worst.value)
        return attrs.evolve(worst, value=ends[0], attained=ends[1]), 0.0
    # An M that is itself a bound has been raised already.
    return attrs.evolve(worst, attained=0.0), 0.0


CLOSE = 1e-4  # relative gap of the bound of one of many matrices that is not worth a program
# Balls of one entry up to which all sign vectors are compared for many matrices at once.
FEW_SIGNS = 10


def largest_squares(informations: Array, group: Group) -> Array:
    """Return upper bounds of sup ΔᵀMΔ over a group's unit balls, for many M (count, k, k) at once.

    An M that is not finite has an infinite one.

    >>> import numpy as np
    >>> from sfumato.inference.gaussian.worst_pair import largest_squares
    >>> largest_squares(np.array([[[2.0, 1.0], [1.0, 2.0]]]), ((0,), (1,))).round(9)
    array([6.])
    """
    count, size = informations.shape[:2]
    sound = np.all(np.isfinite(informations), axis=(1, 2))
    values = np.full(count, np.inf)
    safe = informations[sound]
    safe = (safe + np.swapaxes(safe, 1, 2)) / 2
    if len(group) == 1:
        found = np.linalg.eigvalsh(safe)[:, -1] if size > 1 else safe[:, 0, 0]
    elif len(group) == size <= FEW_SIGNS:
        signs = _signs(size)[: 2 ** (size - 1)]
        found = np.max(np.einsum("vi,cij,vj->cv", signs, safe, signs, optimize=True), axis=1)
    else:
        balls = tuple(np.array(ball, dtype=np.intp) for ball in positions(group))
        found = np.array([_unit_radius(matrix, balls, CLOSE).value for matrix in safe])
    # The rounding of the sums and of the eigenvalues, in units of the trace, which is no larger
    # than `size` times the supremum.
    values[sound] = np.maximum(found, 0.0) * (1 + 64 * size**2 * ROUNDOFF)
    return values


def largest_square(question: Displacements, bounds: Sequence[GroupBounds]) -> Array:
    """Return upper bounds of r² sup ΔᵀMΔ over all groups, from many informations of each."""
    pairs = zip(bounds, question.groups, question.radii, strict=True)
    squares = [radius**2 * largest_squares(b.information, group) for b, group, radius in pairs]
    return np.asarray(np.max(squares, axis=0) * (1 + 4 * ROUNDOFF))


def multiply(factors: float | Array, squares: Array) -> Array:
    """Return the products; refuse where one overflows, or all vanish, though no factor does."""
    with np.errstate(over="ignore", under="ignore"):
        products = np.asarray(factors * squares)
    overflows = np.any(np.isinf(products) & np.isfinite(squares))
    if overflows or (not np.any(products) and np.any(squares)):
        raise Undecidable(
            "the loss does not fit float64: use a moderate radius and order, or other units."
        )
    return products


def is_scalar(group: Group) -> bool:
    """Whether the group is one ball of one entry."""
    return len(group) == 1 and len(group[0]) == 1


def positions(group: Group) -> tuple[tuple[int, ...], ...]:
    """Return the balls as positions in the group's own list of entries.

    >>> from sfumato.inference.gaussian.worst_pair import positions
    >>> positions(((7, 8), (3, 4)))
    ((0, 1), (2, 3))
    """
    counter = itertools.count()
    return tuple(tuple(next(counter) for _ in ball) for ball in group)


@attrs.frozen(eq=False)
class WorstPair:
    """The supremum of ΔᵀMΔ over a product of balls: an upper bound, and what a Δ attains."""

    value: float
    attained: float
    witness: Array
    how: str

    @property
    def bound(self) -> Literal["exact", "upper"]:
        """Whether both are the same number."""
        return "exact" if self.attained >= (1 - AGREEMENT) * self.value else "upper"


def worst_pair(
    information: ArrayLike,
    balls: Sequence[Sequence[int]],
    radius: float,
    *,
    support: Array | None = None,
) -> WorstPair:
    """Return the supremum of ΔᵀMΔ over ‖Δ_k‖ ≤ r for every ball k of positions in M.

    One ball: r² λ_max(M). Balls of one entry each: a convex quadratic is maximal at an extreme
    point, so the maximum over sign vectors, all compared up to 20 of them. Else the dual bound
    r² min Σ d_k subject to blkdiag(d_k I) ⪰ M, with every d made feasible before it counts.

    `support` holds orthonormal vectors, on disjoint entries, that span the Δ that the belief
    allows: the copies of each free value. Each is limited by the ball that holds most of it; if
    others hold some, leaving their limits out gives an upper bound, exact if the witness keeps to
    them.

    >>> from sfumato.inference.gaussian.worst_pair import worst_pair
    >>> worst_pair([[2.0, 1.0], [1.0, 2.0]], [(0,), (1,)], 1.0).value
    6.0
    """
    matrix = finite_array(information, "information", 2)
    matrix = (matrix + matrix.T) / 2
    if float(np.linalg.eigvalsh(matrix)[0]) < -1e-9 * float(np.max(np.abs(matrix))):
        raise ParameterError("information must be positive semidefinite; got an indefinite matrix.")
    groups = tuple(np.array(ball, dtype=np.intp) for ball in balls)
    found = _supported(matrix, groups, np.eye(len(matrix)) if support is None else support)
    ends = radius**2 * found.value, radius**2 * found.attained
    return WorstPair(*ends, radius * found.witness, found.how)


def _supported(matrix: Array, balls: Balls, support: Array) -> WorstPair:
    """Return the supremum over the unit balls within the support, at the least a bound of it."""
    size, rank = support.shape
    if rank == size:
        return _unit_radius(matrix, balls)
    if rank == 0:
        return WorstPair(0.0, 0.0, np.zeros(size), "nothing can move")
    shares = np.array([np.sum(np.square(support[ball]), axis=0) for ball in balls])
    owners = np.argmax(shares, axis=0)
    moved = support / np.sqrt(np.max(shares, axis=0))  # Δ for a unit vector of free values
    smaller = [np.flatnonzero(owners == k) for k in range(len(balls))]
    inner = moved.T @ matrix @ moved
    found = _unit_radius((inner + inner.T) / 2, tuple(ball for ball in smaller if ball.size))
    witness = moved @ found.witness
    longest = max(float(np.linalg.norm(witness[ball])) for ball in balls)
    if longest <= 1 + 64 * size * ROUNDOFF:
        return attrs.evolve(found, witness=witness)
    whole = _unit_radius(matrix, balls)  # off the support M vanishes: the smaller bound counts
    witness = witness / longest
    attained = float(witness @ matrix @ witness)
    return WorstPair(min(found.value, whole.value), attained, witness, found.how)


def _unit_radius(matrix: Array, balls: Balls, close: float = AGREEMENT) -> WorstPair:
    if len(balls) == 1:
        values, vectors = np.linalg.eigh(matrix)
        top = float(max(values[-1], 0.0))
        return WorstPair(top, top, vectors[:, -1], "largest eigenvalue")
    scalar = all(ball.size == 1 for ball in balls)
    if scalar and len(balls) <= MAX_SIGNS:
        signs = _best_signs(matrix)
        largest = float(signs @ matrix @ signs)
        return WorstPair(largest, largest, signs, "every sign vector")
    return _bounded(matrix, balls, close)


def _bounded(matrix: Array, balls: Balls, close: float = AGREEMENT) -> WorstPair:
    """Return a certified upper bound, the smallest unless `close`, and a local search's best Δ."""
    # Units in which M is of order one: a power of two, so nothing is rounded.
    trace = float(np.trace(matrix))
    unit = 2.0 ** math.floor(math.log2(trace)) if trace > 0 else 1.0
    scaled = matrix / unit
    witness = local_maximum(scaled, balls)
    attained = float(witness @ scaled @ witness)
    value, how = _best_dual(scaled, balls, witness, close)
    # The dual may have a gap for three balls or more: both ends are told. Less the rounding.
    attained *= 1 - 8 * len(matrix) * ROUNDOFF
    return WorstPair(unit * value, unit * attained, witness, how)


def _best_signs(matrix: Array) -> Array:
    """Return a sign vector v with the largest vᵀMv; v and −v count once.

    With v = (a, b): aᵀM₁₁a + 2 aᵀM₁₂b + bᵀM₂₂b, for all a and b by three matrix products.
    """
    size = matrix.shape[0]
    half = size // 2
    left, right = _signs(half), _signs(size - half)
    right = right[right[:, 0] > 0]
    own = np.einsum("vi,ij,vj->v", left, matrix[:half, :half], left, optimize=True)
    other = np.einsum("vi,ij,vj->v", right, matrix[half:, half:], right, optimize=True)
    values = own[:, None] + other[None, :] + 2 * left @ matrix[:half, half:] @ right.T
    i, j = np.unravel_index(int(np.argmax(values)), values.shape)
    return np.concatenate([left[i], right[j]])


def _signs(count: int) -> Array:
    """Return all sign vectors as rows."""
    bits = (np.arange(2**count)[:, None] >> np.arange(count)) & 1
    return np.asarray(2.0 * bits - 1.0, dtype=np.float64)


def local_maximum(matrix: Array, balls: Balls) -> Array:
    """Return the best Δ of a local search: every step of Δ_k ← (MΔ)_k / ‖(MΔ)_k‖ climbs.

    (By convexity ΔᵀMΔ lies above its tangent, which the step maximises.) Starts are the leading
    eigenvector, the largest ball alone, and fixed pseudo-random directions.
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
        before, values = values, np.sum(points * (matrix @ points), axis=0)
        if np.all(values - before <= 1e-15 * values):
            break
    best = points[:, int(np.argmax(values))]
    return np.asarray(best if best[np.argmax(np.abs(best))] > 0 else -best)


def _best_dual(matrix: Array, balls: Balls, witness: Array, close: float) -> tuple[float, str]:
    """Return the smallest certified bound Σ d_k with blkdiag(d_k I) ⪰ M, and how it was found.

    The multipliers d_k = ‖(MΔ)_k‖ of the witness are tried first; if they prove it optimal, but
    for a share of `close`, no program is solved.
    """
    attained = float(witness @ matrix @ witness)
    gradient = matrix @ witness
    multipliers = np.array([np.linalg.norm(gradient[ball]) for ball in balls])
    value = feasible_value(matrix, balls, multipliers)
    if value - attained <= close * value:
        return value, "multipliers of the witness"
    options = [(value, "multipliers of the witness")]
    solved = _program(matrix, balls)
    if solved is not None:
        options.append((feasible_value(matrix, balls, solved), "dual program, made feasible"))
    return min(options)


def feasible_value(matrix: Array, balls: Balls, multipliers: Array) -> float:
    """Return Σ d_k for multipliers raised, if need be, until blkdiag(d_k I) ⪰ M is certain."""
    size = matrix.shape[0]
    diagonal = np.empty(size)
    for multiplier, ball in zip(multipliers, balls, strict=True):
        diagonal[ball] = multiplier
    difference = np.diag(diagonal) - matrix
    # A margin for the rounding of the eigenvalues, of the difference and of the sums.
    margin = 8 * size * ROUNDOFF * (float(np.trace(matrix)) + float(np.max(np.abs(diagonal))))
    shift = max(0.0, -float(np.linalg.eigvalsh(difference)[0])) + margin
    return float(np.sum(multipliers) + len(balls) * shift) * (1 + 4 * len(balls) * ROUNDOFF)


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
