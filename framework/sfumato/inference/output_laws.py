"""The law of one single output, together with what happens at some time of the chain."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs.markov import Markov
from sfumato.channels.emission import Emission
from sfumato.errors import OutsideHypotheses
from sfumato.inference.enumeration import checked_pair
from sfumato.probabilities import FloatArray

MOST_NUMBERS = 20_000_000
"""That are kept at once before refusing: a channel may remember all that it has released."""

Masks = Mapping[int, NDArray[np.bool_]]


def output_laws(belief: Markov, channel: Emission, masks: Masks) -> list[FloatArray]:
    """Return, for every time t, Pr[o_t = y] and below it Pr[X_s ∈ masks[s], o_t = y] for each s.

    The tables are (1 + S, Y_t). One sweep forward carries, for each memory that the channel can
    have, the law of the present state, alone and together with each event that has happened
    (s ≤ t). An event to come depends on the output through the present state only, so it is
    weighed by Pr[X_s ∈ masks[s] | X_t].

    Examples
    --------
    >>> from sfumato.channels import Suppression
    >>> chain = Markov([0.5, 0.5], [[1.0, 0.0], [0.5, 0.5]], steps=2)
    >>> hidden_first = Suppression.memoryless((0, 1), [[1.0, 1.0], [0.0, 0.0]])
    >>> output_laws(chain, hidden_first, {0: np.array([True, False])})[1].tolist()
    [[0.75, 0.25, 0.0], [0.5, 0.0, 0.0]]
    """
    checked_pair(belief, channel)
    alphabets = channel.outputs()
    numbers = {time: row for row, time in enumerate(masks, start=1)}
    awaited = _awaited(belief, masks)
    held: dict[Hashable, FloatArray] = {(): _first(belief, 1 + len(masks))}
    laws = []
    for time, alphabet in enumerate(alphabets):
        seen = np.zeros((1 + len(masks), len(alphabet)))
        present = np.zeros((len(alphabet), belief.state_count))
        coming: dict[Hashable, FloatArray] = {}
        for memory, rows in held.items():
            if time in masks:
                rows[numbers[time]] = np.where(masks[time], rows[0], 0.0)
            joint = rows[:, None, :] * np.exp(channel.next_evidence(memory, time))
            seen += joint.sum(axis=2)
            present += joint[0]
            for place in np.flatnonzero(joint[0].any(axis=1)):
                after = channel.remember(memory, time, alphabet[place])
                coming.setdefault(after, np.zeros(rows.shape))
                coming[after] += joint[:, place]
        for later in (row for row in masks if row > time):
            seen[numbers[later]] = present @ awaited[later][time]
        laws.append(seen)
        _require_few(coming, seen.shape[0] * belief.state_count)
        if time + 1 < belief.steps:
            held = {memory: rows @ belief.matrix(time) for memory, rows in coming.items()}
    return laws


def _first(belief: Markov, rows: int) -> FloatArray:
    """Return the law of the first state, and nothing yet for the events."""
    table = np.zeros((rows, belief.state_count))
    table[0] = belief.initial
    return table


def _awaited(belief: Markov, masks: Masks) -> dict[int, list[FloatArray]]:
    """Return Pr[X_s ∈ masks[s] | X_t] for every t < s."""
    found = {}
    for time, mask in masks.items():
        chances = [mask.astype(np.float64)]
        for earlier in reversed(range(time)):
            chances.append(belief.matrix(earlier) @ chances[-1])
        found[time] = chances[:0:-1]
    return found


def _require_few(coming: Mapping[Hashable, FloatArray], each: int) -> None:
    if len(coming) * each > MOST_NUMBERS:
        raise OutsideHypotheses(
            "the law of a single output needs a channel that remembers little of what it has "
            f"released; this one has {len(coming):,} memories."
        )
