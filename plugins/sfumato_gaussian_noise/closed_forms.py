"""The best noise where a formula gives it."""

from __future__ import annotations

import math

import attrs
import numpy as np

from sfumato.matrices.matrix import Array
from sfumato_gaussian_noise.blocks import Block
from sfumato_gaussian_noise.dual_bound import Witness


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
