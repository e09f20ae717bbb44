"""Designing for a class by the displacements that matter: solve for a few, look, add the worst."""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import numpy as np

from sfumato.errors import OutsideHypotheses, SolverFailed
from sfumato.matrices import Diagonal
from sfumato.matrices.matrix import Array
from sfumato.protocols import Prior, Secret
from sfumato_gaussian_noise.blocks import Block, Violation, block_of, class_losses, corners
from sfumato_gaussian_noise.design_task import Certified, DualBound, Solution, Task
from sfumato_gaussian_noise.dual_program import (
    ATTEMPTS,
    best_noise,
    mirror_groups,
    mirror_partners,
    mirrored_noise,
)
from sfumato_gaussian_noise.reading_space import ReadingSpace

ROUNDS = 60
"""Largest number of programs solved for one design."""

MANY = 8
"""Up to this many pairs of a member and a group all enter at once; of more, the worst ones do."""

CROWDED = 100
"""The same where most entries are secret, so that most pairs matter, and time may be reversed."""

SIGNS = 5
"""Up to this many signs of a group enter one by one; more enter as one matrix."""

WHOLE = b"whole"

HIDDEN = 1e-12
"""Smallest total variance, in units of the prior's, that a program is solved for."""

ROUGH = 1e-6
"""Below this total variance, in the same units, the rounding of a smooth prior may be too much."""

WHOLE_SPACE = 256
"""Longer traces are designed in a small space of directions, which follows the design."""

UNLEARNT = 2
"""Designs in a small space that are not looked at: what tells the secret is not yet in it."""

LARGEST_PROGRAM = 400
"""Entries up to which a program in all directions is tried where the small space fails."""

STEP = 4
"""Pairs that enter in one later round."""


@attrs.define(eq=False)
class _Pool:
    """The blocks of every member and group met so far, and those in the program."""

    secret: Secret
    blocks: dict[tuple[Prior, int], Block | None] = attrs.field(factory=dict)
    active: list[Block] = attrs.field(factory=list)
    names: list[tuple[Prior, int, bytes]] = attrs.field(factory=list)
    images: dict[int, int] = attrs.field(factory=dict)

    def block(self, member: Prior, group: int) -> Block | None:
        key = (member, group)
        if key not in self.blocks:
            belief = member.belief()
            question = self.secret.question(belief)
            self.blocks[key] = block_of(belief, question.groups[group], question.radii[group])
        return self.blocks[key]

    def add_with_image(self, violation: Violation) -> bool:
        """Let a pair enter, and the mirror image of its group if the question has one."""
        image = self.images.get(violation.group, violation.group)
        entered = self.add(violation)
        return self.add(attrs.evolve(violation, group=image)) or entered

    def add(self, violation: Violation) -> bool:
        """Let a pair enter, along its displacement if it has one; say whether that was new."""
        block = self.block(violation.member, violation.group)
        if block is None:
            return False
        if block.corners is not None:
            return sum(self._along(violation, block, corner) for corner in block.corners) > 0
        pair = (violation.member, violation.group)
        known = {name[2] for name in self.names if name[:2] == pair}
        if not known and (not block.is_box or len(block.balls) > SIGNS):
            return self._enter(violation, block, WHOLE)
        if not block.is_box:
            return False
        if known and WHOLE not in known and violation.displacement.size:
            signs = np.where(block.values @ violation.displacement >= 0, 1.0, -1.0)
            return self._along(violation, block, signs * signs[0])
        # The dual of the group was not tight: from now on it is taken sign by sign.
        self.keep({i for i, name in enumerate(self.names) if name != (*pair, WHOLE)})
        return sum(self._along(violation, block, signs) for signs in corners(len(block.balls))) > 0

    def _along(self, violation: Violation, block: Block, signs: Array) -> bool:
        return self._enter(violation, block.along(signs), signs.tobytes())

    def _enter(self, violation: Violation, piece: Block, name: bytes) -> bool:
        full = (violation.member, violation.group, name)
        if full in self.names:
            return False
        self.names.append(full)
        self.active.append(piece)
        return True

    def keep(self, positions: set[int]) -> None:
        """Drop the pieces that carried no weight."""
        self.active = [piece for i, piece in enumerate(self.active) if i in positions]
        self.names = [name for i, name in enumerate(self.names) if i in positions]


