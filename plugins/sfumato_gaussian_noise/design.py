"""What noise is designed for, what it loses there, and what no other noise could do better.

`Members` is the prior class and the secret as a design sees them: every member's belief, question
and blocks are built once, however many budgets are tried. A `Task` adds the budget, and certifies
what a route proposes: the loss of what is sampled, and a bound on the loss of anything else.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, cast

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.errors import OutsideHypotheses, SolverFailed, Undecidable
from sfumato.inference.gaussian.fisher_information import (
    regress,
    regress_in_balls,
    secret_entries,
)
from sfumato.inference.gaussian.worst_pair import WorstSquares, largest_square, worst_squares
from sfumato.matrices import Diagonal, LowRank, Matrix, Sum
from sfumato.matrices.matrix import ROUNDOFF, Array
from sfumato.prior_classes.proofs import Proof, is_provable, prove_over_class
from sfumato.protocols import Prior, PriorClass, Secret
from sfumato.questions import Displacements
from sfumato.questions.displacements import Group

Balls = tuple[tuple[int, ...], ...]
Indices = NDArray[np.intp]

# Relative gap at which a search of a continuous class ends, and the cells that it looks at at most;
# members up to which all that it looked at closely are kept.
SEARCHED, GLANCES, PEAKS = 1e-4, 2_000, 16
SMALLEST = float(np.finfo(np.float64).tiny)  # below it float64 rounds without a relative bound
BLURRED = 1e-12  # relative rounding of a regression above which it is done again in balls
# A loss below its own lower bound by more than this share is no rounding of the loss.
CONTRADICTION = 1e-9


# What one belief lets an adversary learn about one group ------------------------------------------


@attrs.frozen(eq=False)
class Block:
    """Z given the secret is N(A δ, C + Γ): the loss is sup δᵀAᵀ(C + Γ)⁻¹A δ over unit balls.

    δ = W Δ are the k free values of a displacement Δ of the m secret entries, in units of the
    radius.
    """

    shifts: Array  # A, (n, k): the shift of the release's mean by each free value
    spread: Array  # C, (n, n): the covariance of the trace once the secret is known
    balls: Balls  # which of the k values share a ball
    shift_error: Array  # (n, k): bounds the rounding of A, entry by entry
    spread_error: Array  # e, (n,): |yᵀ(C_true − C)y| ≤ (eᵀ|y|)²
    values: Array  # W, (k, m)
    signs: Array | None = None  # rows: where every ball is an interval, the δ that are looked at

    @property
    def is_box(self) -> bool:
        """Whether every ball is an interval, so that the worst δ is a vector of signs."""
        return all(len(ball) == 1 for ball in self.balls)

    def along(self, direction: Array) -> Block:
        """Return the block of the one displacement `direction`."""
        return attrs.evolve(
            self,
            shifts=(self.shifts @ direction)[:, None],
            shift_error=(self.shift_error @ np.abs(direction))[:, None],
            balls=((0,),),
            signs=None,
        )


def block_of(belief: Gaussian, group: Group, radius: float) -> Block | None:
    """Return the block of a group; None where the belief leaves nothing to learn about it."""
    entries = tuple(entry for ball in group for entry in ball)
    secret = secret_entries(belief, entries)
    if secret.representatives.size == 0:
        return None
    found = regress(belief, secret)
    if found is None or np.max(found.weights_error) > BLURRED * np.max(np.abs(found.weights)):
        found = regress_in_balls(belief, secret) or found
    if found is None:
        raise Undecidable(
            "float64 must tell the covariance of the secret entries from a singular one for a "
            "design; it cannot: leave out what others nearly determine (times close together, "
            "coordinates that are almost multiples), or use gaussian_uniform."
        )
    n = belief.entries
    spread, spread_error = found.conditional, found.reach
    if spread is None or np.trace(spread) <= found.conditional_error:  # nothing but rounding
        left_out = 0.0 if spread is None else float(np.max(np.abs(spread)))
        spread_error = spread_error + math.sqrt(left_out)
        spread = np.zeros((n, n))
    values, scales, balls = _free_values(secret.spread, group)
    rounding = 0.0 if np.all(scales == 1) else 64 * (n + len(entries)) * ROUNDOFF
    sizes = radius * scales
    shift_error = (found.weights_error + rounding * np.abs(found.weights)) * sizes
    return Block(found.weights * sizes, spread, balls, shift_error, spread_error, values)


def _free_values(copies: Array, group: Group) -> tuple[Array, Array, Balls]:
    """Return W, s and balls: δ = W Δ are free values of unit balls, and s ∘ δ the representatives.

    Every entry is a constant or a copy of one representative. A ball that holds representative j
    c_j times has |Δ|² = Σ c_j Y_j², so δ_j = √c_j Y_j; a ball that repeats another adds nothing.
    """
    values, taken = np.zeros(copies.T.shape), np.zeros(copies.shape[1])
    owners = np.repeat(np.arange(len(group)), [len(ball) for ball in group])
    seen: list[Array] = []
    for ball in range(len(group)):
        inside = np.flatnonzero(owners == ball)
        counts = np.sum(copies[inside], axis=0)
        if not np.any(counts) or any(np.array_equal(counts, other) for other in seen):
            continue
        values[:, inside] = copies[inside].T / np.sqrt(np.maximum(counts, 1.0))[:, None]
        seen.append(counts)
        taken += counts
    if sum(np.count_nonzero(counts) for counts in seen) > np.count_nonzero(taken):
        raise OutsideHypotheses(
            "a design needs secret times that are free or wholly equal; got some that share "
            f"coordinates among {group}: use gaussian_uniform or gaussian_given, which need no "
            "design."
        )
    return values, 1 / np.sqrt(taken), tuple(tuple(np.flatnonzero(c).tolist()) for c in seen)


def entries_of_single_groups(question: Displacements) -> Indices | None:
    """Return the one entry of every group; None where a group has more."""
    entries = [[entry for ball in group for entry in ball] for group in question.groups]
    return None if any(len(own) > 1 for own in entries) else np.array(entries)[:, 0]


# The prior class and the secret -------------------------------------------------------------------


@attrs.frozen(eq=False, slots=False)
class Member:
    """One prior of a class, its belief and what the secret asks of it, each built once."""

    prior: Prior
    secret: Secret
    _blocks: dict[int, Block | None] = attrs.field(factory=dict, init=False)

    @functools.cached_property
    def belief(self) -> Gaussian:
        """What the member believes of the trace."""
        return cast("Gaussian", self.prior.belief())

    @functools.cached_property
    def question(self) -> Displacements:
        """What the secret becomes for that belief."""
        return cast("Displacements", self.secret.question(self.belief))

    def block(self, group: int) -> Block | None:
        """Return what the belief lets learn about one group of the question."""
        if group not in self._blocks:
            asked = self.question
            self._blocks[group] = block_of(self.belief, asked.groups[group], asked.radii[group])
        return self._blocks[group]


Seen = dict[Prior, tuple[Member, WorstSquares]]


@attrs.frozen(eq=False)
class Violation:
    """A member of the class, a group of the secret, their loss, and a displacement close to it."""

    member: Member
    group: int
    loss: float = 0.0
    displacement: Array = attrs.field(factory=lambda: np.zeros(0))


@attrs.frozen(eq=False)
class ClassLosses:
    """The worst loss over the class in units of half the Rényi order, never too small."""

    worst: float
    how: str  # whether the class was seen whole ("single", "finite", "proved") or "searched"
    readings: tuple[tuple[Member, WorstSquares], ...] = ()

    @property
    def attained(self) -> float:
        """The largest loss that is known of a member."""
        found = [float(losses.ceilings.max()) for _, losses in self.readings]
        return max(found, default=self.worst)

    def above(self, threshold: float) -> list[Violation]:
        """Return every member and group with a larger loss, the worst first."""
        found = [
            Violation(member, group, float(losses.ceilings[group]), losses.displacements[group])
            for member, losses in self.readings
            for group in np.flatnonzero(losses.ceilings > threshold).tolist()
        ]
        return sorted(found, key=lambda violation: -violation.loss)


@attrs.frozen(eq=False, slots=False)
class Members:
    """A prior class and a secret: all members of a finite class, a spread of a continuous one."""

    prior: PriorClass
    secret: Secret
    _known: dict[Prior, Member] = attrs.field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        self._known.update({prior: Member(prior, self.secret) for prior in self.prior.members()})

    @functools.cached_property
    def listed(self) -> tuple[Member, ...]:
        """The members that the class itself lists."""
        return tuple(self._known.values())

    @functools.cached_property
    def smallest(self) -> Members:
        """Those of the smallest scale: M falls with the prior's scale, so that none loses more."""
        narrowed = self.prior.at_scale("low")
        return self if narrowed == self.prior else Members(narrowed, self.secret)

    def enter(self, member: Member) -> None:
        """List a member of a continuous class, too."""
        self.__dict__["listed"] = (*self.listed, member)

    @property
    def first(self) -> Member:
        """The first member: all share the trace."""
        return self.listed[0]

    @property
    def is_single(self) -> bool:
        """Whether there is one prior only."""
        return self.prior.finite and len(self.listed) == 1

    @functools.cached_property
    def is_provable(self) -> bool:
        """Whether a proof over the class can be tried."""
        return is_provable(self.prior)

    def losses(self, noise: Matrix) -> ClassLosses:
        """Return the losses of all members of a finite class; else of those that a search met.

        What is searched is what a proof looks at before it is broken off, and all that are known.
        """
        loss, seen = self._reader(noise)
        if self.prior.finite or not self.is_provable:
            how: str = self.prior.supremum(loss).how
        else:
            how = "searched"
            self._prove(noise, loss, tolerance=SEARCHED, most=GLANCES)
        found = sorted(seen.values(), key=_worst_of, reverse=True)
        self._known.setdefault(found[0][0].prior, found[0][0])
        kept = found if self.prior.finite or len(found) <= PEAKS else found[:1]
        return ClassLosses(_worst_of(found[0]), how, tuple(kept))

    def proved_losses(self, noise: Matrix) -> ClassLosses:
        """Return the losses with the worst one proved over the whole class, where that succeeds.

        The reading is that of the worst member found.
        """
        if self.prior.finite:
            return self.losses(noise)
        loss, seen = self._reader(noise)
        proof = self._prove(noise, loss)
        if proof is None:
            return self.losses(noise)
        worst = max(seen.values(), key=_worst_of)
        self._known.setdefault(worst[0].prior, worst[0])
        return ClassLosses(proof.ceiling, "proved", (worst,))

    def _prove(self, noise: Matrix, loss: Callable[[Prior], float], **limits: Any) -> Proof | None:
        """Return the proof, if there is one; what is known already is read, too."""
        for prior in tuple(self._known):
            loss(prior)
        question = self.first.question
        return prove_over_class(self.prior, question, noise, largest_square, loss, **limits)

    def _reader(self, noise: Matrix) -> tuple[Callable[[Prior], float], Seen]:
        """Return a member's loss as a function, and what it has found of whom."""
        channel = AdditiveGaussian(noise, dimensions=self.first.belief.dimensions)
        seen: Seen = {}

        def loss(prior: Prior) -> float:
            member = self._known.get(prior) or Member(prior, self.secret)
            losses = worst_squares(member.belief, member.question, channel)
            seen[prior] = member, losses
            return _worst_of(seen[prior])

        return loss, seen


