"""The convex program whose solution is the best noise for any collection of blocks."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from sfumato.errors import SolverFailed
from sfumato.matrices.matrix import Array
from sfumato.questions import Displacements
from sfumato_gaussian_noise.design import (
    Block,
    Indices,
    Solution,
    Witness,
    entries_of_single_groups,
)

# Share of the largest eigenvalue of the priors below which a direction is left out of the program,
# in turn: rounding hides it. What leaving it out costs shows in the measured loss.
NEGLIGIBLE = (1e-14, 1e-12, 1e-13, 1e-11)
# Weights below this share of the total belong to displacements that are not among the worst.
LIGHT = 1e-9
# Largest difference, in units of the largest entry, between a block and its mirror image.
ALIKE = 1e-9


def _solve(problem: Any) -> None:
    """Solve a cvxpy problem, or raise `SolverFailed`; what comes of it is certified elsewhere."""
    import cvxpy as cp

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the status is read below, whatever is printed
        try:
            problem.solve(solver=cp.CLARABEL)
        except (cp.error.SolverError, ValueError, ArithmeticError) as error:
            raise SolverFailed("CLARABEL must solve the noise program; it broke down.") from error
    if problem.status not in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
        raise SolverFailed(
            f"CLARABEL must solve the noise program; its status is {problem.status!r}."
        )


def best_noise(
    blocks: Sequence[Block],
    budget: float,
    negligible: float = NEGLIGIBLE[0],
    *,
    independent: Indices | None = None,
    space: Array | None = None,
    even: float = 0.0,
) -> Solution:
    """Return the noise with the smallest worst loss over the blocks, as the solver sees it.

    With δᵀMδ = max_y 2 yᵀAδ − yᵀ(C + Γ)y, a multiplier N for every block's constraint
    blkdiag(d_k I) ⪰ M, T = Y N, and the minimum over Γ of total variance B taken, the problem is

        max  Σ_j [2 tr(T_jᵀA_j) − tr(T_jᵀC_j T_j N_j⁻¹)] − B t
        s.t. [[t I, T], [Tᵀ, blkdiag(N_j)]] ⪰ 0,  tr (N_j)_kk = μ_j for every ball k,  Σ μ_j = 1 .

    Γ is the multiplier of the n × n corner of the matrix inequality. No prior is inverted.
    It is solved in the directions in which some prior has variance at all, in units of B, and for
    shifts A scaled to a value near one: the optimal Γ does not depend on that scale.
    With `independent`, Γ is restricted as in `dual_bound`; with the basis of a `space`, to that
    space, in which noise of the variance `even` is everywhere. N_j is a
    number μ_j where a block has one displacement.

    Blocks of one displacement each that come with their mirror images are solved at half the size:
    with J the reversal of time, averaging a solution with its image leaves T_Jj = J T_j and
    μ_Jj = μ_j. Then Σ_j T_j T_jᵀ/μ_j commutes with J, so the matrix inequality falls into one for
    even vectors and one for odd ones, each with one column for a pair of blocks.
    """
    partners = mirror_partners(blocks) if independent is None and space is None else None
    mirrored = partners is not None
    bases = [space] if space is not None else _bases(blocks, negligible, independent, mirrored)
    images = list(range(len(blocks))) if partners is None else partners
    program = _Program(blocks, images, bases, budget=budget, even=even, independent=independent)
    _solve(program.problem)
    factor, extra = program.noise()
    return Solution(factor, program.witnesses(), extra)


def _bases(
    blocks: Sequence[Block], negligible: float, independent: Indices | None, mirrored: bool
) -> list[Array]:
    """Return an orthonormal basis of where a block moves or fluctuates; of even and odd vectors."""
    spreads = {id(block.spread): block.spread for block in blocks}
    total = np.sum([s / max(np.trace(s), 1e-300) for s in spreads.values()], axis=0)
    for block in blocks:
        total = total + block.shifts @ block.shifts.T / np.sum(block.shifts**2)
    if independent is not None:
        total[independent] = 0.0
        total[:, independent] = 0.0
    least = negligible * float(np.linalg.eigvalsh(symmetric(total))[-1])
    size = len(total)
    halves = [np.eye(size)]
    if mirrored:
        sides = [np.linalg.eigh(np.eye(size) + sign * np.eye(size)[::-1]) for sign in (1.0, -1.0)]
        halves = [vectors[:, values > 1] for values, vectors in sides]
    bases = []
    for half in halves:
        values, vectors = np.linalg.eigh(symmetric(half.T @ total @ half))
        bases.append(np.asarray(half @ vectors[:, (values > least) & (values > 0)]))
    return bases


class _Program:
    """The program, with one block for each of a pair of mirror images, and what its solution says.

    The columns T are coordinates about the bases and, below them, values on independent entries.
    """

    def __init__(
        self,
        blocks: Sequence[Block],
        images: Sequence[int],
        bases: Sequence[Array],
        *,
        budget: float,
        even: float,
        independent: Indices | None,
    ) -> None:
        import cvxpy as cp

        self.blocks, self.images = blocks, images
        self.budget, self.independent = budget, independent
        self.bases = [base for base in bases if base.shape[1]]
        self.chosen = [j for j, image in enumerate(images) if j <= image]
        counts = np.array([1.0 if images[j] == j else 2.0 for j in self.chosen])
        size = len(blocks[0].spread)
        own = np.eye(size)[:, [] if independent is None else independent]
        # Orthonormal, as the bases are zero on the independent entries.
        self.basis = np.hstack([*self.bases, own])
        rank = self.basis.shape[1] - own.shape[1]
        self.ends = np.cumsum([0, *(blocks[j].shifts.shape[1] for j in self.chosen)])
        self.columns = cp.Variable((self.basis.shape[1], int(self.ends[-1])))
        shares, price = cp.Variable(len(self.chosen), nonneg=True), cp.Variable()
        self.weights: list[Any] = []
        self.shared_out: list[Any] = []
        apart: list[Any] = []
        objective, constraints = -price, [counts @ shares == 1]
        roots = self._roots(even)
        moved = [self.basis.T @ blocks[j].shifts for j in self.chosen]
        self.unit = max(_least(a, roots[j]) for a, j in zip(moved, self.chosen, strict=True))
        for place, j in enumerate(self.chosen):
            block, share, mine = blocks[j], shares[place], self._of(self.columns, place)
            weight, shared_out, held = _multiplier(block, shares[place : place + 1])
            self.weights.append(weight)
            self.shared_out.append(shared_out)
            gain = 2 * cp.sum(cp.multiply(moved[place] / self.unit, mine))
            constraints += held
            if roots[j].size:
                lost, held = _fraction(roots[j] @ mine, weight, share)
                gain, constraints = gain - lost, constraints + held
            objective += counts[place] * gain
            if own.size:
                lost, held = _fraction(mine[rank:], weight, share)
                apart, constraints = [*apart, lost], constraints + held
        self.inequalities, start = [], 0
        corner = cp.diag(shares) if len(self.chosen) == self.ends[-1] else _corner(self.weights)
        for base in self.bases:
            rows = self.columns[start : start + base.shape[1]]
            start += base.shape[1]
            if np.any(counts > 1):
                rows = rows @ np.diag(np.sqrt(counts))
            square = price * np.eye(base.shape[1])
            self.inequalities.append(cp.bmat([[square, rows], [rows.T, corner]]) >> 0)
        alone = np.flatnonzero(counts == 1).tolist()
        if len(self.bases) > 1 and alone:  # a block that is its own image moves even vectors only
            constraints.append(self.columns[self.bases[0].shape[1] :, alone] == 0)
        self.apart = cp.sum(cp.hstack(apart)) / own.shape[1] <= price if apart else None
        constraints += self.inequalities + ([] if self.apart is None else [self.apart])
        self.problem = cp.Problem(cp.Maximize(objective), constraints)

    def _roots(self, even: float) -> dict[int, Array]:
        """Return, for each chosen block, R with RᵀR = C about the basis, in units of the budget."""
        found: dict[int, Array] = {}
        for j in self.chosen:
            spread = self.blocks[j].spread
            if id(spread) not in found:
                inner = self.basis.T @ spread @ self.basis / self.budget
                found[id(spread)] = _root(inner + even * np.eye(len(inner)))
        return {j: found[id(self.blocks[j].spread)] for j in self.chosen}

    def _of(self, columns: Any, place: int) -> Any:
        """Return the columns of one block."""
        return columns[:, self.ends[place] : self.ends[place + 1]]

    def noise(self) -> tuple[Array, Array | None]:
        """Return L and the extra variances with Γ = L Lᵀ + diag(extra), of total B."""
        parts, extra = [np.zeros((len(self.basis), 0))], None
        for base, inequality in zip(self.bases, self.inequalities, strict=True):
            rank = base.shape[1]
            values, vectors = np.linalg.eigh(symmetric(inequality.dual_value[:rank, :rank]))
            kept = values > 1e-10 * max(float(values[-1]), 1e-300)
            parts.append(base @ (vectors[:, kept] * np.sqrt(values[kept])))
        factor = np.hstack(parts)
        total = float(np.sum(factor**2))
        if self.independent is not None and self.apart is not None:
            factor[self.independent] = 0.0  # but for rounding they are
            extra = np.zeros(len(factor))
            extra[self.independent] = float(self.apart.dual_value) / self.independent.size
            total += float(np.sum(extra))
            extra *= self.budget / total
        return factor * np.sqrt(self.budget / total), extra

    def witnesses(self) -> tuple[Witness, ...]:
        """Return the displacements that carry weight: each N_j as a mixture of their squares.

        Their readings are the columns of Y_j = T_j N_j⁻¹, in units of the budget as the program is.
        Weights are in units of Σ_j max_k tr (N_j)_kk, so that every point becomes feasible,
        whatever slack the solver left.
        """
        readings = self.unit * (self.basis @ self.columns.value)
        found: list[Witness] = []
        mass = 0.0
        for place, j in enumerate(self.chosen):
            block, image = self.blocks[j], self.images[j]
            shares, directions = _mixture(block, self.weights[place], self.shared_out[place])
            multiplier = directions.T @ (shares[:, None] * directions)
            squares = shares @ directions**2
            own = max(float(np.sum(squares[list(ball)])) for ball in block.balls)
            mass += own if image == j else 2 * own
            inverse = np.linalg.pinv(multiplier, rcond=LIGHT, hermitian=True)
            ways = directions @ (self._of(readings, place) @ inverse).T
            for share, direction, way in zip(shares.tolist(), directions, ways, strict=True):
                found.append(Witness(share, block.along(direction), way, j))
                if image != j:
                    other = self.blocks[image].along(direction)
                    found.append(Witness(share, other, way[::-1], image))
        return tuple(
            attrs.evolve(witness, weight=witness.weight / mass)
            for witness in found
            if witness.weight > LIGHT * mass
        )


def _least(shifts: Array, root: Array) -> float:
    """Return λ_max(Aᵀ(C + I)⁻¹A)^½: in units of the budget, no noise brings a block below it."""
    total = root.T @ root + np.eye(len(shifts))
    found = symmetric(shifts.T @ np.linalg.solve(total, shifts))
    return math.sqrt(float(np.linalg.eigvalsh(found)[-1]))


def _multiplier(block: Block, share: Any) -> tuple[Any, Any, list[Any]]:
    """Return N_j, the weights of the displacements it is a mixture of, and what ties them.

    Where every ball is an interval, N is a mixture of squares v vᵀ of sign vectors, so that the
    bound is one on the loss itself and not only on its dual.
    """
    import cvxpy as cp

    count = block.shifts.shape[1]
    if count == 1:
        return cp.diag(share), None, []
    weight = cp.Variable((count, count), PSD=True)
    if block.signs is None:
        return weight, None, [sum(weight[i, i] for i in ball) == share for ball in block.balls]
    shared_out = cp.Variable(len(block.signs), nonneg=True)
    squares = block.signs[:, :, None] * block.signs[:, None, :]
    mixed = cp.reshape(squares.reshape(len(squares), -1).T @ shared_out, weight.shape, order="C")
    return weight, shared_out, [weight == mixed, cp.sum(shared_out) == share]


def _mixture(block: Block, weight: Any, shared_out: Any) -> tuple[Array, Array]:
    """Return weights and displacements (as rows) whose squares add up to N."""
    if shared_out is not None and block.signs is not None:
        return np.maximum(shared_out.value, 0.0), block.signs
    values, vectors = np.linalg.eigh(symmetric(np.asarray(weight.value)))
    return np.maximum(values, 0.0), np.asarray(vectors.T)


def _fraction(columns: Any, weight: Any, share: Any) -> tuple[Any, list[Any]]:
    """Return tr(XᵀX N⁻¹) for the columns X of a block, and its constraints: one small cone a row.

    tr(XᵀX N⁻¹) is the least Σ h_i with [[h_i, x_i], [x_iᵀ, N]] ⪰ 0 for every row x_i.
    """
    import cvxpy as cp

    if weight.shape == (1, 1):
        return cp.quad_over_lin(columns, share), []
    heights, rows = cp.Variable((columns.shape[0], 1)), cp.Variable(columns.shape)
    cones = [
        cp.bmat([[heights[i : i + 1], rows[i : i + 1]], [rows[i : i + 1].T, weight]]) >> 0
        for i in range(columns.shape[0])
    ]
    return cp.sum(heights), [rows == columns, *cones]


def _corner(weights: Sequence[Any]) -> Any:
    """Return the block diagonal matrix of all N_j."""
    import cvxpy as cp

    def block(one: Any, other: Any) -> Any:
        return one if one is other else np.zeros((one.shape[0], other.shape[0]))

    return cp.bmat([[block(one, other) for other in weights] for one in weights])


def symmetric(matrix: Array) -> Array:
    """Return the symmetric part."""
    return np.asarray((matrix + matrix.T) / 2)


def _root(spread: Array) -> Array:
    """Return R with RᵀR = C, one row for each direction of positive variance."""
    values, vectors = np.linalg.eigh(symmetric(spread))
    kept = values > 1e-16 * max(float(values.max(initial=0.0)), 0.0)
    return np.asarray(np.sqrt(values[kept])[:, None] * vectors[:, kept].T)


# Mirror images ------------------------------------------------------------------------------------


def mirror_partners(blocks: Sequence[Block]) -> list[int] | None:
    """Return, for each block of one displacement, the position of its mirror image; None without.

    The images need only be alike: what comes of them is certified with the blocks themselves.
    """
    if any(block.shifts.shape[1] > 1 for block in blocks):
        return None
    shifts = np.stack([block.shifts[:, 0] for block in blocks])
    found: list[int] = []
    for block in blocks:
        image, spread = block.shifts[::-1, 0], block.spread[::-1, ::-1]
        off = np.max(np.abs(shifts - image), axis=1)
        near = np.flatnonzero(off <= ALIKE * np.max(np.abs(image))).tolist()
        size = ALIKE * max(float(np.max(np.abs(spread))), 1e-300)
        alike = [j for j in near if np.max(np.abs(blocks[j].spread - spread)) <= size]
        free = [j for j in alike if j not in found]
        if not free:
            return None
        found.append(free[0])
    involution = all(found[found[position]] == position for position in range(len(found)))
    return found if involution else None


def mirror_groups(question: Displacements, size: int) -> dict[int, int]:
    """Return the mirror image of every group, if all are single entries that come with theirs."""
    entries = entries_of_single_groups(question)
    named = [] if entries is None else list(zip(entries.tolist(), question.radii, strict=True))
    places = {name: place for place, name in enumerate(named)}
    images = [places.get((size - 1 - entry, radius)) for entry, radius in named]
    found = {place: image for place, image in enumerate(images) if image is not None}
    return found if len(found) == len(named) else {}
