"""What all outputs tell together about a trace that is seen now and then."""

from __future__ import annotations

import numpy as np

from sfumato.inference.arrivals import arrivals
from sfumato.inference.sightings import Sightings, Watch
from sfumato.probabilities import FloatArray


def sighted_information(sightings: Sightings) -> float:
    """Return I(X; Y) in nats.

    Pr[y] is the product over its segments (a, b) of w(a, b) = Pr[next sighting is b | last one
    was a], so H(Y) is minus the expected sum of their logarithms: with v(a) the probability that
    a is seen at all, v(b) = Σ_a v(a) w(a, b), segment (a, b) occurs with probability
    v(a) w(a, b). Where a state is seen by chance, H(Y | X) is the expected entropy of those
    choices. Exact; `Sightings.operations` says how long it takes, where listing all outputs takes
    2^T. The w of one time are used as soon as they are known, and not kept.

    Examples
    --------
    >>> from sfumato.beliefs.markov import Markov
    >>> from sfumato.channels.symbols import Symbols
    >>> from sfumato.inference.sightings import sightings_of
    >>> chain = Markov([0.5, 0.5], np.full((2, 2), 0.5), steps=3)
    >>> seen = Symbols((0, 1), (0, 1), [[[1.0, 0.0], [0.0, 1.0]]] * 3)
    >>> float(round(sighted_information(sightings_of(chain, seen)) / np.log(2), 12))
    3.0
    """
    visits = np.zeros(len(sightings))
    visits[0] = 1.0
    told = sum(_told(sightings, watch, visits) for watch in sightings.watches())
    return max(0.0, told)


def _told(sightings: Sightings, watch: Watch, visits: FloatArray) -> float:
    """Return the segments' part of H(Y) − H(Y | X), and add to `visits` where they lead."""
    chances = _choice_entropy(watch.unseen)
    told = 0.0
    for time, law in arrivals(sightings, watch):
        before = visits[watch.starts[: len(law)]]
        nodes = sightings.entering(time)
        places = sightings.states[nodes]
        weights = law[:, places] * (1.0 - watch.unseen[time, places])
        visits[nodes] += before @ weights
        told += float(before @ _entropy_terms(weights).sum(axis=1))
        told -= float(before @ (law @ chances[time]))
    # Whoever was seen at the last step comes to the end for certain, which tells nothing more.
    return told + float(before @ _entropy_terms(law @ watch.unseen[-1]))


def _choice_entropy(unseen: FloatArray) -> FloatArray:
    """Return the entropy of being seen or not, given the state, (T, M)."""
    return _entropy_terms(unseen) + _entropy_terms(1.0 - unseen)


def _entropy_terms(chances: FloatArray) -> FloatArray:
    """Return −p log p, 0 for p = 0."""
    logs = np.log(chances, where=chances > 0.0, out=np.zeros_like(chances))
    return np.asarray(-chances * logs)
