"""What is to be designed, what bounds it from below, and when a design is good enough."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs import Gaussian
from sfumato.errors import SolverFailed
from sfumato.matrices import Diagonal, LowRank, Matrix, Sum
from sfumato.matrices.matrix import ROUNDOFF, Array
from sfumato.protocols import PriorClass, Secret
from sfumato_gaussian_noise.blocks import Block, ClassLosses, class_losses

SMALLEST = float(np.finfo(np.float64).tiny)
"""Below it float64 rounds without a relative bound."""


@attrs.frozen(eq=False)
class Witness:
    """A displacement (a block of one shift a), its weight w, and a way y of reading the release.

    `reading` is B y for the budget B of the design: y itself, about a/B, has squares that vanish.
    `source` is the position, in the program that found the witness, of the block it comes from.
    """

    weight: float
    block: Block
    reading: Array
    source: int = 0


@attrs.frozen
class DualBound:
    """Every noise of total variance b has worst loss ≥ (gain − price · b/B)/B, whatever its shape.

    B, the `unit`, is the budget of a design. For any y, aᵀ(C + Γ)⁻¹a ≥ 2 yᵀa − yᵀ(C + Γ)y, so for
    weights w of total at most 1 the worst loss is at least Σ w (2 yᵀa − yᵀC y) − ⟨Γ, P⟩ with
    P = Σ w y yᵀ, and ⟨Γ, P⟩ ≤ tr Γ · λ_max(P). The gain is B times the first sum, the
    price B² λ_max(P): neither vanishes for a huge budget.

    >>> round(DualBound(gain=4.0, price=1.0, unit=2.0).loss(budget=2.0), 9)
    1.5
    """

    gain: float
    price: float
    unit: float

    def loss(self, budget: float) -> float:
        """Return a lower bound on the loss of any mechanism with that budget."""
        cost = budget / self.unit * self.price
        value = self.gain - cost - 4 * ROUNDOFF * (abs(self.gain) + cost)
        loss = value / self.unit * (1 - 4 * ROUNDOFF)
        # Beyond float64's normal numbers rounding has no relative bound: nothing is claimed.
        return loss if SMALLEST <= loss < math.inf else 0.0

    def budget(self, loss: float) -> float:
        """Return a lower bound on the budget of any mechanism with at most that loss."""
        if not self.price > 0:
            return 0.0
        value = self.gain - loss * self.unit
        value -= 4 * ROUNDOFF * (abs(self.gain) + loss * self.unit)
        budget = self.unit * (value / self.price) * (1 - 8 * ROUNDOFF)
        return budget if SMALLEST <= budget < math.inf else 0.0


def dual_bound(
    witnesses: Sequence[Witness], budget: float, independent: NDArray[np.intp] | None = None
) -> DualBound:
    """Return the bound that the witnesses of a design prove, rounded to the safe side.

    With `independent`, the bound is for noise of equal variances on those entries S, independent
    of each other and of the rest U: ⟨Γ, P⟩ ≤ tr Γ · max(λ_max(P_UU), tr P_SS / |S|).

    >>> block = Block(np.ones((1, 1)), np.zeros((1, 1)), ((0,),), np.zeros((1, 1)), np.zeros(1))
    >>> bound = dual_bound([Witness(1.0, block, np.array([1.0]))], budget=1.0)
    >>> round(bound.loss(budget=1.0), 9)
    1.0
    """
    gains = [witness.weight * _gain(witness, budget) for witness in witnesses]
    # The weights, too, were rounded when they were scaled to a total of 1.
    gain = math.fsum(gains) - 8 * ROUNDOFF * len(gains) * math.fsum(map(abs, gains))
    rows = np.array([math.sqrt(w.weight) * w.reading for w in witnesses])
    if independent is None:
        return _proved(gain, _largest(rows), budget)
    others = np.setdiff1d(np.arange(rows.shape[1]), independent)
    shared = _largest(rows[:, others]) if others.size else 0.0
    own = float(np.sum(rows[:, independent] ** 2)) / independent.size
    return _proved(gain, max(shared, own * (1 + 4 * rows.size * ROUNDOFF)), budget)


def _proved(gain: float, price: float, budget: float) -> DualBound:
    """Return the bound, or one that says nothing where squares vanish or overflow."""
    if not (math.isfinite(gain) and SMALLEST / ROUNDOFF < price < math.inf):
        return DualBound(0.0, 0.0, budget)
    return DualBound(gain, price, budget)


def _gain(witness: Witness, budget: float) -> float:
    """Return B (2 yᵀa − yᵀC y) less what rounding may have added to it."""
    y, shift, block = witness.reading, witness.block.shifts[:, 0], witness.block
    size = y.size
    value = float(2 * (y @ shift) - y @ (block.spread @ y / budget))
    lengths = np.abs(y)
    root = np.sqrt(np.maximum(np.diagonal(block.spread), 0.0))
    products = 2 * float(lengths @ np.abs(shift)) + float(lengths @ root) / budget * float(
        lengths @ root
    )
    blurred = float(lengths @ block.spread_error)
    inputs = 2 * float(lengths @ block.shift_error[:, 0]) + blurred / budget * blurred
    return value - 1.01 * float((2 * size + 8) * ROUNDOFF * products + inputs)


def _largest(rows: Array) -> float:
    """Return an upper bound of λ_max(Σ y yᵀ) = λ_max of the smaller Gram matrix."""
    small = rows @ rows.T if rows.shape[0] <= rows.shape[1] else rows.T @ rows
    margin = 16 * max(rows.shape) * ROUNDOFF * float(np.trace(small))
    return float(np.linalg.eigvalsh(small)[-1]) + float(margin)


@attrs.frozen(eq=False)
class Solution:
    """Noise L Lᵀ + diag(extra) of some total variance, and the witnesses of its optimality."""

    factor: Array
    witnesses: tuple[Witness, ...]
    extra: Array | None = None


def one_ball(block: Block, budget: float) -> Solution:
    """Return the best noise for one ball of k values that are independent and alike.

    For one value, the maximum over Γ and the minimum over y of −2 yᵀa + yᵀ(C + Γ)y may be swapped;
    the inner maximum over tr Γ ≤ B is B ‖y‖², so y = (C + B I)⁻¹a and Γ = B ŷŷᵀ: one shared draw
    times a smooth bump, with the loss aᵀ(C + B I)⁻¹a that independent noise of variance B on every
    entry would have. Of k values that are independent and alike each takes B/k.

    >>> block = Block(np.eye(2)[:, :1], np.diag([0.0, 1.0]), ((0,),), np.zeros((2, 1)), np.zeros(2))
    >>> one_ball(block, 4.0).factor
    array([[2.],
           [0.]])
    """
    k = block.shifts.shape[1]
    unit = max(budget / k, float(np.diagonal(block.spread).max()))
    readings = budget / unit * _ridge(block.spread / unit, budget / k / unit, block.shifts)
    lengths = np.linalg.norm(readings, axis=0)
    factor = math.sqrt(budget / k) * readings / lengths
    return Solution(factor, _witnesses(block, readings))


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

    >>> block = Block(np.ones((2, 1)), np.zeros((2, 2)), ((0,),), np.zeros((2, 1)), np.zeros(2))
    >>> one_value_apart(block, 0, 2.0).extra.round(9)
    array([1., 0.])
    """
    n, shift = block.shifts.shape[0], block.shifts[:, 0]
    others = np.setdiff1d(np.arange(n), [entry])
    values, vectors = np.linalg.eigh(block.spread[np.ix_(others, others)])
    values, weights = np.maximum(values, 0.0), vectors.T @ shift[others]
    share = _share_of_the_rest(float(shift[entry]), weights, values, budget)
    variance = (1 - share) * budget
    reading, factor, extra = np.zeros(n), np.zeros((n, 1)), np.zeros(n)
    extra[entry] = variance
    reading[entry] = shift[entry] / (1 - share)
    if share > 0:
        rest = vectors @ (weights * (budget / (values + share * budget)))
        reading[others] = rest
        factor[others, 0] = math.sqrt(share * budget) * rest / np.linalg.norm(rest)
    return Solution(factor, _witnesses(block, reading[:, None]), extra)


