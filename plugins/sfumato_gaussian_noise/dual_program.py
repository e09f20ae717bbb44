"""The convex program whose solution is the best noise for any collection of blocks."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.errors import SolverFailed
from sfumato.inference.gaussian.worst_pair import is_scalar
from sfumato.matrices.matrix import Array
from sfumato.questions import Displacements
from sfumato_gaussian_noise.blocks import Block
from sfumato_gaussian_noise.design_task import Solution, Witness
from sfumato_gaussian_noise.reading_space import ReadingSpace


def solve(problem: Any, solver: str, name: str, *, verified: bool = False, **options: Any) -> None:
    """Solve a cvxpy problem to optimality, or raise `SolverFailed` with solver and status.

    Where the caller has the result `verified` by other means, one that the solver itself calls
    inaccurate is let through to that.

    >>> import cvxpy as cp
    >>> x = cp.Variable()
    >>> solve(cp.Problem(cp.Minimize(x), [x >= 1]), "CLARABEL", "a toy")
    >>> solve(cp.Problem(cp.Minimize(x)), "CLARABEL", "a toy")
    Traceback (most recent call last):
    sfumato.errors.SolverFailed: CLARABEL must solve a toy; its status is 'unbounded'.
    """
    import cvxpy as cp

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the status is read below, whatever is printed
        try:
            problem.solve(solver=solver, **options)
        except (cp.error.SolverError, ValueError, ArithmeticError) as error:
            raise SolverFailed(f"{solver} must solve {name}; it broke down.") from error
    accepted = (cp.OPTIMAL, cp.OPTIMAL_INACCURATE) if verified else (cp.OPTIMAL,)
    if problem.status not in accepted:
        raise SolverFailed(f"{solver} must solve {name}; its status is {problem.status!r}.")


ATTEMPTS = (("CLARABEL", 1e-14), ("CLARABEL", 1e-12), ("SCS", 1e-12))
"""Solvers in turn, and the share of the largest eigenvalue of the priors below which a direction is
left out: rounding hides it. What leaving it out costs shows in the measured loss."""

FEW = 11
"""Up to this many signs all sign vectors are listed."""

LIGHT = 1e-9
"""Weights below this share of the total belong to displacements that are not among the worst."""


@attrs.frozen(eq=False)
class _Parts:
    """The program's variables: for block j the columns T_j = Y_j N_j, and the weights N_j."""

    basis: Array  # (n, r), orthonormal
    columns: Any
    weights: list[Any]
    price: Any
    lmi: Any
    apart: Any  # the constraint on the secret's own noise, or None

    def factor(self, size: int, independent: NDArray[np.intp] | None) -> tuple[Array, Array | None]:
        """Return L and the extra variances with Γ = L Lᵀ + diag(extra), of total one."""
        rank = self.basis.shape[1]
        values, vectors = np.linalg.eigh(symmetric(self.lmi.dual_value[:rank, :rank]))
        kept = values > 1e-10 * max(float(values.max(initial=0.0)), 1e-300)
        factor = self.basis @ (vectors[:, kept] * np.sqrt(values[kept]))
        extra = None
        total = float(np.sum(factor**2))
        if independent is not None:
            factor[independent] = 0.0  # but for rounding they are
            extra = np.zeros(size)
            extra[independent] = float(self.apart.dual_value) / independent.size
            total += float(np.sum(extra))
        return factor / np.sqrt(total), None if extra is None else extra / total


