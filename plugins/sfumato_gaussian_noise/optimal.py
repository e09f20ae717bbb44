"""The best Gaussian noise there is: by a formula where one can be certified, else by a program."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np

from sfumato.errors import OutsideHypotheses
from sfumato.inference.gaussian.grid_information import GridRegression
from sfumato.matrices import Dense, Diagonal, Kronecker, LowRank, Matrix, Scaled, Sum
from sfumato.matrices.matrix import ROUNDOFF, Array
from sfumato.parameters import OPEN_UNIT, POSITIVE, SWITCH, declare, parameter
from sfumato.plugin_registry import default_registry
from sfumato_gaussian_noise.baselines import Calibrated, Design
from sfumato_gaussian_noise.design import (
    Block,
    Certified,
    ClassLosses,
    DualBound,
    Members,
    Solution,
    Task,
    Witness,
    dual_bound,
)
from sfumato_gaussian_noise.member_exchange import member_exchange, prove_design

# Share of the tolerance at which a window is wide enough: a wider one could gain no more.
CLOSE = 0.01
LONG = 4_000  # traces with more entries are never given a dense matrix
# Radii beyond it, or below its inverse, have no squares that float64 could compare.
LARGEST_RADIUS = 1e140


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
    "searched" where a larger loss may hide between the members looked at. Over intervals of
    parameters it says "proved" where no member loses more than `worst_loss`; then `attained_loss`
    is what one of them loses, and `floor` the share of independent noise, raised up to 1e-2 where a
    smaller one allows no proof.

    Guarantee: no noise of the budget loses less than `lower_bound`. The gap is at most `tolerance`,
    besides the price $1/(1 − floor)$ of the floor, or as it says: a tiny budget for a smooth
    prior may leave more. `SolverFailed` is raised where nothing can be proved. Of three or more
    balls of several coordinates each, both figures are those of the dual bound of the loss that the
    exact measure reports.

    >>> import sfumato as sf
    >>> prior, secret = sf.priors.rbf(length_scale=6.0, times=50), sf.secrets.basic(24)
    >>> release = sf.mechanisms.gaussian_optimal(mse=0.02).protect(prior, secret)
    >>> round(release.claims["worst_loss"], 4), release.claims["relative_gap"] < 1e-5
    (7.6086, True)
    """

    name = "gaussian_optimal"

    floor: float = parameter(
        OPEN_UNIT, default=1e-6, doc="share of the budget spent on independent noise everywhere"
    )
    tolerance: float = parameter(
        POSITIVE, default=1e-4, doc="relative gap between loss and lower bound that ends the search"
    )
    independent_secret_noise: bool = parameter(
        SWITCH,
        default=False,
        doc="restrict to noise of equal variance on the secret entries, independent of the rest",
    )

    def noise(self, members: Members, mse: float) -> Design:
        """Design by the cheapest route that can be certified."""
        if (alone := one_coordinate(members)) is not None:
            narrow = self.noise(alone, mse)
            wide = widened(narrow.noise, members.first.belief.dimensions)
            return attrs.evolve(narrow, noise=wide)
        question = members.first.question
        low, high = min(question.radii), max(question.radii)
        if not 1 / LARGEST_RADIUS <= low <= high <= LARGEST_RADIUS:
            raise OutsideHypotheses(
                f"gaussian_optimal designs for radii between {1 / LARGEST_RADIUS:.0e} and "
                f"{LARGEST_RADIUS:.0e}; got {low:.3g} to {high:.3g}: use other units."
            )
        apart = np.array(question.entries) if self.independent_secret_noise else None
        budget = mse * members.first.belief.entries
        task = Task(members.smallest, budget, self.floor, self.tolerance, independent=apart)
        task, found, attained = prove_design(task, cheapest_route)
        claims: dict[str, Any] = {
            "worst_loss": found.losses.worst,
            "lower_bound": task.lower(found),
            "relative_gap": task.gap(found),
            "class_seen": found.losses.how,
            "route": found.route,
        }
        if self.epsilon is not None and self.order is not None:
            smallest = found.bound.budget(2 * self.epsilon / self.order)
            claims["smallest_mse_of_any"] = smallest / task.belief.entries
        if members.smallest is not members and found.losses.how != "searched":
            claims["class_seen"] = "finite" if members.prior.finite else "proved"
        if claims["class_seen"] == "proved":
            claims |= {"attained_loss": attained, "floor": task.floor}
        return Design(found.noise, claims, found.losses.worst)


