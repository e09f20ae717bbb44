"""The finite channel inside a noisy one."""

from __future__ import annotations

import numpy as np

from sfumato.channels.noisy_vectors import NoisyVectors
from sfumato.channels.symbols import Symbols


def without_noise(channel: NoisyVectors) -> Symbols:
    """Return the channel that tells which mean the state has, and adds nothing.

    The noisy output is computed from that symbol and independent noise, so whatever bounds the
    success of those who see the symbols also bounds the success of those who see noise
    (data processing).

    Examples
    --------
    >>> noisy = NoisyVectors(("a", "b", "c"), [[[0.0], [1.0], [0.0]]], scale=2.0)
    >>> without_noise(noisy).probabilities[0].tolist()
    [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]
    """
    steps, count, _ = channel.means.shape
    numbers = np.empty((steps, count), dtype=np.intp)
    for time, means in enumerate(channel.means):
        numbers[time] = np.unique(means, axis=0, return_inverse=True)[1].reshape(-1)
    symbols = int(numbers.max()) + 1
    return Symbols(channel.states, tuple(range(symbols)), np.eye(symbols)[numbers])