def _share_of_the_rest(own: float, weights: Array, values: Array, budget: float) -> float:
    """Return the share τ/B at which a_s²/(B − τ) + Σ a_i²/(λ_i + τ) is smallest."""
    from scipy.optimize import brentq

    def slope(share: float) -> float:
        rest = budget / (values + share * budget)
        return abs(own) / (1 - share) - float(np.linalg.norm(weights * rest))

    tiny = 1e-12
    if slope(tiny) >= 0:
        return 0.0
    return float(brentq(slope, tiny, 1 - tiny, xtol=1e-15))


def _witnesses(block: Block, readings: Array) -> tuple[Witness, ...]:
    k = readings.shape[1]
    axes = np.eye(k)
    return tuple(Witness(1 / k, block.along(axes[i]), readings[:, i]) for i in range(k))


def sampled_noise(solution: Solution, budget: float, floor: float) -> Matrix:
    """Return (1 − κ)(L Lᵀ + extra) + κ (B/n) I: the solution with a floor inside its budget.

    Low-rank noise stored in float64 is not the noise of the formula: a smooth prior knows that a
    wiggle of 1e-16 is not the trace, and takes it out. Independent noise on every entry, counted in
    the budget and really drawn, covers the rounding and costs at most 1/(1 − κ) of the loss.

    >>> noise = sampled_noise(Solution(np.array([[1.0], [0.0]]), ()), 1.0, 0.5)
    >>> noise.diagonal()
    array([0.75, 0.25])
    """
    size = solution.factor.shape[0]
    variances = np.full(size, floor * budget / size)
    if solution.extra is not None:
        variances += (1 - floor) * solution.extra
    terms: list[Matrix] = [Diagonal(variances)]
    if np.any(solution.factor):
        terms.insert(0, LowRank(math.sqrt(1 - floor) * solution.factor))
    return Sum(tuple(terms)) if len(terms) > 1 else terms[0]


