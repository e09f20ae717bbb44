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

from sfumato.beliefs.markov import Markov
from sfumato.channels.emission import Emission
from sfumato.channels.suppression import Suppression
from sfumato.channels.symbols import Symbols
from sfumato.inference.enumeration import checked_pair
from sfumato.inference.reachable_states import reachable_states
from sfumato.probabilities import FloatArray

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
