"""Which states a chain can be in at all."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs.markov import Markov


def reachable_states(belief: Markov) -> NDArray[np.bool_]:
    """Return whether Pr[X_t = k] > 0, (T, M); possibilities cannot underflow.

    Examples
    --------
    >>> chain = Markov([1.0, 0.0], [[1e-200, 1.0], [0.0, 1.0]], steps=4)
    >>> chain.marginals()[-1, 0], reachable_states(chain)[-1, 0]
    (np.float64(0.0), np.True_)
    """
    possible = np.empty((belief.steps, belief.state_count), dtype=bool)
    possible[0] = belief.initial > 0.0
    for time, moves in enumerate(belief.transitions > 0.0):
        possible[time + 1] = possible[time] @ moves
    return possible
