"""Chains that are seen now and then: every output either tells the state or says "unseen".

Raw counts from sensors are of this kind (a count tells that the target is at the sensor, or that
it is not), and so is suppression. A sighting cuts the trace: given that X_t = j was seen, what
comes after is independent of what came before. So a sum over all outputs, of which there are
exponentially many, is a sum over paths of sightings, computed segment by segment in polynomial
time.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs import Markov
from sfumato.channels import Emission, Suppression, Symbols
from sfumato.inference.gaussian.fisher_information import EXACT
from sfumato.inference.markov.enumeration import checked_pair
from sfumato.inference.markov.probabilities import (
    entropies,
    entropy_terms,
    log_of,
    log_sum,
    max_products,
    reachable_states,
    top_term,
)
from sfumato.matrices.matrix import ROUNDOFF
from sfumato.values import FloatArray

IntArray = NDArray[np.intp]

ALONE = 2e4
"""What a step of a segment costs, in multiplications, where each start is followed by itself."""


@attrs.frozen(eq=False)
class Watch:
    """Segments that share one law of being unseen.

    Parameters
    ----------
    unseen
        Probability that state j at time t stays unseen, (T, M).
    seen
        Probability that it is seen, (T, M): one minus the other, but with all its digits.
    starts
        Nodes (numbers in `Sightings`) at which these segments begin, in order of time.
    """

    unseen: FloatArray
    seen: FloatArray
    starts: IntArray

    def open_states(self, time: int) -> IntArray | slice:
        """Return states among which are all that may stay unseen at `time`.

        All states, as a view, unless at most half of them are open: fewer are worth a copy.
        """
        may = self.unseen[time] > 0.0
        few = 2 * np.count_nonzero(may) <= len(may)
        return np.flatnonzero(may) if few else slice(None)


@attrs.frozen(eq=False)
class Sightings:
    """A chain and the times and states at which it can be seen.

    Nodes are numbered in order of time: 0 is the beginning, the last one is the end, and those
    between are the possible sightings.

    Parameters
    ----------
    belief
        The chain.
    times, states
        Time and state of every node, (N,); −1 and T are the times of the beginning and the end,
        and their states mean nothing.
    """

    belief: Markov
    times: IntArray
    states: IntArray
    _shared: tuple[FloatArray, FloatArray] | None
    _channel: Emission

    def __len__(self) -> int:
        return len(self.times)

    def watches(self) -> Iterator[Watch]:
        """Yield groups of segments, in order of time where there is more than one."""
        starts = np.arange(len(self) - 1)
        if self._shared is not None:
            yield Watch(*self._shared, starts)
            return
        for node in starts:
            unseen = self._table(int(node))
            yield Watch(unseen, 1.0 - unseen, starts[node : node + 1])

    def _table(self, node: int) -> FloatArray:
        channel = self._channel
        if not isinstance(channel, Suppression):
            raise TypeError(f"only suppression remembers; got {type(channel).__name__}.")
        last = None if node == 0 else (int(self.times[node]), int(self.states[node]))
        return channel.table(last)

    @property
    def open_counts(self) -> IntArray:
        """How many states are followed as possibly unseen at each time, (T,)."""
        everyone = np.full(self.belief.steps, self.belief.state_count)
        if self._shared is None:
            return everyone
        may = np.count_nonzero(self._shared[0], axis=1)
        return np.where(2 * may <= everyone, may, everyone)

    @property
    def begun_counts(self) -> IntArray:
        """How many nodes, the beginning among them, lie before each time, (T,)."""
        return np.searchsorted(self.times, np.arange(self.belief.steps))

    @property
    def operations(self) -> float:
        """How many multiplications it takes to follow every segment from start to end.

        A segment that passes time t has M multiplications for each state that may stay unseen
        there, and at most M more to end: Σ_t (nodes before t) · (open states at t + 1) · M.
        Where what is shown depends on the last sighting, every start is followed by itself, and
        a step has a price of its own.
        """
        each = (self.open_counts + 1.0) * self.belief.state_count + self.step_price
        return float(self.begun_counts @ each)

    @property
    def step_price(self) -> float:
        """What a step costs beyond its multiplications."""
        return ALONE if self._shared is None else 0.0

    def entering(self, time: int) -> slice:
        """Return the nodes whose time is `time`."""
        first, last = np.searchsorted(self.times, (time, time + 1))
        return slice(int(first), int(last))


def sightings_of(belief: Markov, channel: Emission) -> Sightings | None:
    """Return the channel as sightings, or None where an output may tell something in between.

    Examples
    --------
    >>> chain = Markov([0.2, 0.3, 0.5], np.full((3, 3), 1 / 3), steps=2)
    >>> sensor = np.array([[[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]] * 2)
    >>> found = sightings_of(chain, Symbols((0, 1, 2), (0, 1), sensor))
    >>> found.times.tolist(), found.states[1:-1].tolist()
    ([-1, 0, 1, 2], [2, 2])
    """
    checked_pair(belief, channel)
    if isinstance(channel, Suppression):
        if channel.after is None:
            shared = channel.start, 1.0 - channel.start
            return _nodes(belief, channel, channel.start < 1.0, shared)
        ever = (channel.start < 1.0) | (channel.after < 1.0).any(axis=(0, 1))
        return _nodes(belief, channel, ever, None)
    if isinstance(channel, Symbols):
        split = _unseen_and_seen(channel.probabilities)
        return None if split is None else _nodes(belief, channel, split[1] > 0.0, split)
    return None


def _unseen_and_seen(probabilities: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """Return the chances of each state to stay unseen and to be seen, (T, M), or None."""
    possible = probabilities > 0.0
    telling = possible.sum(axis=1) <= 1  # (T, Y): a symbol that at most one state can emit
    ambiguous = (~telling).sum(axis=1)
    told = possible & telling[:, None, :]
    if (ambiguous > 1).any() or (told.sum(axis=2) > 1).any():
        return None
    unseen = (probabilities * ~telling[:, None, :]).sum(axis=2)
    return np.asarray(unseen), np.asarray((probabilities * told).sum(axis=2))


def _nodes(
    belief: Markov,
    channel: Emission,
    ever: NDArray[np.bool_],
    shared: tuple[FloatArray, FloatArray] | None,
) -> Sightings:
    times, states = np.nonzero(ever & reachable_states(belief))
    return Sightings(
        belief,
        np.concatenate([[-1], times, [belief.steps]]).astype(np.intp),
        np.concatenate([[0], states, [0]]).astype(np.intp),
        shared,
        channel,
    )


def sighted_information(sightings: Sightings) -> RoundedInformation:
    """Return I(X; Y) in nats.

    Pr[y] is the product over its segments (a, b) of w(a, b) = Pr[next sighting is b | last one
    was a], so H(Y) is the sum over a of v(a) times the entropy of the law w(a, ·), with v(a) the
    probability that a is seen at all, v(b) = Σ_a v(a) w(a, b). Where a state is seen by chance,
    H(Y | X) is the expected entropy of those choices. Exact; `Sightings.operations` says how long
    it takes, where listing all outputs takes 2^T. The w of one time are used as soon as they are
    known, and not kept. Rounding: each step of w and v adds up at most M and N terms, and a
    logarithm at most doubles what they lose.

    Examples
    --------
    >>> from sfumato.beliefs import Markov
    >>> from sfumato.channels import Symbols
    >>> from sfumato_fano.sightings import sightings_of
    >>> chain = Markov([0.5, 0.5], np.full((2, 2), 0.5), steps=3)
    >>> seen = Symbols((0, 1), (0, 1), [[[1.0, 0.0], [0.0, 1.0]]] * 3)
    >>> float(round(sighted_information(sightings_of(chain, seen)).value / np.log(2), 12))
    3.0
    """
    visits = np.zeros(len(sightings))
    visits[0] = 1.0
    parts = [_told(sightings, watch, visits) for watch in sightings.watches()]
    gained, lost = np.sum(parts, axis=0)
    belief = sightings.belief
    operations = 4.0 * belief.steps * (belief.state_count + len(sightings) + 8)
    return RoundedInformation.up(float(gained), float(lost), operations)


def _told(sightings: Sightings, watch: Watch, visits: FloatArray) -> tuple[float, float]:
    """Return the segments' parts of H(Y) and H(Y | X), and add to `visits` where they lead."""
    chances = entropies(np.stack([watch.unseen, watch.seen], axis=-1))
    laws = _GrowingLaws.of(len(watch.starts))
    lost = 0.0
    for time, law in arrivals(sightings, watch):
        before = visits[watch.starts[: len(law)]]
        nodes = sightings.entering(time)
        places = sightings.states[nodes]
        weights = law[:, places] * watch.seen[time, places]
        visits[nodes] += before @ weights
        laws.add(weights)
        lost += float(before @ (law @ chances[time]))
    # Whoever was seen at the last step comes to the end for certain, which tells nothing more.
    laws.add((law @ watch.unseen[-1])[:, None])
    return float(visits[watch.starts] @ laws.entropies()), lost


@attrs.define(eq=False)
class _GrowingLaws:
    """Laws of which a few outcomes become known at a time; the largest of each is kept apart."""

    top: FloatArray
    rest: FloatArray
    terms: FloatArray

    @classmethod
    def of(cls, count: int) -> _GrowingLaws:
        return cls(np.zeros(count), np.zeros(count), np.zeros(count))

    def add(self, chances: FloatArray) -> None:
        """Add outcomes to the first laws, (S, K)."""
        rows = np.arange(len(chances))
        table = np.column_stack([self.top[rows], chances])
        largest = table.argmax(axis=1)
        self.top[rows] = table[rows, largest]
        table[rows, largest] = 0.0
        self.rest[rows] += table.sum(axis=1)
        self.terms[rows] += entropy_terms(table).sum(axis=1)

    def entropies(self) -> FloatArray:
        return np.asarray(self.terms + top_term(self.top, self.rest))


def sighted_log_success(sightings: Sightings) -> float:
    """Return log Σ_y max_x Pr[x, y], the Bayes-optimal success at guessing every state.

    Given y the trace falls into independent segments between sightings, so the maximum is a
    product over segments of v(a, b), the largest probability of a path from a to b that stays
    unseen, and the sum over all y is a sum over paths of sightings: r(b) = Σ_a r(a) v(a, b) in
    order of time. Exact, in `Sightings.operations` additions, and as a logarithm, since it may be
    far below 1e-308. The v of one time are used as soon as they are known, and not kept.

    Examples
    --------
    >>> from sfumato.beliefs import Markov
    >>> from sfumato.channels import Symbols
    >>> from sfumato_fano.sightings import sightings_of
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


UNDERFLOW = 1e-300
"""More than all that float64 may lose in products and squares too small for it."""


@attrs.frozen
class RoundedInformation:
    """I(X; Y) in nats, rounded up by more than its error.

    Parameters
    ----------
    value
        At least the true value.
    relative_error
        By how much of itself it may exceed it, at most.

    Examples
    --------
    >>> found = RoundedInformation.up(2.0, 1.0, operations=10)
    >>> 1.0 < found.value < 1.0 + 1e-14, found.is_exact
    (True, True)
    >>> RoundedInformation.up(1.0, 1.0, operations=10).is_exact
    False
    """

    value: float
    relative_error: float

    @classmethod
    def up(cls, gained: float, lost: float, operations: float) -> RoundedInformation:
        """Return gained − lost, both positive sums with `operations` roundings in a row."""
        if gained <= 0.0:
            return cls(0.0, 0.0)  # a sum of positive terms without any: nothing is told
        error = operations * ROUNDOFF * (gained + lost) + UNDERFLOW
        value = max(0.0, gained - lost) + error
        return cls(value, min(1.0, 2.0 * error / value))

    @property
    def is_exact(self) -> bool:
        """Whether the error is small enough for an exact value."""
        return self.relative_error <= EXACT


def arrivals(sightings: Sightings, watch: Watch) -> Iterator[tuple[int, FloatArray]]:
    """Yield t and Pr[X_t = m, unseen since the start | start], (S, M), before looking at t.

    S counts the starts of the watch before t, in order. Only states that may stay unseen are
    multiplied.

    Examples
    --------
    >>> from sfumato.beliefs import Markov
    >>> from sfumato.channels import Symbols
    >>> from sfumato_fano.sightings import sightings_of
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

    >>> from sfumato.beliefs import Markov
    >>> from sfumato.channels import Symbols
    >>> from sfumato_fano.sightings import sightings_of
    >>> chain = Markov([0.25, 0.25, 0.5], [[0.5, 0.5, 0.0]] * 2 + [[0.0, 0.0, 1.0]], steps=2)
    >>> sensor = [[[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]] * 2
    >>> seen = sightings_of(chain, Symbols((0, 1, 2), (0, 1), sensor))
    >>> entering_states(seen, next(seen.watches()), 0).tolist()
    [2]
    """
    return np.asarray(sightings.states[watch.starts[sightings.times[watch.starts] == time]])
