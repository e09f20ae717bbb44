"""Some possible output that begins as given: the rest of a witness."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs.markov import Markov
from sfumato.channels.emission import Emission


def possible_states(belief: Markov, channel: Emission, prefix: Sequence[Any]) -> NDArray[np.bool_]:
    """Return which states are possible at the step after `prefix`, (M,).

    Examples
    --------
    >>> from sfumato.channels.suppression import Suppression
    >>> chain = Markov([0.5, 0.5], [[0.0, 1.0], [0.0, 1.0]], steps=2, states="ab")
    >>> channel = Suppression.memoryless("ab", [[0.0, 1.0], [0.0, 0.0]])
    >>> possible_states(chain, channel, ["a"]).tolist()
    [False, True]
    """
    possible = belief.initial > 0.0
    for time, row in enumerate(channel.evidence(prefix)):
        possible = possible & (row > -np.inf)
        possible = (belief.matrix(time)[possible] > 0.0).any(axis=0)
    return possible


def completed(belief: Markov, channel: Emission, prefix: Sequence[Any]) -> tuple[Any, ...]:
    """Return a complete output of positive probability that begins with a possible `prefix`.

    At each step the last symbol of the alphabet that is possible is taken: suppression, where
    the channel may suppress.

    Examples
    --------
    >>> from sfumato.channels.suppression import Suppression
    >>> chain = Markov([0.5, 0.5], [[0.0, 1.0], [0.0, 1.0]], steps=2, states="ab")
    >>> channel = Suppression.memoryless("ab", [[0.0, 1.0], [0.0, 0.0]])
    >>> completed(chain, channel, ["a"])
    ('a', 'b')
    """
    output = list(prefix)
    memory: Hashable = ()
    for time, symbol in enumerate(prefix):
        memory = channel.remember(memory, time, symbol)
    for time in range(len(output), belief.steps):
        possible = possible_states(belief, channel, output)
        rows = channel.next_evidence(memory, time) > -np.inf
        code = int(np.flatnonzero((rows & possible).any(axis=-1))[-1])
        output.append(channel.outputs()[time][code])
        memory = channel.remember(memory, time, output[-1])
    return tuple(output)