def best_noise(
    blocks: Sequence[Block],
    budget: float,
    independent: NDArray[np.intp] | None = None,
    attempt: tuple[str, float] = ATTEMPTS[0],
    space: ReadingSpace | None = None,
) -> Solution:
    """Return the noise with the smallest worst loss over the blocks, as the solver sees it.

    With δᵀMδ = max_y 2 yᵀAδ − yᵀ(C + Γ)y, a multiplier N for every block's constraint
    blkdiag(d_k I) ⪰ M, T = Y N, and the minimum over Γ of total variance B taken, the problem is

        max  Σ_j [2 tr(T_jᵀA_j) − tr(T_jᵀC_j T_j N_j⁻¹)] − B t
        s.t. [[t I, T], [Tᵀ, blkdiag(N_j)]] ⪰ 0,  tr (N_j)_kk = μ_j for every ball k,  Σ μ_j = 1 .

    Γ is the multiplier of the n × n corner of the matrix inequality. No prior is inverted.
    It is solved in units of B, and in the directions in which some prior has variance at all.
    With `independent`, Γ is restricted as in `dual_bound`; with a `space`, to that space.

    >>> block = Block(np.ones((1, 1)), np.zeros((1, 1)), ((0,),), np.zeros((1, 1)), np.zeros(1))
    >>> bool(abs(best_noise([block], 4.0).factor ** 2 - 4.0) < 1e-6)
    True
    """
    solver, negligible = attempt
    basis = _basis(blocks, negligible, independent) if space is None else space.basis(blocks)
    even = 0.0 if space is None else space.floor / len(basis)
    parts, problem = _program(blocks, basis, budget, independent, even)
    solve(problem, solver, "the noise program", verified=True, **solver_options(solver))
    factor, extra = parts.factor(blocks[0].shifts.shape[0], independent)
    return Solution(
        factor * np.sqrt(budget),
        _witnesses(blocks, parts),
        None if extra is None else extra * budget,
    )


def solver_options(solver: str) -> dict[str, Any]:
    """Return the settings under which a solver is accurate enough and ends."""
    return {"eps": 1e-8, "max_iters": 10_000} if solver == "SCS" else {}


def _basis(
    blocks: Sequence[Block], negligible: float, independent: NDArray[np.intp] | None
) -> Array:
    """Return an orthonormal basis of the directions in which a block moves or fluctuates."""
    total = directions(blocks)
    if independent is not None:
        total[independent] = 0.0
        total[:, independent] = 0.0
    return orthonormal(total, negligible * float(np.linalg.eigvalsh(total)[-1]))


def directions(blocks: Sequence[Block]) -> Array:
    """Return a matrix whose range is where some block moves or fluctuates."""
    spreads = {id(block.spread): block.spread for block in blocks}
    total = sum(spread / max(np.trace(spread), 1e-300) for spread in spreads.values())
    for block in blocks:
        total = total + block.shifts @ block.shifts.T / np.sum(block.shifts**2)
    return symmetric(np.asarray(total))


def orthonormal(matrix: Array, least: float) -> Array:
    """Return the eigenvectors of the eigenvalues above `least`, if that is positive."""
    values, vectors = np.linalg.eigh(symmetric(matrix))
    return np.asarray(vectors[:, (values > least) & (values > 0)])


def _program(
    blocks: Sequence[Block],
    basis: Array,
    budget: float,
    independent: NDArray[np.intp] | None,
    even: float,
) -> tuple[_Parts, Any]:
    import cvxpy as cp

    counts = [block.shifts.shape[1] for block in blocks]
    n, rank, width = basis.shape[0], basis.shape[1], sum(counts)
    columns, price = cp.Variable((rank, width)), cp.Variable()
    own = np.zeros((n, 0)) if independent is None else np.eye(n)[:, independent]
    apart_columns = cp.Variable((own.shape[1], width)) if own.shape[1] else None
    weights, constraints, shares = _weights(blocks)
    roots: dict[int, Array] = {}
    whole = np.hstack([basis, own])  # orthonormal: the basis is zero on the independent entries
    objective, start = -price, 0
    apart_terms = []
    for block, count, weight in zip(blocks, counts, weights, strict=True):
        mine = columns[:, start : start + count]
        objective += 2 * cp.sum(cp.multiply(basis.T @ block.shifts, mine))
        every = mine
        if apart_columns is not None:
            other = apart_columns[:, start : start + count]
            objective += 2 * cp.sum(cp.multiply(own.T @ block.shifts, other))
            apart_terms.append(_fraction(other, weight))
            every = cp.vstack([mine, other]) if rank else other
        # Given one group, the independent entries of another still fluctuate: C spans both parts.
        if id(block.spread) not in roots:
            inner = whole.T @ block.spread @ whole / budget
            roots[id(block.spread)] = spread_root(inner + even * np.eye(len(inner)))
        root = roots[id(block.spread)]
        if root.size:
            objective -= _fraction(root @ every, weight)
        start += count
    corner = _block_diagonal(weights)
    lmi = cp.bmat([[price * np.eye(rank), columns], [columns.T, corner]]) >> 0
    constraints += [lmi, sum(shares) == 1]
    apart = None
    if apart_terms:
        apart = cp.sum(cp.hstack(apart_terms)) / own.shape[1] <= price
        constraints.append(apart)
    parts = _Parts(basis, (columns, apart_columns, own), weights, price, lmi, apart)
    return parts, cp.Problem(cp.Maximize(objective), constraints)