def _worst_of(reading: tuple[Member, WorstSquares]) -> float:
    return float(np.nan_to_num(reading[1].ceilings.max(), nan=np.inf, posinf=np.inf))


# What no noise can beat ---------------------------------------------------------------------------


@attrs.frozen(eq=False)
class Witness:
    """A displacement (a block of one shift a), its weight w, and a way y of reading the release."""

    weight: float
    block: Block
    reading: Array  # B y for the budget B: y itself, about a/B, has squares that vanish
    source: int = 0  # the position, in the program that found it, of the block it comes from


@attrs.frozen
class DualBound:
    """Every noise of total variance b has worst loss ≥ (gain − price · b/B)/B, whatever its shape.

    B, the `unit`, is the budget of a design. For any y, aᵀ(C + Γ)⁻¹a ≥ 2 yᵀa − yᵀ(C + Γ)y, so for
    weights w of total at most 1 the worst loss is at least Σ w (2 yᵀa − yᵀC y) − ⟨Γ, P⟩ with
    P = Σ w y yᵀ, and ⟨Γ, P⟩ ≤ tr Γ · λ_max(P). The gain is B times the first sum, the
    price B² λ_max(P): neither vanishes for a huge budget.
    """

    gain: float
    price: float
    unit: float

    def loss(self, budget: float) -> float:
        """Return a lower bound on the loss of any mechanism with that budget."""
        cost = budget / self.unit * self.price
        value = self.gain - cost - 4 * ROUNDOFF * (abs(self.gain) + cost)
        return _if_normal(value / self.unit * (1 - 4 * ROUNDOFF))

    def budget(self, loss: float) -> float:
        """Return a lower bound on the budget of any mechanism with at most that loss."""
        if not self.price > 0:
            return 0.0
        value = self.gain - loss * self.unit
        value -= 4 * ROUNDOFF * (abs(self.gain) + loss * self.unit)
        return _if_normal(self.unit * (value / self.price) * (1 - 8 * ROUNDOFF))


