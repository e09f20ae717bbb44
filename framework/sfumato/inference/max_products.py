"""Products of matrices in which the sum is replaced by the maximum."""

from __future__ import annotations

from typing import Literal

import numpy as np

from sfumato.probabilities import FloatArray

_ENTRIES = 250_000
"""How many products are held at once: about what a processor's cache holds."""


def max_products(
    rows: FloatArray, matrix: FloatArray, scale: Literal["linear", "log"] = "linear"
) -> FloatArray:
    """Return max_k rows[b, k] · matrix[k, m] as (B, M); with logarithms, sums for products.

    Examples
    --------
    >>> max_products(np.array([[1.0, 2.0]]), np.array([[3.0, 0.0], [1.0, 1.0]])).tolist()
    [[3.0, 2.0]]
    """
    combine = np.multiply if scale == "linear" else np.add
    best = np.empty((len(rows), matrix.shape[1]))
    stride = max(1, _ENTRIES // matrix.size)
    for begin in range(0, len(rows), stride):
        part = slice(begin, begin + stride)
        best[part] = combine(rows[part, :, None], matrix).max(axis=1)
    return best