def _weights(blocks: Sequence[Block]) -> tuple[list[Any], list[Any], list[Any]]:
    """Return N_j, their constraints, and μ_j; a number for a single displacement."""
    import cvxpy as cp

    weights, constraints, shares = [], [], []
    for block in blocks:
        count = block.shifts.shape[1]
        if count == 1:
            weight: Any = cp.Variable((1, 1), nonneg=True)
            share: Any = weight[0, 0]
        else:
            weight, share = cp.Variable((count, count), PSD=True), cp.Variable(nonneg=True)
            constraints += [sum(weight[i, i] for i in ball) == share for ball in block.balls]
        weights.append(weight)
        shares.append(share)
    return weights, constraints, shares


def _fraction(columns: Any, weight: Any) -> Any:
    """Return tr(XᵀX N⁻¹) for the columns X of a block."""
    import cvxpy as cp

    if weight.shape == (1, 1):
        return cp.quad_over_lin(columns, weight[0, 0])
    return cp.matrix_frac(columns.T, weight)


def _block_diagonal(weights: Sequence[Any]) -> Any:
    import cvxpy as cp

    if all(weight.shape == (1, 1) for weight in weights):
        return cp.diag(cp.hstack([weight[0, 0] for weight in weights]))
    rows = []
    for i, weight in enumerate(weights):
        k = weight.shape[0]
        rows.append(
            [weight if i == j else np.zeros((k, other.shape[0])) for j, other in enumerate(weights)]
        )
    return cp.bmat(rows)


def spread_root(spread: Array) -> Array:
    """Return R with RᵀR = C, one row for each direction of positive variance."""
    values, vectors = np.linalg.eigh(symmetric(spread))
    kept = values > 1e-16 * max(float(values[-1]), 0.0) if values.size else values > 0
    return np.asarray(np.sqrt(values[kept])[:, None] * vectors[:, kept].T)


def _witnesses(blocks: Sequence[Block], parts: _Parts) -> tuple[Witness, ...]:
    """Return the displacements that carry weight: each N_j as a mixture of their squares.

    Their readings are the columns of Y_j = T_j N_j⁻¹. Weights are in units of
    Σ_j max_k tr (N_j)_kk, so that every point becomes feasible, whatever slack the solver left.
    """
    columns, apart, own = parts.columns
    readings = parts.basis @ columns.value
    if apart is not None:
        readings = readings + own @ apart.value
    found: list[Witness] = []
    mass, start = 0.0, 0
    for source, (block, weight) in enumerate(zip(blocks, parts.weights, strict=True)):
        multiplier = _semidefinite(weight.value)
        mine = readings[:, start : start + multiplier.shape[0]]
        start += multiplier.shape[0]
        shares, directions = _mixture(block, multiplier)
        mass += _mass(block, shares, directions)
        # The program was solved in units of the budget, as a witness reads.
        ways = mine @ np.linalg.pinv(multiplier, rcond=LIGHT, hermitian=True)
        found += [
            Witness(share, block.along(direction), ways @ direction, source)
            for share, direction in zip(shares.tolist(), directions, strict=True)
        ]
    return tuple(
        attrs.evolve(witness, weight=witness.weight / mass)
        for witness in found
        if witness.weight > LIGHT * mass
    )


def _mixture(block: Block, multiplier: Array) -> tuple[Array, Array]:
    """Return weights and displacements (as rows) whose squares add up to N, or nearly.

    Where every ball is an interval, the displacements are signs, so that the bound is one on the
    loss itself and not only on its dual: N need not be such a mixture, so the nearest is taken.
    Else they are the eigenvectors of N.
    """
    count = multiplier.shape[0]
    if count == 1 or not block.is_box:
        values, vectors = np.linalg.eigh(multiplier)
        return values, vectors.T
    from scipy.optimize import nnls

    signs = _likely_signs(multiplier)
    upper = np.triu_indices(count)
    squares = signs[:, upper[0]] * signs[:, upper[1]]
    shares, _ = nnls(squares.T, multiplier[upper])
    return np.asarray(shares), signs