def _if_normal(bound: float) -> float:
    """Return the bound, or zero beyond float64's normal numbers, where rounding is unbounded."""
    return bound if SMALLEST <= bound < math.inf else 0.0


def dual_bound(
    witnesses: Sequence[Witness], budget: float, independent: Indices | None = None
) -> DualBound:
    """Return the bound that the witnesses of a design prove, rounded to the safe side.

    With `independent`, the bound is for noise of equal variances on those entries S, independent
    of each other and of the rest U: ⟨Γ, P⟩ ≤ tr Γ · max(λ_max(P_UU), tr P_SS / |S|).
    """
    gains = [witness.weight * _gain(witness, budget) for witness in witnesses]
    # The weights, too, were rounded when they were scaled to a total of 1.
    gain = math.fsum(gains) - 8 * ROUNDOFF * len(gains) * math.fsum(map(abs, gains))
    rows = np.array([math.sqrt(w.weight) * w.reading for w in witnesses])
    if independent is None:
        price = _largest(rows)
    else:
        own = float(np.sum(rows[:, independent] ** 2)) / independent.size
        shared = np.delete(rows, independent, axis=1)
        price = max(_largest(shared) if shared.size else 0.0, own * (1 + 4 * rows.size * ROUNDOFF))
    if not (math.isfinite(gain) and SMALLEST / ROUNDOFF < price < math.inf):
        return DualBound(0.0, 0.0, budget)  # squares vanish or overflow: nothing is claimed
    return DualBound(gain, price, budget)