def member_exchange(task: Task) -> Certified:
    """Return noise whose worst loss over the class is within tolerance of the best possible.

    The program is solved for a few members and displacements; the result's losses over the whole
    class are measured exactly; what exceeds the bound enters, what carries no weight leaves once
    the bound has grown (so no set comes twice), until bound and loss meet.
    """
    _refuse_hidden(task)
    pool = _Pool(task.secret)
    if task.independent is None:
        pool.images = mirror_groups(task.secret.question(task.belief), task.belief.entries)
    _begin(pool, task)
    if not pool.active:  # nothing can be learnt, whatever is released
        entries = task.belief.entries
        even = Diagonal.constant(task.budget / entries, entries)
        losses = class_losses(task.prior, task.secret, even)
        return Certified(even, losses, DualBound(0.0, 0.0, task.budget), "nothing to learn")
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
    if task.budget < ROUGH * _variance(task):
        least = ROUGH * _variance(task) / task.belief.entries
        failures.append(f"So small a budget drowns in rounding: use an mse of {least:.2g} or more.")
    raise SolverFailed(" ".join(failures))


def _attempts(task: Task) -> Iterator[tuple[tuple[str, float], ReadingSpace | None]]:
    """Yield solvers, and the space to which they confine a long trace's noise."""
    if task.belief.entries > WHOLE_SPACE:
        yield ATTEMPTS[0], ReadingSpace(task.budget, task.floor, task.independent)
    if task.belief.entries <= LARGEST_PROGRAM:
        yield from ((attempt, None) for attempt in ATTEMPTS)


def _variance(task: Task) -> float:
    return max(
        float(member.belief().covariance.diagonal().max()) for member in task.prior.members()
    )


def _refuse_hidden(task: Task) -> None:
    """Refuse a budget that no program can tell from none beside the prior's variance."""
    least = HIDDEN * _variance(task)
    if task.budget < least:
        entries = task.belief.entries
        raise OutsideHypotheses(
            f"a design by program must have an mse of at least {least / entries:.2g}, a total of "
            f"{HIDDEN:.0e} of the prior's variance; got {task.budget / entries:.2g}: use a larger "
            "budget."
        )


def _exchange(
    pool: _Pool,
    task: Task,
    attempt: tuple[str, float],
    space: ReadingSpace | None,
    best: Certified | None,
) -> Certified:
    for turn in range(ROUNDS):
        solution = _solved(pool.active, task, attempt, space)
        if space is not None:
            space.learn(solution.factor)
        if space is not None and turn < UNLEARNT:
            continue
        found = task.certify(solution, f"dual program by {attempt[0]}")
        grown = best is None or task.lower(found) > task.lower(best)
        fallen = best is None or found.losses.worst < best.losses.worst
        best = found if best is None else _better(best, found, task)
        if task.met(best):
            break
        if grown and len(pool.active) > MANY:
            pool.keep({witness.source for witness in solution.witnesses if witness.weight > 1e-7})
        threshold = task.lower(best) * (1 + task.tolerance / 4)
        worst = found.losses.above(threshold)[:STEP]
        entered = [pool.add_with_image(violation) for violation in worst]
        if not any(entered) and (space is None or not fallen):
            break
    if best is None:
        raise SolverFailed(f"{attempt[0]} must be given at least one round; got none.")
    return best


def _solved(
    blocks: list[Block], task: Task, attempt: tuple[str, float], space: ReadingSpace | None
) -> Solution:
    """Solve the program, in a small space or at half the size where time may be reversed."""
    plain = space is None and task.independent is None
    partners = mirror_partners(blocks) if plain else None
    if partners is None:
        return best_noise(blocks, task.budget, task.independent, attempt, space)
    return mirrored_noise(blocks, partners, task.budget, attempt)


def _better(best: Certified, new: Certified, task: Task) -> Certified:
    """Return the smaller loss with the larger bound: each holds whatever noise it came with."""
    bound = max(best, new, key=task.lower).bound
    return attrs.evolve(min(new, best, key=lambda found: found.losses.worst), bound=bound)


def _begin(pool: _Pool, task: Task) -> None:
    """Let the first pairs enter: all, or those that even noise protects worst."""
    belief, members = task.belief, list(task.prior.members())
    groups = len(task.secret.question(belief).groups)
    pairs = [Violation(m, g, 0.0, np.zeros(0)) for m in members for g in range(groups)]
    crowded = len(pool.images) > belief.entries / 2
    if len(pairs) > (CROWDED if crowded else MANY):
        even = Diagonal.constant(task.budget / belief.entries, belief.entries)
        pairs = class_losses(task.prior, task.secret, even).above(0.0)[:MANY]
    for pair in pairs:
        pool.add_with_image(pair)
