"""Designing for a class by the displacements that matter: solve for a few, look, add the worst."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import attrs
import numpy as np

from sfumato.errors import OutsideHypotheses, SolverFailed
from sfumato.matrices import Sum
from sfumato.matrices.matrix import Array
from sfumato_gaussian_noise.design import (
    Block,
    Certified,
    DualBound,
    Indices,
    Member,
    Task,
    Violation,
)
from sfumato_gaussian_noise.dual_program import NEGLIGIBLE, best_noise, mirror_groups

ROUNDS = 60  # largest number of programs solved for one design
# Up to this many pairs of a member and a group all enter at once; of more, the worst ones do.
MANY = 8
# The same where most entries are secret, so that most pairs matter, and time may be reversed.
CROWDED = 100
STEP = 4  # pairs that enter in one later round
FEW = 11  # up to this many signs all sign vectors are listed

HIDDEN = 1e-12  # smallest total variance, in units of the prior's, that a program is solved for
# Longer traces are designed in a small space of directions, which follows the design.
WHOLE_SPACE = 256
# Designs in a small space that are not looked at: what tells the secret is not yet in it.
UNLEARNT = 2
# Entries up to which a program in all directions is tried where the small space fails.
LARGEST_PROGRAM = 400
EXCHANGES = 5  # members at most that a proof adds to a design for intervals
AFFORDABLE = 1e-2  # relative gap of a proof up to which the floor of a design is left as it is
FLOOR_STEP, LARGEST_FLOOR = 10.0, 1e-2  # else it is raised by this factor, up to this share


def member_exchange(task: Task) -> Certified:
    """Return noise whose worst loss over the class is within tolerance of the best possible.

    The program is solved for a few members and displacements; the result's losses over the whole
    class are measured exactly; what exceeds the bound enters, what carries no weight leaves once
    the bound has grown (so no set comes twice), until bound and loss meet. Where they do not, the
    best design is returned with the gap that is left.
    """
    entries = task.belief.entries
    variance = max(float(m.belief.covariance.diagonal().max()) for m in task.members.listed)
    if task.budget < HIDDEN * variance:
        raise OutsideHypotheses(
            f"a design by program must have an mse of at least {HIDDEN * variance / entries:.2g}, "
            f"a total of {HIDDEN:.0e} of the prior's variance; got {task.budget / entries:.2g}: "
            "use a larger budget."
        )
    pool = _Pool.begun(task)
    if not pool.pieces:  # nothing can be learnt, whatever is released
        even = task.even_noise()
        bound = DualBound(0.0, 0.0, task.budget)
        return Certified(even, task.members.losses(even), bound, "nothing to learn")
    best, failure = None, "the noise program must prove a lower bound; got none."
    for negligible, space in _attempts(task):
        try:
            for found in _exchange(pool, task, negligible, space):
                best = found if best is None else _better(best, found, task)
                if task.met(best):
                    return best
        except SolverFailed as broken:
            failure = str(broken)
    if best is None or not np.isfinite(task.gap(best)):
        raise SolverFailed(failure)
    return best


def prove_design(task: Task, route: Callable[[Task], Certified]) -> tuple[Task, Certified, float]:
    """Return a design whose loss is proved over intervals of parameters, and what it attains.

    A route sees the members that it looks at. What the proof finds to be worse enters, and the
    route is taken again.
    """
    for _ in range(EXCHANGES + 1):
        found = route(task)
        if task.members.prior.finite:
            return task, found, found.losses.attained
        raised, proved = _prove(task, found)
        if proved.losses.attained <= found.losses.worst * (1 + task.tolerance) / (1 - raised.floor):
            break
        task.members.enter(proved.losses.readings[0][0])
    return raised, proved, proved.losses.attained


def _prove(task: Task, found: Certified) -> tuple[Task, Certified]:
    """Return the design with the floor that its proof can afford; with its own, if there is none.

    A smaller floor of noise takes more cells to prove. Where they run out, it is raised at a price
    of 1/(1 − floor) in the loss: as far as it may be, and from there down as far as cells suffice.
    """
    own = _with_floor(task, found, task.floor)
    if _is_close(own) or not task.members.is_provable:
        return own
    proved = [own] if own[1].losses.how == "proved" else []
    floor = task.floor * FLOOR_STEP ** math.floor(math.log10(LARGEST_FLOOR / task.floor) + 1e-9)
    while floor > 2 * task.floor and _is_close(tried := _with_floor(task, found, floor)):
        proved.append(tried)
        floor /= FLOOR_STEP
    return min(proved, key=lambda pair: pair[1].losses.worst, default=own)


def _with_floor(task: Task, found: Certified, floor: float) -> tuple[Task, Certified]:
    """Return the task and its design with a floor that is no lower, and losses proved if may be."""
    share, noise = (floor - task.floor) / (1 - task.floor), found.noise
    if share > 0:
        noise = Sum((noise.scaled(1 - share), task.even_noise().scaled(share)))
    losses = task.members.proved_losses(noise)
    return attrs.evolve(task, floor=floor), attrs.evolve(found, noise=noise, losses=losses)


def _is_close(design: tuple[Task, Certified]) -> bool:
    losses = design[1].losses
    return losses.how == "proved" and losses.worst <= losses.attained * (1 + AFFORDABLE)


def _attempts(task: Task) -> Iterator[tuple[float, ReadingSpace | None]]:
    """Yield what is negligible, and the space to which a long trace's noise is confined."""
    if task.belief.entries > WHOLE_SPACE:
        yield NEGLIGIBLE[0], ReadingSpace(task.budget, task.floor, task.independent)
    if task.belief.entries <= LARGEST_PROGRAM:
        yield from ((negligible, None) for negligible in NEGLIGIBLE)