def _likely_signs(multiplier: Array) -> Array:
    """Return all sign vectors of a few entries; of many, those of draws from N(0, N)."""
    count = multiplier.shape[0]
    if count <= FEW:
        codes = np.arange(2 ** (count - 1))[:, None] >> np.arange(count) & 1
        return np.asarray(1.0 - 2.0 * codes)
    rng = np.random.default_rng(0)  # a search, not a release: it must give the same answer twice
    values, vectors = np.linalg.eigh(multiplier)
    draws = rng.standard_normal((2**FEW, count)) @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
    return np.unique(np.where(draws * draws[:, :1] >= 0, 1.0, -1.0), axis=0)


def _mass(block: Block, shares: Array, directions: Array) -> float:
    """Return the largest squared length that the mixture gives to any ball."""
    squares = shares @ directions**2
    return max(float(np.sum(squares[list(ball)])) for ball in block.balls)


def _semidefinite(weight: Array) -> Array:
    """Return the nearest semidefinite matrix."""
    values, vectors = np.linalg.eigh(symmetric(weight))
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)


def symmetric(matrix: Array) -> Array:
    """Return the symmetric part."""
    return np.asarray((matrix + matrix.T) / 2)


ALIKE = 1e-9
"""Largest difference, in units of the largest entry, between a block and its mirror image."""

Partners = list[int]


def mirror_partners(blocks: Sequence[Block]) -> Partners | None:
    """Return, for each block of one displacement, the position of its mirror image; None without.

    The images need only be alike: what comes of them is certified with the blocks themselves.

    >>> one = Block(np.eye(2)[:, :1], np.zeros((2, 2)), ((0,),), np.zeros((2, 1)), np.zeros(2))
    >>> other = Block(np.eye(2)[:, 1:], np.zeros((2, 2)), ((0,),), np.zeros((2, 1)), np.zeros(2))
    >>> mirror_partners([one, other])
    [1, 0]
    """
    if any(block.shifts.shape[1] > 1 for block in blocks):
        return None
    shifts = np.stack([block.shifts[:, 0] for block in blocks])
    found: Partners = []
    for block in blocks:
        image, spread = block.shifts[::-1, 0], block.spread[::-1, ::-1]
        off = np.max(np.abs(shifts - image), axis=1)
        near = np.flatnonzero(off <= ALIKE * np.max(np.abs(image))).tolist()
        size = max(float(np.max(np.abs(spread))), 1e-300)
        partner = next(
            (
                j
                for j in near
                if j not in found and np.max(np.abs(blocks[j].spread - spread)) <= ALIKE * size
            ),
            None,
        )
        if partner is None:
            return None
        found.append(partner)
    involution = all(found[found[position]] == position for position in range(len(found)))
    return found if involution else None


def mirror_groups(question: Displacements, size: int) -> dict[int, int]:
    """Return the mirror image of every group, if all are single entries that come with theirs.

    >>> mirror_groups(Displacements((((0,),), ((2,),), ((1,),)), 1.0), 3)
    {0: 1, 1: 0, 2: 2}
    """
    if not all(is_scalar(group) for group in question.groups):
        return {}
    named = [(group[0][0], r) for group, r in zip(question.groups, question.radii, strict=True)]
    places = {name: place for place, name in enumerate(named)}
    images = [places.get((size - 1 - entry, radius)) for entry, radius in named]
    found = {place: image for place, image in enumerate(images) if image is not None}
    return found if len(found) == len(named) else {}