def _gain(witness: Witness, budget: float) -> float:
    """Return B (2 yᵀa − yᵀC y) less what rounding may have added to it."""
    y, shift, block = witness.reading, witness.block.shifts[:, 0], witness.block
    value = float(2 * (y @ shift) - y @ (block.spread @ y / budget))
    lengths = np.abs(y)
    root = float(lengths @ np.sqrt(np.maximum(np.diagonal(block.spread), 0.0)))
    products = 2 * float(lengths @ np.abs(shift)) + root / budget * root
    blurred = float(lengths @ block.spread_error)
    inputs = 2 * float(lengths @ block.shift_error[:, 0]) + blurred / budget * blurred
    return value - 1.01 * float((2 * y.size + 8) * ROUNDOFF * products + inputs)


def _largest(rows: Array) -> float:
    """Return an upper bound of λ_max(Σ y yᵀ) = λ_max of the smaller Gram matrix."""
    small = rows @ rows.T if rows.shape[0] <= rows.shape[1] else rows.T @ rows
    margin = 16 * max(rows.shape) * ROUNDOFF * float(np.trace(small))
    return float(np.linalg.eigvalsh(small)[-1]) + float(margin)


# The task -----------------------------------------------------------------------------------------


@attrs.frozen(eq=False)
class Solution:
    """Noise L Lᵀ + diag(extra) of some total variance, and the witnesses of its optimality."""

    factor: Array
    witnesses: tuple[Witness, ...] = ()
    extra: Array | None = None