def one_coordinate(members: Members) -> Members | None:
    """Return a class seen in one coordinate, where several are alike and independent; else None.

    If what is secret are places at single times, the loss of Γ stays as it is when coordinates
    trade places or signs. It is convex in Γ, so the mean of Γ over all such changes, Γ₁ ⊗ I, loses
    no more; and its M = M₁ ⊗ I has the worst square of M₁, of one coordinate with the same mse.
    """
    belief, groups = members.first.belief, members.first.question.groups
    wide, entries = belief.dimensions, np.arange(belief.entries).reshape(belief.times, -1)
    places = {tuple(place): time for time, place in enumerate(entries.tolist())}
    covariances = [member.belief.covariance for member in members.listed]
    if (
        members.is_single
        or wide == 1
        or not all(
            isinstance(one, Kronecker) and np.array_equal(one.across.entries, np.eye(wide))
            for one in covariances
        )
    ):
        return None
    times = [places.get(group[0]) for group in groups if len(group) == 1]
    table = _of_one_coordinate(members.prior.specification())
    if table is None or len(times) < len(groups) or None in times:
        return None
    alone = Members(default_registry().build("prior", table), members.secret)
    kept = [member.belief.covariance for member in alone.listed]
    alike = [one.time for one in covariances if isinstance(one, Kronecker)] == kept
    same = [group[0][0] for group in alone.first.question.groups] == times
    return alone if alike and same else None


