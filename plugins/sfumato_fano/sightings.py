"""Chains that are seen now and then: every output either tells the state or says "unseen".

Counts from sensors are of this kind (a count tells that the target is at the sensor, or that it is
not), and so is suppression. A sighting cuts the trace: given that $X_t = j$ was seen, what comes
after is independent of what came before. So a sum over all outputs, of which there are
exponentially many, is a sum over paths of sightings, computed segment by segment in polynomial
time. Mutual information, the best guess of a whole trace, the sums over matches and the likeliest
trace under noise differ only in what they add up over the `segments`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs import Markov
from sfumato.channels import (
    Emission,
    Suppression,
    Symbols,
)
from sfumato.inference.markov.enumeration import checked_pair
from sfumato.inference.markov.probabilities import log_of, max_products, reachable_states
from sfumato.values import FloatArray

BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.intp]

ALONE = 2e4
"""The overhead of a step, in multiplications, where each start goes on by itself."""

MOST_OPERATIONS = 1e10
"""How many multiplications following all segments between sightings may take: a few minutes."""


@attrs.frozen(eq=False)
class Watch:
    """Segments, by the nodes at which they start, that share one law of being unseen.

    `unseen` and `seen` are the probabilities that state j at time t stays unseen, or not, (T, M):
    one minus the other, but each with all its digits.
    """

    unseen: FloatArray
    seen: FloatArray
    starts: IntArray

    def open_states(self, time: int) -> IntArray | slice:
        """Return the states that may stay unseen at `time`; all, where a copy is not worth it."""
        found = np.flatnonzero(self.unseen[time])
        return found if 2 * len(found) <= self.unseen.shape[1] else slice(None)


@attrs.frozen(eq=False)
class Sightings:
    """A chain and the times and states at which it can be seen.

    Nodes are numbered in order of time: 0 is the beginning, at −1, the last one is the end, at T,
    and those between are the possible sightings. `unseen` and `seen` are the chances of a state to
    stay unseen and to be seen, (T, M); with a `memory` these depend on the last sighting, and here
    they only say what is possible at all.
    """

    belief: Markov
    times: IntArray
    states: IntArray
    unseen: FloatArray
    seen: FloatArray
    memory: Suppression | None

    @classmethod
    def where(
        cls, belief: Markov, unseen: FloatArray, seen: FloatArray, memory: Suppression | None = None
    ) -> Sightings:
        """Make a node of every state that can be reached and seen."""
        found = np.nonzero((seen > 0.0) & reachable_states(belief))
        ends = zip(found, (-1, 0), (belief.steps, 0), strict=True)
        times, states = (np.array([first, *inner, last]) for inner, first, last in ends)
        return cls(belief, times, states, unseen, seen, memory)

    def __len__(self) -> int:
        return len(self.times)

    def watches(self) -> Iterator[Watch]:
        """Yield groups of segments, in order of time where there is more than one."""
        starts = np.arange(len(self) - 1)
        if self.memory is None:
            yield Watch(self.unseen, self.seen, starts)
            return
        for node in starts:
            last = None if node == 0 else (int(self.times[node]), int(self.states[node]))
            unseen = self.memory.table(last)
            yield Watch(unseen, 1.0 - unseen, starts[node : node + 1])

    @functools.cached_property
    def log_transitions(self) -> FloatArray:
        """The logarithms of the chain's matrices, taken once for all watches."""
        return self.belief.log_transitions

    @functools.cached_property
    def alike(self) -> tuple[IntArray, IntArray]:
        """The first of each class of states that can be exchanged, and every state's class, (M,).

        Two states can if no table tells them apart: equal chances at first, of every move to them
        and from them, also between them, and to stay unseen. A fitted chain has one such class of
        all places that a person never went to. States that may be seen are alone in theirs.
        """
        moves = self.belief.transitions[: 1 if self.belief.is_homogeneous else None]
        rows, columns = moves.swapaxes(0, 1), moves.swapaxes(0, 2)
        alone = np.asarray(self.seen.any(axis=0)) | np.array([self.memory is not None])
        classes: dict[bytes, int] = {}
        numbers = np.empty(self.belief.state_count, dtype=np.intp)
        for state in range(len(numbers)):
            tables = (
                rows[state],
                columns[state],
                self.unseen[:, state],
                self.belief.initial[state],
            )
            key = b"".join(table.tobytes() for table in tables)
            numbers[state] = classes.setdefault(
                bytes(f"{state}", "ascii") if alone[state] else key, len(classes)
            )
        return np.unique(numbers, return_index=True)[1], numbers

    def entering(self, time: int) -> slice:
        """Return the nodes whose time is `time`."""
        first, last = np.searchsorted(self.times, (time, time + 1))
        return slice(int(first), int(last))

    @property
    def begun_counts(self) -> IntArray:
        """How many nodes, the beginning among them, lie before each time, (T,)."""
        return np.searchsorted(self.times, np.arange(self.belief.steps))

    @property
    def operations(self) -> float:
        """How many multiplications it takes to follow every segment from start to end.

        Σ_t (nodes before t) · (states that may stay unseen at t, and one more to end) · M.
        """
        each = (np.count_nonzero(self.unseen, axis=1) + 1.0) * self.belief.state_count
        return float(self.begun_counts @ (each + ALONE * (self.memory is not None)))


