"""How often a chain is where it is always guessed to be."""

from __future__ import annotations

import numpy as np

from sfumato.beliefs.markov import Markov
from sfumato.probabilities import FloatArray


def staying_successes(belief: Markov, mistakes: int) -> FloatArray:
    """Return Pr[X_t = l for all but at most `mistakes` times t], for every state l, (M,).

    A law over (mistakes so far, state) is carried along for all l at once.

    Examples
    --------
    >>> chain = Markov([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], steps=2)
    >>> staying_successes(chain, 0).tolist(), staying_successes(chain, 1).tolist()
    ([0.25, 0.25], [0.75, 0.75])
    """
    count = belief.state_count
    if mistakes >= belief.steps:
        return np.ones(count)
    places = np.arange(count)
    law = np.zeros((count, mistakes + 1, count))  # (guessed place, mistakes so far, state)
    law[:, 0] = belief.initial
    for time in range(belief.steps):
        law = law if time == 0 else law @ belief.matrix(time - 1)
        judged = np.zeros_like(law)
        judged[:, 1:] = law[:, :-1]
        judged[places, :, places] = law[places, :, places]
        law = judged
    return np.asarray(np.minimum(law.sum(axis=(1, 2)), 1.0))