def mirrored_noise(
    blocks: Sequence[Block], partners: Partners, budget: float, attempt: tuple[str, float]
) -> Solution:
    """Return what `best_noise` does, for blocks that come with their mirror images.

    With J the reversal of time, averaging a solution with its image leaves T_Jj = J T_j and
    μ_Jj = μ_j. Then Σ_j T_j T_jᵀ/μ_j commutes with J, so the matrix inequality falls into one for
    even vectors and one for odd ones, each with one column for a pair of blocks.

    >>> one = Block(np.eye(2)[:, :1], np.zeros((2, 2)), ((0,),), np.zeros((2, 1)), np.zeros(2))
    >>> other = Block(np.eye(2)[:, 1:], np.zeros((2, 2)), ((0,),), np.zeros((2, 1)), np.zeros(2))
    >>> noise = mirrored_noise([one, other], [1, 0], 4.0, ("CLARABEL", 1e-14)).factor
    >>> (noise @ noise.T).round(4) + 0.0
    array([[2., 0.],
           [0., 2.]])
    """
    import cvxpy as cp

    solver, negligible = attempt
    parts = _bases(blocks, negligible)
    orbits = [j for j, partner in enumerate(partners) if j <= partner]
    counts = np.array([1.0 if partners[j] == j else 2.0 for j in orbits])
    whole = np.hstack(parts)
    columns = cp.Variable((whole.shape[1], len(orbits)))
    shares, price = cp.Variable(len(orbits), nonneg=True), cp.Variable()
    objective: Any = -price
    for place, j in enumerate(orbits):
        mine = columns[:, place]
        gain = 2 * (whole.T @ blocks[j].shifts[:, 0]) @ mine
        root = spread_root(whole.T @ blocks[j].spread @ whole / budget)
        if root.size:
            gain -= cp.quad_over_lin(root @ mine, shares[place])
        objective += counts[place] * gain
    inequalities, start = [], 0
    for part in parts:
        rows = columns[start : start + part.shape[1], :] @ np.diag(np.sqrt(counts))
        corner = price * np.eye(part.shape[1])
        inequalities.append(cp.bmat([[corner, rows], [rows.T, cp.diag(shares)]]) >> 0)
        start += part.shape[1]
    odd = [place for place, count in enumerate(counts) if count == 1]
    constraints = [*inequalities, counts @ shares == 1]
    if odd:  # a block that is its own image moves even vectors only
        constraints.append(columns[parts[0].shape[1] :, odd] == 0)
    problem = cp.Problem(cp.Maximize(objective), constraints)
    solve(problem, solver, "the noise program", verified=True, **solver_options(solver))
    factor = np.hstack([_factor(p, q) for p, q in zip(parts, inequalities, strict=True)])
    factor *= np.sqrt(budget) / np.linalg.norm(factor)
    readings = whole @ columns.value
    return Solution(factor, _mirrored_witnesses(blocks, partners, orbits, readings, shares.value))


def _bases(blocks: Sequence[Block], negligible: float) -> list[Array]:
    """Return bases of the even and of the odd vectors in which some block moves or fluctuates."""
    total = directions(blocks)
    size, largest = len(total), float(np.linalg.eigvalsh(total)[-1])
    flip = np.eye(size)[::-1]
    parts = []
    for sign in (1.0, -1.0):
        values, vectors = np.linalg.eigh((np.eye(size) + sign * flip) / 2)
        half = vectors[:, values > 0.5]
        parts.append(half @ orthonormal(half.T @ total @ half, negligible * largest))
    return parts


def _factor(part: Array, inequality: Any) -> Array:
    """Return L with L Lᵀ the multiplier of the inequality's corner."""
    rank = part.shape[1]
    if rank == 0:
        return part
    values, vectors = np.linalg.eigh(symmetric(inequality.dual_value[:rank, :rank]))
    return np.asarray(part @ (vectors * np.sqrt(np.maximum(values, 0.0))))


def _mirrored_witnesses(
    blocks: Sequence[Block], partners: Partners, orbits: list[int], readings: Array, shares: Array
) -> tuple[Witness, ...]:
    found = []
    for place, j in enumerate(orbits):
        weight = max(float(shares[place]), 0.0)
        if weight <= LIGHT * float(np.max(shares)):
            continue
        reading = readings[:, place] / weight
        found.append((weight, blocks[j], reading, j))
        if partners[j] != j:
            found.append((weight, blocks[partners[j]], reading[::-1], partners[j]))
    mass = sum(weight for weight, *_ in found)
    return tuple(
        Witness(weight / mass, block, np.array(reading), source)
        for weight, block, reading, source in found
    )
