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

    Linear entries are not negative; the maximum over no k at all is 0, or −∞ as a logarithm.

    Examples
    --------
    >>> max_products(np.array([[1.0, 2.0]]), np.array([[3.0, 0.0], [1.0, 1.0]])).tolist()
    [[3.0, 2.0]]
    """
    combine, nothing = (np.multiply, 0.0) if scale == "linear" else (np.add, -np.inf)
    best = np.empty((len(rows), matrix.shape[1]))
    width = max(1, _ENTRIES // max(len(matrix), 1))
    for left in range(0, matrix.shape[1], width):
        block = slice(left, left + width)
        columns = matrix[:, block]
        tall = len(matrix) > columns.shape[1]  # the longer axis goes last, where numpy is quick
        table = np.ascontiguousarray(columns.T if tall else columns)
        stride = max(1, _ENTRIES // max(table.size, 1))
        for begin in range(0, len(rows), stride):
            part = slice(begin, begin + stride)
            given = rows[part, None, :] if tall else rows[part, :, None]
            products = combine(given, table)
            best[part, block] = products.max(axis=2 if tall else 1, initial=nothing)
    return best
