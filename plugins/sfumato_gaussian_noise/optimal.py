"""The best Gaussian noise there is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import OutsideHypotheses
from sfumato.matrices import Diagonal, Matrix, Scaled, Sum
from sfumato.parameters import OPEN_UNIT, OPTIONAL, PLUGIN, POSITIVE, SWITCH, declare, parameter
from sfumato.protocols import PriorClass, Secret
from sfumato.questions import Displacements
from sfumato_gaussian_noise.baselines import Calibrated, Design, designed_for
from sfumato_gaussian_noise.blocks import Block, ClassLosses, Violation, block_of, class_losses
from sfumato_gaussian_noise.design_task import (
    Certified,
    DualBound,
    Solution,
    Task,
    Witness,
    dual_bound,
    one_ball,
    one_value_apart,
)
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


LARGEST_RADIUS = 1e140
"""Radii beyond it, or below its inverse, have no squares that float64 could compare."""


@declare
class Optimal(Calibrated):
    """The noise with the smallest worst loss over the whole prior class, at its budget.

    Closed forms are used where they apply (one value: one shared draw times a smooth bump; every
    point of a stationary trace: noise shaped like the prior), else a convex program, with members
    and displacements exchanged until loss and lower bound meet. What is returned contains a floor
    of independent noise that is counted in the budget and really drawn, and is measured exactly.

    Claims of the release, in units of half the Rényi order: `worst_loss` of what is sampled;
    `lower_bound` on the worst loss of any additive Gaussian noise of the same budget (with
    `independent_secret_noise`, of that class); their `relative_gap`; and `class_seen`, which says
    "searched" where a larger loss may hide between the members looked at. With `design_prior` they
    are about that class.

    Guarantee: the gap is at most `tolerance`, besides the price 1/(1 − floor) of the floor;
    otherwise `SolverFailed` is raised. Of three or more balls of several coordinates each, both
    figures are those of the dual bound of the loss that the exact measure reports.

    >>> import sfumato as sf
    >>> prior, secret = sf.priors.rbf(length_scale=6.0, times=50), sf.secrets.basic(24)
    >>> release = Optimal(mse=0.02).protect(prior, secret)
    >>> round(release.claims["worst_loss"], 4), release.claims["relative_gap"] < 1e-5
    (7.6086, True)
    """

    name = "gaussian_optimal"

    floor: float = parameter(
        OPEN_UNIT, default=1e-6, doc="share of the budget spent on independent noise everywhere"
    )
    tolerance: float = parameter(
        POSITIVE, default=1e-4, doc="largest relative gap between loss and lower bound"
    )
    independent_secret_noise: bool = parameter(
        SWITCH,
        default=False,
        doc="restrict to noise of equal variance on the secret entries, independent of the rest",
    )
    design_prior: PriorClass | None = parameter(
        OPTIONAL(PLUGIN("prior")),
        default=None,
        doc="design for this prior class, whatever class the release is later measured under",
    )

    def noise(self, prior: PriorClass, secret: Secret, mse: float) -> Design:
        """Design by the cheapest route that can be certified."""
        chosen = designed_for(prior, self.design_prior)
        belief = next(chosen.members()).belief()
        _check_radii(secret.question(belief).radii)
        independent: NDArray[np.intp] | None = None
        if self.independent_secret_noise:
            independent = np.array(secret.question(belief).entries)
        task = Task(
            prior=chosen,
            secret=secret,
            budget=mse * belief.entries,
            floor=self.floor,
            tolerance=self.tolerance,
            independent=independent,
        )
        found = cheapest_route(task)
        # A target must hold under the prior that is asked about, whatever the design was for.
        loss = found.losses.worst if chosen is prior else None
        return Design(found.noise, self._claims(task, found), loss)

    def _claims(self, task: Task, found: Certified) -> dict[str, Any]:
        claims = {
            "worst_loss": found.losses.worst,
            "lower_bound": task.lower(found),
            "relative_gap": task.gap(found),
            "class_seen": found.losses.how,
            "route": found.route,
        }
        if self.epsilon is not None and self.order is not None:
            smallest = found.bound.budget(2 * self.epsilon / self.order)
            claims["smallest_mse_of_any"] = smallest / task.belief.entries
        return claims


def _check_radii(radii: Sequence[float]) -> None:
    if not 1 / LARGEST_RADIUS <= min(radii) <= max(radii) <= LARGEST_RADIUS:
        raise OutsideHypotheses(
            f"gaussian_optimal designs for radii between {1 / LARGEST_RADIUS:.0e} and "
            f"{LARGEST_RADIUS:.0e}; got {min(radii):.3g} to {max(radii):.3g}: use other units."
        )
