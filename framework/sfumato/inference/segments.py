"""Segments between sightings: how likely each is, and what all outputs tell together."""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import numpy as np

from sfumato.inference.sightings import Sightings, Watch
from sfumato.probabilities import FloatArray


@attrs.frozen(eq=False)
class Segments:
    """The law of the path of sightings, which is the output.

    Parameters
    ----------
    weights
        weights[a, b] = Pr[next sighting is b | last one was a], (N, N), over `Sightings` nodes.
    visits
        Probability that a node is seen at all, (N,).
    information
        I(X; Y) in nats.
    """

    weights: FloatArray
    visits: FloatArray
    information: float


def arrivals(sightings: Sightings, watch: Watch) -> Iterator[tuple[int, FloatArray]]:
    """Yield t and Pr[X_t = m, unseen since the start | start], (S, M), before looking at t.

    S counts the starts of the watch before t, in order.
    """
    belief = sightings.belief
    law = np.empty((0, belief.state_count))
    for time in range(belief.steps):
        if time > 0:
            law = law * watch.unseen[time - 1]
        entering = _entering(sightings, watch, time - 1)
        law = np.concatenate([law, entering])
        law = law if time == 0 else law @ belief.matrix(time - 1)
        yield time, law


def _entering(sightings: Sightings, watch: Watch, time: int) -> FloatArray:
    """Return the laws of segments that start with a sighting at `time`, unit vectors."""
    nodes = watch.starts[sightings.times[watch.starts] == time]
    if time < 0:
        return np.repeat(sightings.belief.initial[None], len(nodes), axis=0)
    laws = np.zeros((len(nodes), sightings.belief.state_count))
    laws[np.arange(len(nodes)), sightings.states[nodes]] = 1.0
    return laws


def segments(sightings: Sightings) -> Segments:
    """Return how likely each segment is, and the mutual information of the whole release.

    Pr[y] is the product of the weights of its segments, so H(Y) is minus the expected sum of
    their logarithms: a segment (a, b) occurs with probability visits[a] weights[a, b]. Where a
    state is seen by chance, H(Y | X) is the expected entropy of those choices. Exact, in
    O(T² M²) operations for one sensor a step, where listing all outputs takes 2^T.

    Examples
    --------
    >>> from sfumato.beliefs.markov import Markov
    >>> from sfumato.channels.symbols import Symbols
    >>> from sfumato.inference.sightings import sightings_of
    >>> chain = Markov([0.5, 0.5], np.full((2, 2), 0.5), steps=3)
    >>> seen = Symbols((0, 1), (0, 1), [[[1.0, 0.0], [0.0, 1.0]]] * 3)
    >>> float(round(segments(sightings_of(chain, seen)).information / np.log(2), 12))
    3.0
    """
    count = len(sightings)
    weights = np.zeros((count, count))
    visits = np.zeros(count)
    visits[0] = 1.0
    choices = np.zeros(count)
    for watch in sightings.watches():
        chance = watch.unseen
        entropy = _choice_entropy(chance)
        law = np.empty((0, sightings.belief.state_count))
        for time, law in arrivals(sightings, watch):
            active = watch.starts[: len(law)]
            nodes = sightings.entering(time)
            seen = 1.0 - chance[time, sightings.states[nodes]]
            weights[active, nodes] = law[:, sightings.states[nodes]] * seen
            choices[active] += law @ entropy[time]
        weights[watch.starts[: len(law)], -1] = law @ chance[-1]
        weights[watch.starts[len(law) :], -1] = 1.0  # seen at the last step: the end follows
    for node in range(1, count):
        visits[node] = visits[:node] @ weights[:node, node]
    logs = np.log(weights, where=weights > 0.0, out=np.zeros_like(weights))
    told = -float(visits @ (weights * logs).sum(axis=1))
    return Segments(weights, visits, max(0.0, told - float(visits @ choices)))


def _choice_entropy(unseen: FloatArray) -> FloatArray:
    """Return the entropy of being seen or not, given the state, (T, M)."""
    entropy = np.zeros_like(unseen)
    for chance in (unseen, 1.0 - unseen):
        logs = np.log(chance, where=chance > 0.0, out=np.zeros_like(chance))
        entropy -= chance * logs
    return entropy
