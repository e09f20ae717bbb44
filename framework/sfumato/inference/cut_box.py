"""The corners of a box that a subspace cuts."""

from __future__ import annotations

import itertools
import math

import numpy as np

from sfumato.matrices.matrix import Array

MOST_CORNERS = 100_000
"""Candidates up to which all are looked at."""

SINGULAR, UNSURE = 1e-13, 1e-6
"""Smallest singular values below the first count as zero; between the two, nothing is sure."""

OUTSIDE = 1e-9
"""How far outside the box rounding may have put a corner: a corner too many errs upwards."""


def cut_box_corners(basis: Array) -> Array | None:
    """Return the corners of {Δ = T δ : |Δ_i| ≤ 1}, one of Δ and −Δ each, as rows; None if unsure.

    For a basis T, (k, r) with orthonormal columns, a corner has r independent rows of T at ±1. A
    convex function of Δ is largest at one of them.

    >>> cut_box_corners(np.array([[0.6], [0.8]])).round(9)
    array([[0.75, 1.  ]])
    """
    size, rank = basis.shape
    if math.comb(size, rank) * 2 ** (rank - 1) > MOST_CORNERS:
        return None
    rows = basis[np.array(list(itertools.combinations(range(size), rank)))]
    smallest = np.linalg.svd(rows, compute_uv=False)[:, -1]
    if np.any((smallest > SINGULAR) & (smallest < UNSURE)):
        return None
    signs = np.array([(1.0, *rest) for rest in itertools.product((1.0, -1.0), repeat=rank - 1)])
    chosen = rows[smallest >= UNSURE]
    values = np.linalg.solve(chosen, np.broadcast_to(signs.T, (len(chosen), *signs.T.shape)))
    corners = np.swapaxes(basis @ values, 1, 2).reshape(-1, size)
    return np.asarray(corners[np.max(np.abs(corners), axis=1) <= 1.0 + OUTSIDE])
