"""The best chance to guess a whole trace that is seen now and then, without mistakes."""

from __future__ import annotations

import numpy as np

from sfumato.inference.arrivals import entering_states
from sfumato.inference.log_products import log_of, log_sum
from sfumato.inference.max_products import max_products
from sfumato.inference.sightings import Sightings, Watch
from sfumato.probabilities import FloatArray


def sighted_log_success(sightings: Sightings) -> float:
    """Return log Σ_y max_x Pr[x, y], the Bayes-optimal success at guessing every state.

    Given y the trace falls into independent segments between sightings, so the maximum is a
    product over segments of v(a, b), the largest probability of a path from a to b that stays
    unseen, and the sum over all y is a sum over paths of sightings: r(b) = Σ_a r(a) v(a, b) in
    order of time. Exact, in `Sightings.operations` additions, and as a logarithm, since it may be
    far below 1e-308. The v of one time are used as soon as they are known, and not kept.

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
    reached = np.full(len(sightings), -np.inf)
    reached[0] = 0.0
    log_matrices = sightings.belief.log_transitions
    for watch in sightings.watches():
        _follow(sightings, watch, log_matrices, reached)
    return float(min(reached[-1], 0.0))


def _follow(
    sightings: Sightings, watch: Watch, log_matrices: FloatArray, reached: FloatArray
) -> None:
    """Add to log r of every later node what the segments of one watch bring.

    scores[a, m] is the log of the likeliest way from a to X_t = m, unseen until then.
    """
    log_unseen, log_seen = log_of(watch.unseen), log_of(watch.seen)
    begun = watch.starts[sightings.times[watch.starts] < 0]
    scores = np.repeat(log_of(sightings.belief.initial)[None], len(begun), axis=0)
    for time in range(sightings.belief.steps):
        if time > 0:
            on = watch.open_states(time - 1)
            moves = log_matrices[time - 1]
            passed = max_products(scores[:, on] + log_unseen[time - 1, on], moves[on], "log")
            entering = entering_states(sightings, watch, time - 1)
            scores = np.concatenate([passed, moves[entering]])
        before = reached[watch.starts[: len(scores)], None]
        nodes = sightings.entering(time)
        places = sightings.states[nodes]
        ways = before + scores[:, places] + log_seen[time, places]
        reached[nodes] = np.logaddexp(reached[nodes], _log_sums(ways))
    ends = before[:, 0] + (scores + log_unseen[-1]).max(axis=1, initial=-np.inf)
    seen_last = reached[watch.starts[len(scores) :]]
    reached[-1] = log_sum(np.concatenate([reached[-1:], ends, seen_last]))


def _log_sums(ways: FloatArray) -> FloatArray:
    """Return log Σ exp of every column; of no rows at all, −∞."""
    if len(ways) == 0:
        return np.full(ways.shape[1], -np.inf)
    return log_sum(ways.T)
