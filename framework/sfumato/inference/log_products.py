"""Vector-matrix products of probabilities kept as logarithms: no underflow, exact zeros."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.probabilities import FloatArray

SMALL = 1e-100
"""Products of three positive numbers at least this large cannot underflow."""

LOG_SMALL = float(np.log(SMALL))


def log_of(probabilities: FloatArray) -> FloatArray:
    """Return logarithms, −∞ for an exact zero.

    >>> log_of(np.array([1.0, 0.0])).tolist()
    [0.0, -inf]
    """
    with np.errstate(divide="ignore"):
        return np.log(probabilities)


def row_maxima(log_rows: FloatArray) -> FloatArray:
    """Return the largest entry of every row, 0 for a row of exact zeros; keeps the axis.

    >>> row_maxima(np.array([[-5.0, -3.0], [-np.inf, -np.inf]])).tolist()
    [[-3.0], [0.0]]
    """
    largest = log_rows.max(axis=-1, keepdims=True)
    return np.asarray(np.where(np.isneginf(largest), 0.0, largest))


def is_risky(log_rows: FloatArray) -> NDArray[np.bool_]:
    """Whether a row, scaled to a largest entry of one, has a positive entry below `SMALL`.

    >>> is_risky(np.array([[0.0, -np.inf], [0.0, -800.0]])).tolist()
    [False, True]
    """
    return np.asarray(((log_rows < LOG_SMALL) & (log_rows > -np.inf)).any(axis=-1))


def log_sum(log_rows: FloatArray) -> FloatArray:
    """Return log Σ exp along the last axis.

    >>> float(np.exp(log_sum(np.log(np.array([0.25, 0.5])))))
    0.75
    """
    shift = row_maxima(log_rows)
    return np.asarray(log_of(np.exp(log_rows - shift).sum(axis=-1)) + shift[..., 0])


def log_product(log_rows: FloatArray, matrix: FloatArray, smallest: float) -> FloatArray:
    """Return log(exp(log_rows) @ matrix), (..., M), whose smallest positive entry is given.

    Rows are scaled to a largest entry of one and multiplied as they are. Where a positive factor
    is below 1e-100 that could lose a term, so those rows are summed as logarithms instead: an
    entry of the result is −∞ if and only if it is exactly zero.

    >>> rows, matrix = np.log([[0.5, 0.5]]), np.array([[0.9, 0.1], [0.0, 1.0]])
    >>> np.exp(log_product(rows, matrix, 0.1)).round(12).tolist()
    [[0.45, 0.55]]
    """
    shift = row_maxima(log_rows)
    scaled = log_rows - shift
    result = log_of(np.exp(scaled) @ matrix) + shift
    risky = is_risky(scaled) | (smallest < SMALL)
    if risky.any():
        columns = log_of(matrix).T
        for place in zip(*np.nonzero(risky), strict=True):
            result[place] = log_sum(log_rows[place] + columns)
    return result
