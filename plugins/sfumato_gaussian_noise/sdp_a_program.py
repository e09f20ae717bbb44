"""The program SDP_A of Meehan and Chaudhuri."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.matrices import Diagonal, LowRank, Matrix, Sum
from sfumato.matrices.matrix import ROUNDOFF, Array
from sfumato_gaussian_noise.blocks import Block

FAR = 1e8
"""Spread, in units of what noise adds, beyond which noise makes no difference in float64."""


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
    if block.shifts.shape[1] == 1:
        noise = _one_entry(block.shifts[:, 0], budget)
    else:
        noise = budget * _several_entries(block, rescale * budget)
    return _repaired(noise, np.array(entries), budget)


def _one_entry(shift: Array, budget: float) -> Array:
    """Return the solution for one secret entry: B ããᵀ / |ã|², whatever the rescaling.

    Ã⁺ is the row ãᵀ / |ã|², so the program maximises ãᵀ Γ ã under tr Γ ≤ B; a linear function of
    the spectraplex is largest at the projector on its top eigenvector, here ã itself.
    """
    return np.asarray(budget * np.outer(shift, shift) / float(shift @ shift))


def _several_entries(block: Block, total: float) -> Array:
    """Return the solution for several secret entries, of trace one, for the budget `total`.

    Only Ã⁺ Γ Ã⁺ᵀ counts, so Γ = Q G Qᵀ in the span of the columns of Ã = Q R, where the constraint
    reads G ⪰ R (β I − K) Rᵀ with K = Ã⁺ C Ã⁺ᵀ. The matrix of smallest trace that is semidefinite
    and above another one is the other one's positive part, and its trace grows with β.
    """
    from scipy.optimize import brentq

    basis, root = np.linalg.qr(block.shifts)
    root = root / (np.linalg.norm(root) / np.sqrt(len(root)))
    inverse = np.linalg.inv(root) @ basis.T
    beyond = _beyond_the_least(inverse @ block.spread @ inverse.T, total)

    def above(level: float) -> tuple[Array, Array]:
        inner = root @ (level * np.eye(len(root)) - beyond) @ root.T
        values, vectors = np.linalg.eigh((inner + inner.T) / 2)
        return np.maximum(values, 0.0), vectors

    enough = (1.0 + float(np.trace(root @ beyond @ root.T))) / len(root)
    level = brentq(lambda level: float(above(level)[0].sum()) - 1.0, 0.0, 2.0 * enough, rtol=1e-14)
    values, vectors = above(level)
    factor = basis @ (vectors * np.sqrt(values / values.sum()))
    return np.asarray(factor @ factor.T)


def _beyond_the_least(spread: Array, total: float) -> Array:
    """Return K/total less a multiple of the identity, which moves β and nothing else.

    Eigenvalues far above what noise adds are cut off: by the Schur complement, a cut at c moves the
    optimal β by at most the share 1/c.
    """
    values, vectors = np.linalg.eigh((spread + spread.T) / 2)
    above = values - values[0]
    above[above <= 16 * values.size * ROUNDOFF * np.max(np.abs(values))] = 0.0  # equal, but rounded
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        beyond = np.nan_to_num(above / total, nan=0.0, posinf=FAR)
    return np.asarray((vectors * np.minimum(beyond, FAR)) @ vectors.T)


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
