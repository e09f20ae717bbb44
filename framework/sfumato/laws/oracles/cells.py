"""Real outputs in cells: what a finite table knows of a channel with noise."""

from __future__ import annotations

import itertools
import math

import numpy as np

from sfumato.channels import NoisyVectors, Symbols
from sfumato.laws.violation import NotHere
from sfumato.probabilities import FloatArray

MOST = 1_500
"""Outputs of the whole trace, at most."""

MARGIN = 3.0
"""Deviations around the means that are divided; beyond them a single cell on either side."""


def in_cells(channel: NoisyVectors) -> Symbols:
    """Return the channel that tells in which cell each real output lies.

    That is post-processing, so whatever an adversary gains by it is at most the truth.

    >>> noisy = NoisyVectors(("away", "here"), [[[0.0], [1.0]]], scale=1.0)
    >>> in_cells(noisy).probabilities.shape[:2]
    (1, 2)
    """
    steps, _, width = channel.means.shape
    count = math.floor(MOST ** (1.0 / (steps * width)) + 1e-9)
    if count < 2:
        raise NotHere("too many real outputs for cells")
    laws = [_law(channel, coordinate, count) for coordinate in range(width)]
    joint = laws[0]
    for law in laws[1:]:
        joint = (joint[..., :, None] * law[..., None, :]).reshape(*joint.shape[:2], -1)
    return Symbols(channel.states, tuple(range(joint.shape[2])), joint)


def _law(channel: NoisyVectors, coordinate: int, count: int) -> FloatArray:
    """Return the chance of every cell of one coordinate, (T, M, count)."""
    means = channel.means[:, :, coordinate]
    room = MARGIN * channel.scale
    cuts = np.linspace(means.min() - room, means.max() + room, count + 1)[1:-1]
    ends = [-math.inf, *cuts.tolist(), math.inf]
    chances = np.empty((*means.shape, count))
    for place in itertools.product(*map(range, means.shape)):
        scaled = [(end - means[place]) / channel.scale for end in ends]
        chances[place] = [_chance(low, high) for low, high in itertools.pairwise(scaled)]
    return np.asarray(chances / chances.sum(axis=2, keepdims=True))


def _chance(low: float, high: float) -> float:
    """Return Pr[low < N(0, 1) < high], from the tail in which nothing cancels."""
    if low > 0:
        low, high = -high, -low
    return 0.5 * (math.erfc(-high / math.sqrt(2.0)) - math.erfc(-low / math.sqrt(2.0)))


def without_noise(channel: NoisyVectors) -> Symbols:
    """Return the channel that tells the vectors themselves, from which noise only takes away.

    >>> noisy = NoisyVectors(("away", "here"), [[[0.0], [1.0]]], scale=1.0)
    >>> without_noise(noisy).probabilities.tolist()
    [[[1.0, 0.0], [0.0, 1.0]]]
    """
    vectors = [[tuple(row) for row in table] for table in channel.means.tolist()]
    alphabet = tuple(dict.fromkeys(vector for table in vectors for vector in table))
    chances = [[[float(v == symbol) for symbol in alphabet] for v in table] for table in vectors]
    return Symbols(channel.states, alphabet, chances)
