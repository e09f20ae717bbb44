"""Which states a chain can be in at all."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs.markov import Markov
from sfumato.probabilities import FloatArray

SMALLEST = 1e-150
"""Probabilities above this multiply in pairs without underflow."""


def reachable_states(belief: Markov, marginals: FloatArray | None = None) -> NDArray[np.bool_]:
    """Return whether Pr[X_t = k] > 0, (T, M); possibilities cannot underflow.

    The marginals of the belief, where they are known already, spare most of the work.

    Examples
    --------
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
