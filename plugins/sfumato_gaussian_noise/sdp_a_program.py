"""The program SDP_A of Meehan and Chaudhuri."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.matrices import Diagonal, LowRank, Matrix, Sum
from sfumato.matrices.matrix import ROUNDOFF, Array
from sfumato_gaussian_noise.blocks import Block
from sfumato_gaussian_noise.solved import solve

FAR = 1e6
"""Spread, in units of what noise adds, beyond which noise makes no difference to a solver."""


def sdp_a(block: Block, entries: tuple[int, ...], budget: float, rescale: float = 1.0) -> Matrix:
    """Return the noise of SDP_A for one secret S, of total variance at most `budget`.

    The program is max β subject to Ã⁺(C + Γ)Ã⁺ᵀ ⪰ β I, tr Γ ≤ B, Γ ⪰ 0, with Ã⁺ the pseudo-inverse
    of the regression on the secret: the smallest eigenvalue of Ã⁺(C + Γ)Ã⁺ᵀ stands in for that of
    (Ãᵀ(C + Γ)⁻¹Ã)⁻¹, and the larger it is, the smaller their bound of the loss is hoped to be.
    From the solution only σ² = the mean of the diagonal of Γ_SS and the block Γ_UU are kept, as the
    mechanism is Γ_SS = σ² I, Γ_SU = 0.

    With `rescale` the program is solved for that multiple of the budget and the noise is divided
    by it afterwards.

    Reference: Meehan and Chaudhuri (2021), appendix 7.3.1.

    >>> block = Block(np.ones((2, 1)), np.zeros((2, 2)), ((0,),), np.zeros((2, 1)), np.zeros(2))
    >>> sdp_a(block, (0,), 2.0).dense().round(4)
    array([[1., 0.],
           [0., 1.]])
    """
    size, count = block.shifts.shape
    if count == 1:
        return _repaired(_one_entry(block.shifts[:, 0], budget), np.array(entries), budget)
    import cvxpy as cp

    inverse = np.linalg.pinv(block.shifts)
    noise, smallest = cp.Variable((size, size), PSD=True), cp.Variable()
    # In units of the budget, and beyond the spread that is there without noise, β is of order one.
    scale = float(np.trace(inverse @ inverse.T)) / count
    held = inverse @ noise @ inverse.T / scale
    held += _beyond_the_least(inverse @ block.spread @ inverse.T / scale, rescale * budget)
    problem = cp.Problem(
        cp.Maximize(smallest),
        [held - smallest * np.eye(count) >> 0, cp.trace(noise) <= 1],
    )
    solve(problem, "CLARABEL", "SDP_A")
    return _repaired(np.asarray(noise.value) * budget, np.array(entries), budget)


def _beyond_the_least(spread: Array, total: float) -> Array:
    """Return D/total less a multiple of the identity, which moves β and nothing else.

    Eigenvalues far above what noise adds are cut off: by the Schur complement, a cut at c moves the
    optimal β by at most the share 1/c.
    """
    values, vectors = np.linalg.eigh((spread + spread.T) / 2)
    above = values - values[0]
    above[above <= 16 * values.size * ROUNDOFF * np.max(np.abs(values))] = 0.0  # equal, but rounded
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        beyond = np.nan_to_num(above / total, nan=0.0, posinf=FAR)
    return np.asarray((vectors * np.minimum(beyond, FAR)) @ vectors.T)


def _one_entry(shift: Array, budget: float) -> Array:
    """Return the solution for one secret entry: B ããᵀ / |ã|², whatever the rescaling.

    Ã⁺ is the row ãᵀ / |ã|², so the program maximises ãᵀ Γ ã under tr Γ ≤ B; a linear function of
    the spectraplex is largest at the projector on its top eigenvector, here ã itself.
    """
    return np.asarray(budget * np.outer(shift, shift) / float(shift @ shift))


def _repaired(noise: Array, secret: NDArray[np.intp], budget: float) -> Matrix:
    """Keep the two blocks, semidefinite and within budget, whatever slack the solver left."""
    others = np.setdiff1d(np.arange(len(noise)), secret)
    block = noise[np.ix_(others, others)]
    values, vectors = np.linalg.eigh((block + block.T) / 2)
    values = values + max(0.0, -float(values.min(initial=0.0)))
    factor = np.zeros((len(noise), others.size))
    factor[others] = vectors * np.sqrt(values)
    variances = np.zeros(len(noise))
    variances[secret] = max(0.0, float(np.mean(np.diagonal(noise)[secret])))
    share = min(1.0, budget / float(np.sum(values) + np.sum(variances)))
    own = Diagonal(variances * share)
    return Sum((LowRank(factor * np.sqrt(share)), own)) if others.size else own
