"""Where a chain may have got to since it was last seen."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sfumato.inference.sightings import IntArray, Sightings, Watch
from sfumato.probabilities import FloatArray


def arrivals(sightings: Sightings, watch: Watch) -> Iterator[tuple[int, FloatArray]]:
    """Yield t and Pr[X_t = m, unseen since the start | start], (S, M), before looking at t.

    S counts the starts of the watch before t, in order. Only states that may stay unseen are
    multiplied.

    Examples
    --------
    >>> from sfumato.beliefs.markov import Markov
    >>> from sfumato.channels.symbols import Symbols
    >>> from sfumato.inference.sightings import sightings_of
    >>> chain = Markov([0.25, 0.25, 0.5], [[0.5, 0.5, 0.0]] * 2 + [[0.0, 0.0, 1.0]], steps=2)
    >>> sensor = [[[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]] * 2
    >>> seen = sightings_of(chain, Symbols((0, 1, 2), (0, 1), sensor))
    >>> watch = next(seen.watches())
    >>> [law.tolist() for _, law in arrivals(seen, watch)]
    [[[0.25, 0.25, 0.5]], [[0.25, 0.25, 0.0], [0.0, 0.0, 1.0]]]
    """
    belief = sightings.belief
    begun = watch.starts[sightings.times[watch.starts] < 0]
    law = np.repeat(belief.initial[None], len(begun), axis=0)
    yield 0, law
    for time in range(1, belief.steps):
        matrix, chance = belief.matrix(time - 1), watch.unseen[time - 1]
        on = watch.open_states(time - 1)
        passed = (law[:, on] * chance[on]) @ matrix[on]
        law = np.concatenate([passed, matrix[entering_states(sightings, watch, time - 1)]])
        yield time, law


def entering_states(sightings: Sightings, watch: Watch, time: int) -> IntArray:
    """Return the states seen at `time` at which segments of this watch start.

    >>> from sfumato.beliefs.markov import Markov
    >>> from sfumato.channels.symbols import Symbols
    >>> from sfumato.inference.sightings import sightings_of
    >>> chain = Markov([0.25, 0.25, 0.5], [[0.5, 0.5, 0.0]] * 2 + [[0.0, 0.0, 1.0]], steps=2)
    >>> sensor = [[[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]] * 2
    >>> seen = sightings_of(chain, Symbols((0, 1, 2), (0, 1), sensor))
    >>> entering_states(seen, next(seen.watches()), 0).tolist()
    [2]
    """
    return np.asarray(sightings.states[watch.starts[sightings.times[watch.starts] == time]])
