"""The step to the top of a parabola through the values on a stencil."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

FARTHEST = 8.0
"""Longest step along any axis, in units of the stencil."""


def quadratic_step(offsets: Array, gains: Array) -> Array:
    """Return where f is largest if f(u) = gᵀu + ½ uᵀH u, in units of the stencil.

    Offsets (m, w) are those of the stencil, gains (m, k) the values there less the one at the
    centre, for k functions; the result is (k, w). H is taken by its absolute eigenvalues, so that
    the step leads uphill along a ridge that is not curved at all, and it is shortened to
    `FARTHEST`. Where a gain is not finite, it is zero.

    >>> offsets = np.array([[-1.0], [1.0]])
    >>> quadratic_step(offsets, -np.square(offsets - 3.0) + 9.0)
    array([[3.]])
    """
    width = offsets.shape[1]
    rows, columns = np.triu_indices(width)
    squares = offsets[:, rows] * offsets[:, columns] / np.where(rows == columns, 2.0, 1.0)
    usable = np.all(np.isfinite(gains), axis=0)
    fitted = np.linalg.pinv(np.hstack([offsets, squares])) @ np.where(usable, gains, 0.0)
    slopes, curved = fitted[:width].T, fitted[width:].T
    hessians = np.zeros((gains.shape[1], width, width))
    hessians[:, rows, columns] = curved
    hessians[:, columns, rows] = curved
    values, vectors = np.linalg.eigh(hessians)
    sizes = np.abs(values)
    sizes = np.maximum(sizes, 1e-12 * sizes.max(axis=1, keepdims=True) + 1e-300)
    along = np.einsum("kij,ki->kj", vectors, slopes) / sizes
    steps = np.einsum("kij,kj->ki", vectors, np.clip(along, -1e9, 1e9))
    longest = np.max(np.abs(steps), axis=1, keepdims=True)
    return np.asarray(steps * np.minimum(1.0, FARTHEST / np.maximum(longest, FARTHEST)))