CONTRADICTION = 1e-9
"""A loss below its own lower bound by more than this share is no rounding of the loss."""


@attrs.frozen(eq=False)
class Certified:
    """Noise, its losses over the class, and what no other noise of that budget can beat."""

    noise: Matrix
    losses: ClassLosses
    bound: DualBound
    route: str


@attrs.frozen(eq=False, slots=False)
class Task:
    """Noise of total variance `budget` for a prior class and a secret.

    Attributes
    ----------
    floor : float
        Share κ of the budget that is spent on independent noise on every entry.
    tolerance : float
        Largest relative gap between the loss and the lower bound, the floor's price apart.
    independent : array, optional
        Entries whose noise must be independent, of equal variance, and apart from the rest.
    """

    prior: PriorClass
    secret: Secret
    budget: float
    floor: float
    tolerance: float
    independent: NDArray[np.intp] | None = None

    @functools.cached_property
    def belief(self) -> Gaussian:
        """The first member's belief: all members share the trace."""
        belief: Gaussian = next(self.prior.members()).belief()
        return belief

    def certify(self, solution: Solution, route: str) -> Certified:
        """Return the noise that a solution stands for, measured over the whole class."""
        noise = sampled_noise(solution, self.budget, self.floor)
        losses = class_losses(self.prior, self.secret, noise)
        bound = dual_bound(solution.witnesses, self.budget, self.independent)
        return Certified(noise, losses, bound, route)

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
