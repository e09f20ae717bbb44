"""The best chance to guess a whole trace that is seen now and then, without mistakes."""

from __future__ import annotations

import numpy as np

from sfumato.inference.log_products import log_of, log_sum
from sfumato.inference.max_products import max_products
from sfumato.inference.sightings import Sightings, Watch
from sfumato.probabilities import FloatArray


def sighted_log_success(sightings: Sightings) -> float:
    """Return log Σ_y max_x Pr[x, y], the Bayes-optimal success at guessing every state.

    Given y the trace falls into independent segments between sightings, so the maximum is a
    product over segments of v(a, b), the largest probability of a path from a to b that stays
    unseen, and the sum over all y is a sum over paths of sightings. Exact, in O(T² M²)
    operations for one sensor a step, and as a logarithm, since it may be far below 1e-308.

    Examples
    --------
    >>> from sfumato.beliefs.markov import Markov
    >>> from sfumato.channels.symbols import Symbols
    >>> from sfumato.inference.sightings import sightings_of
    >>> chain = Markov([0.5, 0.5], np.full((2, 2), 0.5), steps=3)
    >>> blind = sightings_of(chain, Symbols((0, 1), (0,), np.ones((3, 2, 1))))
    >>> float(round(np.exp(sighted_log_success(blind)), 12))
    0.125
    """
    count = len(sightings)
    best = np.full((count, count), -np.inf)
    for watch in sightings.watches():
        _fill(sightings, watch, best)
    reached = np.full(count, -np.inf)
    reached[0] = 0.0
    for node in range(1, count):
        reached[node] = log_sum(reached[:node] + best[:node, node])
    return float(min(reached[-1], 0.0))


def _fill(sightings: Sightings, watch: Watch, best: FloatArray) -> None:
    """Write log v(a, b) for the segments of one watch."""
    belief = sightings.belief
    log_unseen, log_seen = log_of(watch.unseen), log_of(1.0 - watch.unseen)
    log_matrices = belief.log_transitions
    score = np.empty((0, belief.state_count))
    for time in range(belief.steps):
        if time > 0:
            score = score + log_unseen[time - 1]
        score = np.concatenate([score, _entering(sightings, watch, time - 1)])
        if time > 0:
            score = max_products(score, log_matrices[time - 1], "log")
        nodes = sightings.entering(time)
        places = sightings.states[nodes]
        best[watch.starts[: len(score)], nodes] = score[:, places] + log_seen[time, places]
    best[watch.starts[: len(score)], -1] = (score + log_unseen[-1]).max(axis=1, initial=-np.inf)
    best[watch.starts[len(score) :], -1] = 0.0  # seen at the last step: the end follows


def _entering(sightings: Sightings, watch: Watch, time: int) -> FloatArray:
    nodes = watch.starts[sightings.times[watch.starts] == time]
    if time < 0:
        return np.repeat(log_of(sightings.belief.initial)[None], len(nodes), axis=0)
    scores = np.full((len(nodes), sightings.belief.state_count), -np.inf)
    scores[np.arange(len(nodes)), sightings.states[nodes]] = 0.0
    return scores
