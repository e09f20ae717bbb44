"""The program SDP_A of Meehan and Chaudhuri."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.matrices import Diagonal, LowRank, Matrix, Sum
from sfumato.matrices.matrix import Array
from sfumato_gaussian_noise.blocks import Block


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

    >>> block = Block(np.ones((2, 1)), np.zeros((2, 2)), ((0,),), np.zeros((2, 1)), 0.0)
    >>> sdp_a(block, (0,), 2.0).dense().round(4)
    array([[1., 0.],
           [0., 1.]])
    """
    if block.shifts.shape[1] == 1:
        noise = _one_entry(block.shifts[:, 0], budget)
    else:
        noise = _several_entries(block, rescale * budget) / rescale
    return _repaired(noise, np.array(entries), budget)


def _one_entry(shift: Array, budget: float) -> Array:
    """Return the solution for one secret entry: B ããᵀ / |ã|², whatever the rescaling.

    Ã⁺ is the row ãᵀ / |ã|², so the program maximises ãᵀ Γ ã under tr Γ ≤ B; a linear function of
    the spectraplex is largest at the projector on its top eigenvector, here ã itself.
    """
    return np.asarray(budget * np.outer(shift, shift) / float(shift @ shift))


def _several_entries(block: Block, budget: float) -> Array:
    """Return the solution Γ = (β Ã Ãᵀ − Π C Π)₊, β such that its trace is the budget.

    Only Ã⁺ Γ Ã⁺ᵀ counts, so Γ lies in the span of the columns of Ã, whose projector is Π; there the
    constraint reads Γ ⪰ β Ã Ãᵀ − Π C Π, and the matrix of smallest trace that is semidefinite and
    above another one is the other one's positive part. Its trace grows with β.
    """
    from scipy.optimize import brentq

    basis, corner = np.linalg.qr(block.shifts)
    gain, spread = corner @ corner.T, basis.T @ block.spread @ basis

    def excess(level: float) -> float:
        return float(np.maximum(np.linalg.eigvalsh(level * gain - spread), 0.0).sum()) - budget

    highest = (budget + float(np.trace(spread))) / float(np.trace(gain))
    level = brentq(excess, 0.0, 2.0 * highest, xtol=1e-15 * highest, rtol=1e-14)
    values, vectors = np.linalg.eigh(level * gain - spread)
    factor = basis @ (vectors * np.sqrt(np.maximum(values, 0.0)))
    return np.asarray(factor @ factor.T)


def _repaired(noise: Array, secret: NDArray[np.intp], budget: float) -> Matrix:
    """Keep the two blocks, semidefinite and within budget, whatever rounding left."""
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