@attrs.frozen(eq=False)
class Certified:
    """Noise, its losses over the class, and what no other noise of that budget can beat."""

    noise: Matrix
    losses: ClassLosses
    bound: DualBound
    route: str


def _read_again(solution: Solution, noise: Matrix, budget: float) -> tuple[Witness, ...]:
    """Return the witnesses with the readings (C + Γ)⁻¹a, which tell most under the noise itself.

    Any readings prove a bound; those of a solver may be far off where the shifts are huge.
    """
    dense, found = noise.dense(), []
    for witness in solution.witnesses:
        total, shift = witness.block.spread + dense, witness.block.shifts[:, 0]
        try:
            reading = np.asarray(budget * np.linalg.solve(total, shift))
        except np.linalg.LinAlgError:
            return solution.witnesses
        found.append(attrs.evolve(witness, reading=reading))
    return tuple(found)


@attrs.frozen(eq=False)
class Task:
    """Noise of total variance `budget` for a prior class and a secret."""

    members: Members
    budget: float
    floor: float  # share κ of the budget that is spent on independent noise on every entry
    tolerance: float  # largest relative gap between loss and lower bound, the floor's price apart
    independent: Indices | None = None  # their noise is independent, of one variance, and apart

    @property
    def belief(self) -> Gaussian:
        """The first member's belief."""
        return self.members.first.belief

    @property
    def question(self) -> Displacements:
        """What the secret asks of it."""
        return self.members.first.question

    def even_noise(self) -> Matrix:
        """Return the budget spread evenly over all entries."""
        return Diagonal.constant(self.budget / self.belief.entries, self.belief.entries)

    def sampled_noise(self, solution: Solution) -> Matrix:
        """Return (1 − κ)(L Lᵀ + extra) + κ (B/n) I: the solution with a floor inside its budget.

        Low-rank noise stored in float64 is not the noise of the formula: a smooth prior knows that
        a wiggle of 1e-16 is not the trace, and takes it out. Independent noise on every entry,
        counted in the budget and really drawn, covers the rounding and costs at most 1/(1 − κ) of
        the loss.
        """
        size = solution.factor.shape[0]
        variances = np.full(size, self.floor * self.budget / size)
        if solution.extra is not None:
            variances += (1 - self.floor) * solution.extra
        if not np.any(solution.factor):
            return Diagonal(variances)
        shared = LowRank(math.sqrt(1 - self.floor) * solution.factor)
        return Sum((shared, Diagonal(variances)))

    def certify(self, solution: Solution, route: str) -> Certified:
        """Return the noise that a solution stands for, measured over the whole class."""
        noise = self.sampled_noise(solution)
        bound = dual_bound(solution.witnesses, self.budget, self.independent)
        found = Certified(noise, self.members.losses(noise), bound, route)
        if self.met(found):
            return found
        other = dual_bound(_read_again(solution, noise, self.budget), self.budget, self.independent)
        return attrs.evolve(found, bound=max(bound, other, key=lambda b: b.loss(self.budget)))

    def lower(self, found: Certified) -> float:
        """Return the certified lower bound on the loss of any noise of the budget."""
        return found.bound.loss(self.budget)

    def gap(self, found: Certified) -> float:
        """Return loss / lower bound − 1, or refuse two figures that contradict each other."""
        lower = self.lower(found)
        if found.losses.worst < lower * (1 - CONTRADICTION):
            raise SolverFailed(
                f"{found.route} must prove a lower bound below the loss it attains; got "
                f"{lower:.6g} above {found.losses.worst:.6g}: use a moderate budget or other units."
            )
        if found.losses.worst <= lower:
            return 0.0
        return found.losses.worst / lower - 1 if lower > 0 else np.inf

    def met(self, found: Certified) -> bool:
        """Whether loss and lower bound agree to the tolerance."""
        return (1 + self.gap(found)) * (1 - self.floor) <= 1 + self.tolerance
