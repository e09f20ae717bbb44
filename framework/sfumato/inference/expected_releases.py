"""How many states a suppression releases on average."""

from __future__ import annotations

import numpy as np

from sfumato.beliefs.markov import Markov
from sfumato.channels.suppression import Suppression


def expected_releases(belief: Markov, channel: Suppression) -> float:
    """Return E[number of released states].

    Let ρ(u, i) be the chance that state i is released at time u.
    The chance W_t(j) that nothing was released since and X_t = j follows the chain through the
    suppressed steps, and what is released at t adds W_t(j)(1 − p_t(j)) to ρ(t, j).
    """
    if channel.after is None:
        return float((belief.marginals() * (1.0 - channel.start)).sum())
    released = np.zeros((belief.steps, belief.state_count))
    silent = belief.initial
    for time in range(belief.steps):
        released[time] += silent * (1.0 - channel.start[time])
        if time + 1 < belief.steps:
            silent = (silent * channel.start[time]) @ belief.matrix(time)
    for start in range(belief.steps - 1):
        table = channel.after[start]  # (M, T, M): by last state, time, state
        waiting = released[start][:, None] * belief.matrix(start)
        for time in range(start + 1, belief.steps):
            released[time] += (waiting * (1.0 - table[:, time])).sum(axis=0)
            if time + 1 < belief.steps:
                waiting = (waiting * table[:, time]) @ belief.matrix(time)
    return float(released.sum())
