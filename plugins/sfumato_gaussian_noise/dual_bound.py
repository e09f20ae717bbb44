"""What no mechanism can beat: a certified lower bound on the loss at every budget."""

from __future__ import annotations

import math
from collections.abc import Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.matrices.matrix import ROUNDOFF, Array
from sfumato_gaussian_noise.blocks import Block

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
