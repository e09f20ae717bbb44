"""Which way to the best noise is the cheapest that can be certified."""

from __future__ import annotations

import numpy as np

from sfumato.errors import OutsideHypotheses
from sfumato.matrices import Diagonal, Matrix, Scaled, Sum
from sfumato.questions.displacements import Displacements
from sfumato_gaussian_noise.blocks import Block, block_of
from sfumato_gaussian_noise.class_losses import ClassLosses, Violation, class_losses
from sfumato_gaussian_noise.closed_forms import Solution, one_ball, one_value_apart
from sfumato_gaussian_noise.design_task import Certified, Task
from sfumato_gaussian_noise.dual_bound import DualBound, Witness, dual_bound
from sfumato_gaussian_noise.long_trace import long_trace
from sfumato_gaussian_noise.member_exchange import member_exchange

LONG = 4_000
"""Traces with more entries are never given a dense matrix."""


def cheapest_route(task: Task) -> Certified:
    """Return a design within tolerance: by a formula if one can be certified, else by a program."""
    long = task.belief.entries > LONG
    for route in (_prior_shaped, long_trace) if long else (_prior_shaped, _even, _one_ball):
        found = route(task)
        if found is not None and task.met(found):
            return found
    if long:
        raise OutsideHypotheses(
            f"above {LONG} entries a design takes one prior on a regular grid and one secret time, "
            f"or every point; got {task.belief.entries} entries and another question."
        )
    return member_exchange(task)


def _even(task: Task) -> Certified | None:
    """Return the only noise of equal, independent variances where every entry is secret.

    Its own worst displacement a, read by y = (C + σ²I)⁻¹a, proves that there is none other.
    """
    belief = task.belief
    if task.independent is None or task.independent.size < belief.entries:
        return None
    variance = task.budget / belief.entries
    noise = Diagonal.constant(variance, belief.entries)
    losses = class_losses(task.prior, task.secret, noise)
    witnesses = [_read(task, violation, variance) for violation in losses.above(0.0)[:1]]
    bound = DualBound(0.0, 0.0, task.budget)
    if witnesses:
        bound = dual_bound(witnesses, task.budget, task.independent)
    return Certified(noise, losses, bound, "the only noise of its class")


def _read(task: Task, worst: Violation, variance: float) -> Witness:
    belief = worst.member.belief()
    question = task.secret.question(belief)
    block = block_of(belief, question.groups[worst.group], question.radii[worst.group])
    if block is None:
        raise OutsideHypotheses(
            "secret entries must not be constants for independent noise on all of them; got some "
            "that are."
        )
    along = block.along(block.values @ worst.displacement)
    total = along.spread + variance * np.eye(belief.entries)
    reading = np.asarray(np.linalg.solve(total, along.shifts[:, 0]), dtype=np.float64)
    return Witness(1.0, along, task.budget * reading)


def _one_ball(task: Task) -> Certified | None:
    """Try the formula for one ball, at the member of the class whose own optimum is the largest.

    No noise beats that member's optimum, so no other member's formula can serve the whole class.
    """
    question = task.secret.question(task.belief)
    if len(question.groups) > 1 or len(question.groups[0]) > 1:
        return None
    options = []
    for member in task.prior.members():
        block = block_of(member.belief(), question.groups[0], question.radii[0])
        solution = None if block is None else _formula(block, question, task)
        if solution is not None:
            bound = dual_bound(solution.witnesses, task.budget, task.independent)
            options.append((bound.loss(task.budget), solution))
    if not options:
        return None
    _, best = max(options, key=lambda option: option[0])
    return task.certify(best, "closed form, one ball")


def _formula(block: Block, question: Displacements, task: Task) -> Solution | None:
    if task.independent is None:
        return one_ball(block, task.budget)
    if task.independent.size > 1:
        return None
    return one_value_apart(block, question.entries[0], task.budget)


def _prior_shaped(task: Task) -> Certified | None:
    """Try Γ = c Σ for a single prior of equal variances, every entry of which is secret.

    The trace of the posterior covariance V is largest at Γ = c Σ, c = B / tr Σ, as its gradient
    K⁻¹Σ²K⁻¹, K = Σ + Γ, is there a multiple of the projector on the range of Σ. There
    V = c/(1 + c) Σ, so with Σ_SS = v I for every group S the loss of each is r²/(c v) = r² n/B,
    and no noise makes the worst of them smaller. It needs no shared draw: rounding is harmless.
    """
    belief = task.belief
    question = task.secret.question(belief)
    if task.independent is not None or not _is_single(task) or not _covers_alike(task):
        return None
    scale = task.budget / belief.covariance.trace()
    even = Diagonal.constant(task.floor * task.budget / belief.entries, belief.entries)
    noise = Sum((Scaled(belief.covariance, (1 - task.floor) * scale), even))
    if belief.entries > LONG:
        losses = _above_the_shape(task, noise)
    else:
        losses = class_losses(task.prior, task.secret, noise)
    # r² n / B as a line in the budget: its tangent at this one.
    best = question.radii[0] ** 2 * belief.entries * (1 - 1e-13)
    bound = DualBound(gain=2 * best, price=best, unit=task.budget)
    return Certified(noise, losses, bound, "closed form, noise shaped like the prior")


def _above_the_shape(task: Task, noise: Matrix) -> ClassLosses:
    """Bound the loss by monotonicity: if the floor covers all rounding, Γ ⪰ (1 − κ) c Σ."""
    belief = task.belief
    rounding = belief.rounding * task.budget + noise.error_bound()
    if task.floor * task.budget / belief.entries < rounding:
        return ClassLosses(np.inf, "single", ())
    radius = task.secret.question(belief).radii[0]
    worst = radius**2 * belief.entries / ((1 - task.floor) * task.budget) * (1 + 1e-12)
    return ClassLosses(worst, "single", ())


def _is_single(task: Task) -> bool:
    return task.prior.finite and len(list(task.prior.members())) == 1


def _covers_alike(task: Task) -> bool:
    """Whether the groups are single balls that share out all entries, each with Σ_SS = v I."""
    belief = task.belief
    question = task.secret.question(belief)
    variances = belief.covariance.diagonal()
    entries = [entry for group in question.groups for ball in group for entry in ball]
    alike = len(set(question.radii)) == 1 and np.ptp(variances) == 0 and variances[0] > 0
    if not alike or sorted(entries) != list(range(belief.entries)):
        return False
    if any(len(group) > 1 for group in question.groups):
        return False
    widths = {len(group[0]) for group in question.groups}
    return widths == {1} or all(
        np.array_equal(belief.covariance.block(ball, ball), variances[0] * np.eye(len(ball)))
        for (ball,) in question.groups
    )