def _exchange(
    pool: _Pool, task: Task, negligible: float, space: ReadingSpace | None
) -> Iterator[Certified]:
    """Yield one design after the other, until nothing enters the pool."""
    apart, bound, loss = task.independent, 0.0, np.inf
    for turn in range(ROUNDS):
        blocks = list(pool.pieces.values())
        basis = None if space is None else space.basis(blocks)
        even = 0.0 if space is None else task.floor / task.belief.entries
        solution = best_noise(
            blocks, task.budget, negligible, independent=apart, space=basis, even=even
        )
        if space is not None:
            space.learn(solution.factor)
            if turn < UNLEARNT:
                continue
        found = task.certify(solution, "dual program")
        yield found
        grown, fallen = task.lower(found) > bound, found.losses.worst < loss
        bound, loss = max(bound, task.lower(found)), min(loss, found.losses.worst)
        if grown and len(blocks) > MANY:
            pool.keep({witness.source for witness in solution.witnesses if witness.weight > 1e-7})
        threshold = bound * (1 + task.tolerance / 4)
        worst = found.losses.above(threshold)[:STEP]
        entered = [pool.add_with_image(pair) for pair in worst]
        if not any(entered) and (space is None or not fallen):
            break


def _better(best: Certified, new: Certified, task: Task) -> Certified:
    """Return the smaller loss with the larger bound: each holds whatever noise it came with."""
    bound = max(best, new, key=task.lower).bound
    return attrs.evolve(min(new, best, key=lambda found: found.losses.worst), bound=bound)


@attrs.define(eq=False)
class _Pool:
    """The blocks in the program, by member and group; and groups' images."""

    images: dict[int, int]
    pieces: dict[tuple[Member, int], Block] = attrs.field(factory=dict)

    @classmethod
    def begun(cls, task: Task) -> _Pool:
        """Return the pool of the first pairs: all, or those that even noise protects worst."""
        entries, even = task.belief.entries, task.even_noise()
        images = {} if task.independent is not None else mirror_groups(task.question, entries)
        pool, groups = cls(images), range(len(task.question.groups))
        pairs = [Violation(member, group) for member in task.members.listed for group in groups]
        if len(pairs) > (CROWDED if len(images) > entries / 2 else MANY):
            pairs = task.members.losses(even).above(0.0)[:MANY]
        for pair in pairs:
            pool.add_with_image(pair)
        return pool

    def add_with_image(self, pair: Violation) -> bool:
        """Let a pair enter, and the mirror image of its group if the question has one."""
        image = attrs.evolve(pair, group=self.images.get(pair.group, pair.group))
        entered = self.add(pair)
        return self.add(image) or entered

    def add(self, pair: Violation) -> bool:
        """Let a pair enter, or more of its displacements; say whether that was new."""
        name = pair.member, pair.group
        block = self.pieces.get(name) or pair.member.block(pair.group)
        if block is None or (name in self.pieces and block.signs is None):
            return False
        if block.is_box and len(block.balls) > 1:
            known = np.zeros((0, len(block.balls))) if block.signs is None else block.signs
            signs = np.unique(np.vstack([known, _signs_near(block, pair.displacement)]), axis=0)
            if len(signs) == len(known):
                return False
            block = attrs.evolve(block, signs=signs)
        self.pieces[name] = block
        return True

    def keep(self, positions: set[int]) -> None:
        """Drop the pieces that carried no weight."""
        self.pieces = {
            name: self.pieces[name] for i, name in enumerate(self.pieces) if i in positions
        }