def sightings_of(belief: Markov, channel: Emission) -> Sightings | None:
    """Return the channel as sightings, or None where an output may tell something in between.

    What a sighting is called does not matter, nor by how many names.
    """
    checked_pair(belief, channel)
    if isinstance(channel, Suppression):
        if channel.after is None:
            return Sightings.where(belief, channel.start, 1.0 - channel.start)
        ever_seen = (channel.start < 1.0) | (channel.after < 1.0).any(axis=(0, 1))
        anyone = np.ones_like(channel.start)
        return Sightings.where(belief, anyone, ever_seen.astype(float), channel)
    if not isinstance(channel, Symbols):
        return None
    possible = channel.probabilities > 0.0
    telling = possible.sum(axis=1) <= 1  # (T, Y): a symbol that at most one state can emit
    told = possible & telling[:, None, :]
    if ((~telling).sum(axis=1) > 1).any():
        return None
    unseen = (channel.probabilities * ~telling[:, None, :]).sum(axis=2)
    return Sightings.where(belief, unseen, (channel.probabilities * told).sum(axis=2))


def tractable_sightings(belief: Markov, channel: Emission) -> Sightings | None:
    """Return the release as sightings, where it is of that kind and they are not too many."""
    sightings = sightings_of(belief, channel)
    return sightings if sightings and sightings.operations <= MOST_OPERATIONS else None


@attrs.frozen(eq=False)
class Segments:
    """Segments that end at one time, T for those that are never seen again.

    They lead from S `starts` to K `nodes` with `weights` Pr[the next sighting is the node | start],
    (S, K). `ways` are Pr[X_t = m, unseen since the start | start], (S, M), before looking at t.
    """

    time: int
    starts: IntArray
    nodes: slice
    weights: FloatArray
    ways: FloatArray


def segments(sightings: Sightings, watch: Watch, *, likeliest: bool = False) -> Iterator[Segments]:
    """Yield the segments of a watch in order of the time at which they end.

    What leads to a node comes before it in time, so that a sum over paths of sightings is
    complete at a node before a segment starts there, and no weight has to be kept. With
    `likeliest`, weights and ways are not sums over all paths between sightings, but the logarithm
    of the likeliest one's probability. Only states that may stay unseen are multiplied.
    """
    belief, start_times = sightings.belief, sightings.times[watch.starts]
    matrices, first, unseen, seen = belief.transitions, belief.initial, watch.unseen, watch.seen
    if likeliest:
        matrices = sightings.log_transitions
        first, unseen, seen = map(log_of, (first, unseen, seen))
    times = np.add if likeliest else np.multiply
    ways = np.repeat(first[None], np.count_nonzero(start_times < 0), axis=0)
    for time in range(belief.steps):
        if time > 0:
            on = watch.open_states(time - 1)
            hidden, moves = times(ways[:, on], unseen[time - 1, on]), matrices[time - 1]
            passed = max_products(hidden, moves[on], "log") if likeliest else hidden @ moves[on]
            entering = sightings.states[watch.starts[start_times == time - 1]]
            ways = np.concatenate([passed, moves[entering]])
        if len(ways):
            nodes = sightings.entering(time)
            places = sightings.states[nodes]
            weights = times(ways[:, places], seen[time, places])
            yield Segments(time, watch.starts[: len(ways)], nodes, weights, ways)
    # Whoever is seen at the last step comes to the end for certain.
    last = np.full((len(watch.starts), 1), 0.0 if likeliest else 1.0)
    last[: len(ways), 0] = (ways + unseen[-1]).max(axis=1) if likeliest else ways @ unseen[-1]
    end = slice(len(sightings) - 1, len(sightings))
    yield Segments(belief.steps, watch.starts, end, last, ways)
