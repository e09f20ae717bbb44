"""Designing for a class by the displacements that matter: solve for a few, look, add the worst."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import attrs
import numpy as np

from sfumato.errors import OutsideHypotheses, SolverFailed
from sfumato.matrices.matrix import Array
from sfumato_gaussian_noise.design import Block, Certified, DualBound, Member, Task, Violation
from sfumato_gaussian_noise.dual_program import ATTEMPTS, best_noise, mirror_groups, sign_vectors
from sfumato_gaussian_noise.reading_space import ReadingSpace

ROUNDS = 60  # largest number of programs solved for one design
# Up to this many pairs of a member and a group all enter at once; of more, the worst ones do.
MANY = 8
# The same where most entries are secret, so that most pairs matter, and time may be reversed.
CROWDED = 100
SIGNS = 5  # up to this many signs of a group enter one by one; more enter as one matrix
WHOLE = b"whole"

HIDDEN = 1e-12  # smallest total variance, in units of the prior's, that a program is solved for
# Below this total variance, in the same units, the rounding of a smooth prior may be too much.
ROUGH = 1e-6
# Longer traces are designed in a small space of directions, which follows the design.
WHOLE_SPACE = 256
# Designs in a small space that are not looked at: what tells the secret is not yet in it.
UNLEARNT = 2
# Entries up to which a program in all directions is tried where the small space fails.
LARGEST_PROGRAM = 400
STEP = 4  # pairs that enter in one later round
EXCHANGES = 5  # members at most that a proof adds to a design for intervals
AFFORDABLE = 1e-2  # relative gap of a proof up to which the floor of a design is left as it is
FLOOR_STEP, LARGEST_FLOOR = 10.0, 1e-3  # else it is raised by this factor, up to this share


def member_exchange(task: Task) -> Certified:
    """Return noise whose worst loss over the class is within tolerance of the best possible.

    The program is solved for a few members and displacements; the result's losses over the whole
    class are measured exactly; what exceeds the bound enters, what carries no weight leaves once
    the bound has grown (so no set comes twice), until bound and loss meet.
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
    best, failures = None, []
    for attempt, space in _attempts(task):
        try:
            best = _exchange(pool, task, attempt, space, best)
        except SolverFailed as failure:
            failures.append(str(failure))
            continue
        if task.met(best):
            return best
        failures.append(
            f"{attempt[0]} must bring loss and lower bound to within {task.tolerance:.1g} of each "
            f"other; got a relative gap of {task.gap(best):.2g}."
        )
    if task.budget < ROUGH * variance:
        least = ROUGH * variance / entries
        failures.append(f"So small a budget drowns in rounding: use an mse of {least:.2g} or more.")
    raise SolverFailed(" ".join(failures))


def prove_design(task: Task, route: Callable[[Task], Certified]) -> tuple[Task, Certified, float]:
    """Return a design whose loss is proved over intervals of parameters, and what it attains.

    A route sees the members that it looks at. What the proof finds to be worse enters, and the
    route is taken again. A smaller floor of noise takes more cells to prove: where they run out,
    the floor is raised, at a price of 1/(1 − floor) in the loss, which the task then says.
    """
    while True:
        found = route(task)
        proved = task.members.proved_losses(found.noise)
        for _ in range(EXCHANGES):
            if proved.attained <= found.losses.worst * (1 + task.tolerance):
                break
            task.members.enter(proved.readings[0][0])
            found = route(task)
            proved = task.members.proved_losses(found.noise)
        near = proved.worst <= proved.attained * (1 + AFFORDABLE)
        if task.members.prior.finite or (proved.how == "proved" and near):
            break
        if (
            task.floor * FLOOR_STEP > LARGEST_FLOOR
        ):  # then even a proof is not close, or there is none
            break
        task = attrs.evolve(task, floor=task.floor * FLOOR_STEP)
    worst = max(proved.worst, found.losses.worst)
    losses = attrs.evolve(found.losses, worst=worst, how=proved.how)
    return task, attrs.evolve(found, losses=losses), max(proved.attained, found.losses.attained)


def _attempts(task: Task) -> Iterator[tuple[tuple[str, float], ReadingSpace | None]]:
    """Yield solvers, and the space to which they confine a long trace's noise."""
    if task.belief.entries > WHOLE_SPACE:
        yield ATTEMPTS[0], ReadingSpace(task.budget, task.floor, task.independent)
    if task.belief.entries <= LARGEST_PROGRAM:
        yield from ((attempt, None) for attempt in ATTEMPTS)