def _signs_near(block: Block, displacement: Array) -> Array:
    """Return all sign vectors, v and −v counted once; of many signs, those near a displacement."""
    count = len(block.balls)
    if count <= FEW:
        codes = np.arange(2 ** (count - 1))[:, None] >> np.arange(count) & 1
        return np.asarray(1.0 - 2.0 * codes)
    near = np.vstack([np.ones(count), 1 - 2 * np.eye(count)])
    if displacement.size:
        near *= np.where(block.values @ displacement >= 0, 1.0, -1.0)
    return np.asarray(near * near[:, :1])


# A small space for long traces --------------------------------------------------------------------

RATIO = 10.0  # of one shift to the next
# Products with C by which the Krylov spaces grow, in which the shifted systems are solved.
STEPS = 60
ALIKE = 1e-7  # A direction that adds less than this share to the space is left out
FAINT = 1e-3  # directions of the noise with a smaller share of its deviation are the solver's slack


@attrs.define(eq=False)
class ReadingSpace:
    """The span of (C + σ I)⁻¹[A, F] for every belief, shifts σ from the budget down to the floor.

    Under noise Γ = F G Fᵀ + η I the readings that tell most are Y = (C + Γ)⁻¹A, and for every G

        Y = (C + η I)⁻¹(A − F H),   H = G FᵀY :

    they lie in the space. Conversely the best noise has its range in the span of the readings; for
    one belief Γ Y = Y H with a matrix H of the eigenvalues τ of Γ, so that C Y + Y H = A and Y is
    a mixture of the (C + τ I)⁻¹A. So the space begins without F, and takes it from one design after
    the other, until nothing is lacking. What is designed in it is certified without it.
    """

    budget: float
    floor: float  # share of the budget that is spent on independent noise
    independent: Indices | None = None  # entries whose noise is apart: the space is zero there
    noise: Array | None = None  # F, (n, m), the directions of the last design's noise

    def basis(self, blocks: Sequence[Block]) -> Array:
        """Return an orthonormal basis."""
        size = len(blocks[0].spread)
        shared = [] if self.noise is None else [self.noise]
        if self.independent is not None:
            shared.append(np.eye(size)[:, self.independent])
        by_spread: dict[int, tuple[Array, list[Array]]] = {}
        for block in blocks:
            by_spread.setdefault(id(block.spread), (block.spread, []))[1].append(block.shifts)
        least = self.floor * self.budget / size
        count = math.ceil(math.log(self.budget / least) / math.log(RATIO)) + 1
        shifts = np.geomspace(self.budget, least, count)
        columns = np.hstack(
            [
                _shifted_solutions(spread, _range([*starts, *shared], 1e-12), shifts)
                for spread, starts in by_spread.values()
            ]
        )
        if self.independent is not None:
            columns[self.independent] = 0.0
        return _range([columns], ALIKE)

    def learn(self, factor: Array) -> None:
        """Take over the directions of a design's noise L Lᵀ."""
        left, values, _ = np.linalg.svd(factor, full_matrices=False)
        self.noise = np.asarray(left[:, values > FAINT * values.max(initial=0.0)])


def _range(parts: Sequence[Array], negligible: float) -> Array:
    """Return an orthonormal basis of the span of columns, each in units of its length."""
    columns = np.hstack(parts)
    lengths = np.linalg.norm(columns, axis=0)
    columns = columns[:, lengths > 0] / lengths[lengths > 0]
    left, values, _ = np.linalg.svd(columns, full_matrices=False)
    return np.asarray(left[:, values > negligible * values.max(initial=0.0)])


def _shifted_solutions(spread: Array, start: Array, shifts: Array) -> Array:
    """Return (C + σ I)⁻¹ of the start's columns for all shifts, from one Krylov space."""
    space = _krylov(spread, start)
    values, vectors = np.linalg.eigh(space.T @ (spread @ space))
    moved = vectors.T @ (space.T @ start)
    inner = [moved / (np.maximum(values, 0.0) + shift)[:, None] for shift in shifts]
    return np.asarray(space @ (vectors @ np.hstack(inner)))


def _krylov(matrix: Array, start: Array) -> Array:
    """Return an orthonormal basis of the span of S, C S, C² S, ... as far as it goes."""
    size = matrix.shape[0]
    space = newest = start
    for _ in range(STEPS):
        moved = matrix @ newest
        scale = float(np.linalg.norm(moved))
        for _ in range(2):  # once is not enough in float64
            moved = moved - space @ (space.T @ moved)
        left, values, _ = np.linalg.svd(moved, full_matrices=False)
        newest = left[:, values > 1e-12 * scale][:, : size - space.shape[1]]
        if newest.shape[1] == 0:
            break
        space = np.hstack([space, newest])
    return space