def _of_one_coordinate(table: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the table of a class without its dimensions; None for a class of another kind."""
    if set(table) == {"any_of"}:
        parts = [_of_one_coordinate(part) for part in table["any_of"]]
        return None if None in parts else {"any_of": parts}
    if "dimensions" not in table or table.get("name") not in default_registry().names("prior"):
        return None
    return {key: value for key, value in table.items() if key != "dimensions"}


def widened(noise: Matrix, wide: int) -> Matrix:
    """Return Γ ⊗ I: the same noise, drawn anew for each of several coordinates."""
    if isinstance(noise, Diagonal):
        return Diagonal(np.repeat(noise.variances, wide))
    if isinstance(noise, LowRank):
        return LowRank(np.kron(noise.factor, np.eye(wide)))
    if isinstance(noise, Scaled):
        return Scaled(widened(noise.base, wide), noise.factor)
    if isinstance(noise, Sum):
        return Sum(tuple(widened(term, wide) for term in noise.terms))
    return Kronecker(noise, Dense(np.eye(wide)))


def cheapest_route(task: Task) -> Certified:
    """Return a design within tolerance: by a formula if one can be certified, else by a program."""
    long = task.belief.entries > LONG
    for route in (_prior_shaped, _long_trace) if long else (_prior_shaped, _even, _one_ball):
        found = route(task)
        if found is not None and (task.met(found) or (long and np.isfinite(task.gap(found)))):
            return found
    if long:
        raise OutsideHypotheses(
            f"above {LONG} entries a design takes one prior on a regular grid and one secret time, "
            f"or every point; got {task.belief.entries} entries and another question."
        )
    return member_exchange(task)


# One ball -----------------------------------------------------------------------------------------


def _one_ball(task: Task) -> Certified | None:
    """Try the formula for one ball, at the member of the class whose own optimum is the largest.

    No noise beats that member's optimum, so no other member's formula can serve the whole class.
    """
    groups, independent = task.question.groups, task.independent
    if len(groups) > 1 or len(groups[0]) > 1 or (independent is not None and independent.size > 1):
        return None
    blocks = [member.block(0) for member in task.members.listed]
    solutions = [
        one_ball(block, task.budget)
        if independent is None
        else one_value_apart(block, int(independent[0]), task.budget)
        for block in blocks
        if block is not None
    ]

    def lower(solution: Solution) -> float:
        return dual_bound(solution.witnesses, task.budget, independent).loss(task.budget)

    best = max(solutions, key=lower, default=None)
    return None if best is None else task.certify(best, "closed form, one ball")


def one_ball(block: Block, budget: float) -> Solution:
    """Return the best noise for one ball of k values that are independent and alike.

    For one value, the maximum over Γ and the minimum over y of −2 yᵀa + yᵀ(C + Γ)y may be swapped;
    the inner maximum over tr Γ ≤ B is B ‖y‖², so y = (C + B I)⁻¹a and Γ = B ŷŷᵀ: one shared draw
    times a smooth bump, with the loss aᵀ(C + B I)⁻¹a that independent noise of variance B on every
    entry would have. Of k values that are independent and alike each takes B/k.
    """
    k = block.shifts.shape[1]
    unit = max(budget / k, float(np.diagonal(block.spread).max()))
    readings = budget / unit * _ridge(block.spread / unit, budget / k / unit, block.shifts)
    lengths = np.linalg.norm(readings, axis=0)
    return Solution(math.sqrt(budget / k) * readings / lengths, _witnesses(block, readings))


def _ridge(spread: Array, ridge: float, shifts: Array) -> Array:
    """Return (C + ridge I)⁻¹A, for a C that rounding may have made indefinite."""
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    try:
        factor = cho_factor(spread + ridge * np.eye(len(spread)), lower=True)
    except LinAlgError:
        values, vectors = np.linalg.eigh(spread)
        scaled = (vectors.T @ shifts) / (np.maximum(values, 0.0) + ridge)[:, None]
        return np.asarray(vectors @ scaled)
    return np.asarray(cho_solve(factor, shifts))


def one_value_apart(block: Block, entry: int, budget: float) -> Solution:
    """Return the best noise for one value, independent on its entry s of the noise on the rest.

    Γ_ss = σ² and Γ_UU = τ v̂v̂ᵀ with v = (C_UU + τ I)⁻¹a_U. The loss
    a_s²/σ² + a_Uᵀ(C_UU + τ I)⁻¹a_U is convex in τ = B − σ², and its derivative has one root.
    (The optimum of the class that Meehan and Chaudhuri's program SDP_A approximates.)
    """
    from scipy.optimize import brentq

    n, shift = block.shifts.shape[0], block.shifts[:, 0]
    others = np.delete(np.arange(n), entry)
    values, vectors = np.linalg.eigh(block.spread[np.ix_(others, others)])
    values, weights = np.maximum(values, 0.0), vectors.T @ shift[others]

    def rest(share: float) -> Array:
        return np.asarray(weights * (budget / (values + share * budget)))

    def slope(share: float) -> float:
        return abs(float(shift[entry])) / (1 - share) - float(np.linalg.norm(rest(share)))

    tiny = 1e-12
    share = 0.0 if slope(tiny) >= 0 else float(brentq(slope, tiny, 1 - tiny, xtol=1e-15))
    reading, factor, extra = np.zeros(n), np.zeros((n, 1)), np.zeros(n)
    extra[entry] = (1 - share) * budget
    reading[entry] = shift[entry] / (1 - share)
    if share > 0:
        reading[others] = vectors @ rest(share)
        along = reading[others] / np.linalg.norm(reading[others])
        factor[others, 0] = math.sqrt(share * budget) * along
    return Solution(factor, _witnesses(block, reading[:, None]), extra)


def _witnesses(block: Block, readings: Array) -> tuple[Witness, ...]:
    k = readings.shape[1]
    return tuple(Witness(1 / k, block.along(np.eye(k)[i]), readings[:, i]) for i in range(k))


# Every entry --------------------------------------------------------------------------------------


def _even(task: Task) -> Certified | None:
    """Return the only noise of equal, independent variances where every entry is secret.

    Its own worst displacement a, read by y = (C + σ²I)⁻¹a, proves that there is none other.
    """
    if task.independent is None or task.independent.size < task.belief.entries:
        return None
    noise = task.even_noise()
    losses = task.members.losses(noise)
    bound = DualBound(0.0, 0.0, task.budget)
    for worst in losses.above(0.0)[:1]:
        block = worst.member.block(worst.group)
        if block is None:
            raise OutsideHypotheses(
                "secret entries must not be constants for independent noise on all of them; got "
                "some that are."
            )
        along = block.along(block.values @ worst.displacement)
        reading = np.linalg.solve(along.spread + noise.dense(), along.shifts[:, 0])
        witness = Witness(1.0, along, task.budget * np.asarray(reading, np.float64))
        bound = dual_bound([witness], task.budget, task.independent)
    return Certified(noise, losses, bound, "the only noise of its class")


def _prior_shaped(task: Task) -> Certified | None:
    """Try Γ = c Σ for a single prior of equal variances, every entry of which is secret.

    The trace of the posterior covariance V is largest at Γ = c Σ, c = B / tr Σ, as its gradient
    K⁻¹Σ²K⁻¹, K = Σ + Γ, is there a multiple of the projector on the range of Σ. There
    V = c/(1 + c) Σ, so with Σ_SS = v I for every group S the loss of each is r²/(c v) = r² n/B,
    and no noise makes the worst of them smaller. It needs no shared draw: rounding is harmless.
    """
    belief = task.belief
    if task.independent is not None or not task.members.is_single or not _covers_alike(task):
        return None
    shape = Scaled(belief.covariance, (1 - task.floor) * task.budget / belief.covariance.trace())
    even = Diagonal.constant(task.floor * task.budget / belief.entries, belief.entries)
    noise, square = Sum((shape, even)), task.question.radii[0] ** 2 * belief.entries
    if belief.entries <= LONG:
        losses = task.members.losses(noise)
    else:  # Γ ⪰ (1 − κ) c Σ if the floor covers all rounding, and more noise loses less
        rounding = belief.rounding * task.budget + noise.error_bound()
        worst = square / ((1 - task.floor) * task.budget) * (1 + 1e-12)
        covered = task.floor * task.budget / belief.entries >= rounding
        losses = ClassLosses(worst if covered else np.inf, "single")
    # r² n / B as a line in the budget: its tangent at this one.
    best = square * (1 - 1e-13)
    bound = DualBound(gain=2 * best, price=best, unit=task.budget)
    return Certified(noise, losses, bound, "closed form, noise shaped like the prior")


def _covers_alike(task: Task) -> bool:
    """Whether the groups are single balls that share out all entries, each with Σ_SS = v I."""
    belief, question = task.belief, task.question
    variances = belief.covariance.diagonal()
    entries = [entry for group in question.groups for ball in group for entry in ball]
    if len(set(question.radii)) > 1 or np.ptp(variances) > 0 or not variances[0] > 0:
        return False
    if sorted(entries) != list(range(belief.entries)) or any(len(g) > 1 for g in question.groups):
        return False
    blocks = (belief.covariance.block(b, b) for (b,) in question.groups if len(b) > 1)
    return all(np.array_equal(block, variances[0] * np.eye(len(block))) for block in blocks)


# One ball of a long trace -------------------------------------------------------------------------


def _long_trace(task: Task) -> Certified | None:
    """Return the design for one ball on a regular grid, at any length; None if it is not that.

    The formula of `one_ball` needs (C + (B/k) I)⁻¹A: conjugate gradients with products by fast
    Fourier transforms, first on a window round the secret. Let Y be what they return for the budget
    (1 − κ)B. Both certificates hold for any Y whatever: the lower bound as in `dual_bound`, and
    the loss of the very Γ that is sampled, as the framework reads it, with no further solve.
    """
    groups = task.question.groups
    if task.independent is not None or not task.members.is_single:
        return None
    if len(groups) > 1 or len(groups[0]) > 1:
        return None
    block = GridRegression.of(task.belief, groups[0][0])
    if block is None:
        return None
    narrow, found = attrs.evolve(task, tolerance=CLOSE * task.tolerance), None
    count = len(groups[0][0])
    ridge = (1 - task.floor) * task.budget / count
    for readings in block.ridge_solutions(ridge):
        found = _certify(task, block, readings, ridge)
        if narrow.met(found):
            break
    return found


def _certify(task: Task, block: GridRegression, readings: Array, ridge: float) -> Certified:
    """Return the noise that spends the budget on the readings, its loss, and the dual bound."""
    count, square = readings.shape[1], task.question.radii[0] ** 2
    lengths = np.linalg.norm(readings, axis=0)
    noise = task.sampled_noise(Solution(math.sqrt(task.budget / count) * readings / lengths))
    gains, off = block.gains(readings, ridge)
    price = float(np.linalg.eigvalsh(readings.T @ readings)[-1]) / count
    price *= square * (1 + 4 * len(readings) * ROUNDOFF)
    bound = DualBound(square * float(np.mean(gains - off)), price, ridge)
    matrix, error = block.information(readings, noise, ridge)
    largest = float(np.linalg.eigvalsh(matrix)[-1])
    worst = square * largest * (1 + error) if math.isfinite(error) else math.inf
    route = "closed form, conjugate gradients on the grid"
    return Certified(noise, ClassLosses(worst, "single"), bound, route)