def _exchange(
    pool: _Pool,
    task: Task,
    attempt: tuple[str, float],
    space: ReadingSpace | None,
    best: Certified | None,
) -> Certified:
    apart = task.independent
    for turn in range(ROUNDS):
        blocks = list(pool.pieces.values())
        solution = best_noise(blocks, task.budget, attempt, independent=apart, space=space)
        if space is not None:
            space.learn(solution.factor)
            if turn < UNLEARNT:
                continue
        found = task.certify(solution, f"dual program by {attempt[0]}")
        grown = best is None or task.lower(found) > task.lower(best)
        fallen = best is None or found.losses.worst < best.losses.worst
        best = found if best is None else _better(best, found, task)
        if task.met(best):
            break
        if grown and len(blocks) > MANY:
            pool.keep({witness.source for witness in solution.witnesses if witness.weight > 1e-7})
        threshold = task.lower(best) * (1 + task.tolerance / 4)
        entered = [pool.add_with_image(pair) for pair in found.losses.above(threshold)[:STEP]]
        if not any(entered) and (space is None or not fallen):
            break
    if best is None:
        raise SolverFailed(f"{attempt[0]} must be given at least one round; got none.")
    return best


def _better(best: Certified, new: Certified, task: Task) -> Certified:
    """Return the smaller loss with the larger bound: each holds whatever noise it came with."""
    bound = max(best, new, key=task.lower).bound
    return attrs.evolve(min(new, best, key=lambda found: found.losses.worst), bound=bound)


@attrs.define(eq=False)
class _Pool:
    """The pieces of blocks in the program, by member, group and signs; and groups' images."""

    images: dict[int, int]
    pieces: dict[tuple[Member, int, bytes], Block] = attrs.field(factory=dict)

    @classmethod
    def begun(cls, task: Task) -> _Pool:
        """Return the pool of the first pairs: all, or those that even noise protects worst."""
        entries = task.belief.entries
        images = {} if task.independent is not None else mirror_groups(task.question, entries)
        pool, groups = cls(images), range(len(task.question.groups))
        pairs = [Violation(member, group) for member in task.members.listed for group in groups]
        if len(pairs) > (CROWDED if len(images) > entries / 2 else MANY):
            pairs = task.members.losses(task.even_noise()).above(0.0)[:MANY]
        for pair in pairs:
            pool.add_with_image(pair)
        return pool

    def add_with_image(self, pair: Violation) -> bool:
        """Let a pair enter, and the mirror image of its group if the question has one."""
        image = self.images.get(pair.group, pair.group)
        entered = self.add(pair)
        return self.add(attrs.evolve(pair, group=image)) or entered

    def add(self, pair: Violation) -> bool:
        """Let a pair enter, along its displacement if it has one; say whether that was new."""
        block = pair.member.block(pair.group)
        if block is None:
            return False
        known = {name[2] for name in self.pieces if name[:2] == (pair.member, pair.group)}
        count = len(block.balls)
        if not known and (not block.is_box or count > SIGNS):
            return self._enter(pair, block, WHOLE)
        if not block.is_box:
            return False
        if known and WHOLE not in known and pair.displacement.size:
            signs = np.where(block.values @ pair.displacement >= 0, 1.0, -1.0)
            return self._enter_along(pair, block, signs)
        # The dual of the group was not tight: from now on it is taken sign by sign.
        self.pieces.pop((pair.member, pair.group, WHOLE), None)
        # Of many signs, one is flipped at a time: with the vector of ones a basis.
        flipped = 1 - 2 * np.diag([0, *np.ones(count - 1)])
        several = sign_vectors(count) if count <= SIGNS else flipped
        return sum(self._enter_along(pair, block, signs) for signs in several) > 0

    def _enter_along(self, pair: Violation, block: Block, signs: Array) -> bool:
        signs = signs * signs[0]
        return self._enter(pair, block.along(signs), signs.tobytes())

    def _enter(self, pair: Violation, piece: Block, name: bytes) -> bool:
        return self.pieces.setdefault((pair.member, pair.group, name), piece) is piece

    def keep(self, positions: set[int]) -> None:
        """Drop the pieces that carried no weight."""
        self.pieces = {
            name: self.pieces[name] for i, name in enumerate(self.pieces) if i in positions
        }
