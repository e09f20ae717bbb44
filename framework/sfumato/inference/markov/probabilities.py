"""Vector-matrix products of probabilities kept as logarithms: no underflow, exact zeros."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs import Markov
from sfumato.values import FloatArray

SMALL = 1e-100
"""Products of three positive numbers at least this large cannot underflow."""

LOG_SMALL = float(np.log(SMALL))

SMALLEST = 1e-150
"""Probabilities above this multiply in pairs without underflow."""

_ENTRIES = 40_000
"""How many products are held at once: about what a core's own cache holds."""


def log_of(probabilities: FloatArray) -> FloatArray:
    """Return logarithms, −∞ for an exact zero.

    >>> import numpy as np
    >>> from sfumato.inference.markov.probabilities import log_of
    >>> log_of(np.array([1.0, 0.0])).tolist()
    [0.0, -inf]
    """
    with np.errstate(divide="ignore"):
        return np.log(probabilities)


def row_maxima(log_rows: FloatArray) -> FloatArray:
    """Return the largest entry of every row, 0 for a row of exact zeros; keeps the axis."""
    largest = log_rows.max(axis=-1, keepdims=True)
    return np.asarray(np.where(np.isneginf(largest), 0.0, largest))


def is_risky(log_rows: FloatArray) -> NDArray[np.bool_]:
    """Whether a row, scaled to a largest entry of one, has a positive entry below `SMALL`."""
    return np.asarray(((log_rows < LOG_SMALL) & (log_rows > -np.inf)).any(axis=-1))


def log_sum(log_rows: FloatArray) -> FloatArray:
    """Return log Σ exp along the last axis.

    >>> import numpy as np
    >>> from sfumato.inference.markov.probabilities import log_sum
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

    >>> import numpy as np
    >>> from sfumato.inference.markov.probabilities import log_product
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


def max_products(
    rows: FloatArray, matrix: FloatArray, scale: Literal["linear", "log"] = "linear"
) -> FloatArray:
    """Return max_k rows[b, k] · matrix[k, m] as (B, M); with logarithms, sums for products.

    Linear entries are not negative; the maximum over no k at all is 0, or −∞ as a logarithm.

    >>> import numpy as np
    >>> from sfumato.inference.markov.probabilities import max_products
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


def entropies(laws: FloatArray) -> FloatArray:
    """Return −Σ p log p along the last axis, in nats.

    Near one, −p log p hangs on digits that p does not have: the largest p of a law is taken to
    be one minus all the others, and its logarithm is log1p of minus their sum. Every term is then
    positive and has a small relative error, and so has their sum.

    >>> import numpy as np
    >>> from sfumato.inference.markov.probabilities import entropies
    >>> entropies(np.array([[0.5, 0.5], [1.0, 0.0]])).round(6).tolist()
    [0.693147, 0.0]
    >>> entropies(np.array([1.0, 1e-30])).tolist()
    7.007755278982138e-29
    """
    largest = laws.argmax(axis=-1)[..., None]
    top = np.take_along_axis(laws, largest, axis=-1)[..., 0]
    others = laws.copy()
    np.put_along_axis(others, largest, 0.0, axis=-1)
    return np.asarray(entropy_terms(others).sum(axis=-1) + top_term(top, others.sum(axis=-1)))


def entropy_terms(chances: FloatArray) -> FloatArray:
    """Return −p log p, 0 for p = 0."""
    logs = np.log(chances, where=chances > 0.0, out=np.zeros_like(chances))
    return np.asarray(0.0 - chances * logs)


def top_term(top: FloatArray, rest: FloatArray) -> FloatArray:
    """Return −p log p of the largest probability of a law, whose others sum to `rest`.

    >>> import numpy as np
    >>> from sfumato.inference.markov.probabilities import top_term
    >>> top_term(np.array([1.0]), np.array([1e-30])).tolist()
    [1e-30]
    """
    near = 0.0 - top * np.log1p(-np.minimum(rest, 0.5))
    return np.asarray(np.where(rest < 0.5, near, entropy_terms(top)))


def reachable_states(belief: Markov, marginals: FloatArray | None = None) -> NDArray[np.bool_]:
    """Return whether Pr[X_t = k] > 0, (T, M); possibilities cannot underflow.

    The marginals of the belief, where they are known already, spare most of the work.

    >>> from sfumato.beliefs import Markov
    >>> from sfumato.inference.markov.probabilities import reachable_states
    >>> chain = Markov([1.0, 0.0], [[1e-200, 1.0], [0.0, 1.0]], steps=4)
    >>> chain.marginals()[-1, 0], reachable_states(chain)[-1, 0]
    (np.float64(0.0), np.True_)
    """
    if marginals is not None and belief.smallest_probability > SMALLEST:
        positive = marginals > 0.0
        if marginals.min(initial=1.0, where=positive) > SMALLEST:
            return np.asarray(positive)
    possible = np.empty((belief.steps, belief.state_count), dtype=bool)
    possible[0] = belief.initial > 0.0
    for time, moves in enumerate(belief.transitions > 0.0):
        possible[time + 1] = possible[time] @ moves
    return possible
