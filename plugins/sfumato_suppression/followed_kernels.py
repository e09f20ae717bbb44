"""The kernels of a memoryless table that changes entry by entry, and its privacy constraints."""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections.abc import Iterator

import attrs
import numpy as np

from sfumato.inference.markov.memoryless import SegmentKernels
from sfumato.values import FloatArray
from sfumato_suppression.line_search import Line
from sfumato_suppression.protected_chain import ROUNDING, ProtectedChain

CACHED = 25_000
"""How many entries of an array are worked on at a time."""

SERIAL = 200_000
"""How large a matrix product may be: above this, threads cost more than they bring."""


@attrs.frozen(eq=False)
class _Passage:
    """From each start to a state of an event, and on to each end: (P, A) and (P, B) arrays.

    Without passing through the state whose probability is being lowered, and through it.
    """

    reach_without: FloatArray
    leave_without: FloatArray
    reach_within: FloatArray
    leave_within: FloatArray

    def without(self) -> FloatArray:
        """Return the products without, (P, A, B)."""
        return self.reach_without[:, :, None] * self.leave_without[:, None]

    def within(self) -> FloatArray:
        """Return the products through the state, (P, A, B), for probability one."""
        return self.reach_within[:, :, None] * self.leave_within[:, None]


@attrs.frozen(eq=False)
class _Crossing:
    """Segments from A starts to B ends that cross a time suppressed.

    In other states than one, Σ_k left[a, k] right[k, b]; in that state, for probability one,
    to[a] · on[b].

    Attributes
    ----------
    place
        The time and the one state, as time · M + state.
    starts
        How many starts lie before.
    ends
        The number of the first end after it.
    without
        The suppression probabilities of the time, zero for the one state, (M,).
    """

    place: int
    starts: int
    ends: int
    without: FloatArray
    left: FloatArray = attrs.field(kw_only=True)
    right: FloatArray = attrs.field(kw_only=True)
    to: FloatArray = attrs.field(kw_only=True)
    on: FloatArray = attrs.field(kw_only=True)


class FollowedKernels:
    """The kernels of one chain under a private table that changes.

    The states of an event are suppressed for certain, or a release would reveal it.
    """

    def __init__(self, chain: ProtectedChain, chances: FloatArray) -> None:
        self.chain = chain
        self._chances = chances  # the table's own: it changes
        everywhere = np.arange(chances.size)
        self._matrix = SegmentKernels.of(chain.belief, chances, everywhere).matrix
        self._count = chances.shape[1]
        # Every state of every event: its place in time and state, event by event.
        events, states = np.nonzero(chain.members)
        self._places = chain.times[events] * self._count + states
        self._firsts = np.searchsorted(events, np.arange(len(chain.times) + 1)).tolist()
        self._choose_bounds()

    def update(self, time: int) -> None:
        """Compute the kernels across `time` anew; the others do not change."""
        here, first, after = self._around(time)
        before = self._matrix[: 1 + first, here] * self._chances[time]
        onward = self._matrix[1 + first : 1 + after, after:]
        stride = max(1, SERIAL // onward.size)
        for cut in range(0, 1 + first, stride):
            part = slice(cut, min(cut + stride, 1 + first))
            np.matmul(before[part], onward, out=self._matrix[part, after:])
        self._choose_bounds()

    def _choose_bounds(self) -> None:
        """Choose the rows of starts, the columns of ends, and their kernels to and from events."""
        released = np.flatnonzero((self._chances < 1.0) & self.chain.possible)
        self._released: list[int] = released.tolist()
        self._starts = np.append(0, 1 + released)
        self._ends = np.append(released, self._matrix.shape[1] - 1)
        self._into = self._matrix[self._starts, self._places[:, None]]
        self._out_of = self._matrix[1 + self._places[:, None], self._ends]

    def may_release(self, time: int, state: int) -> bool:
        """Whether segments that end or begin with this release keep all events private."""
        place = time * self._count + state
        starts, ends = self._bounds(time)
        past, coming = self.chain.before(time), self.chain.before(time + 1)
        limits = self.chain.limits[:, None] * (1.0 + ROUNDING)
        first, last = self._firsts[past], self._firsts[coming]
        ending = self._into[:first, :starts] * self._matrix[1 + self._places[:first], place, None]
        total = self._matrix[self._starts[:starts], place]
        if (self._by_event(ending, slice(0, past)) > limits[:past] * total).any():
            return False
        row = self._matrix[1 + place]
        beginning = row[self._places[last:], None] * self._out_of[last:, ends:]
        total = row[self._ends[ends:]]
        later = slice(coming, len(limits))
        return not (self._by_event(beginning, later) > limits[later] * total).any()

    def lines(self, time: int, state: int) -> Iterator[Line]:
        """Yield the constraints that fail at probability zero; the others hold all the way."""
        crossing = self._crossing(time, state)
        total_without = crossing.left @ crossing.right
        most = total_without * (1.0 + ROUNDING)
        for events in self._parts(time, total_without.size):
            passage = self._passage(crossing, events)
            limits = self.chain.limits[events]
            without = self._by_event(passage.without(), events)
            failing = without > limits[:, None, None] * most
            if failing.any():
                within = self._by_event(passage.within(), events)
                event, start, end = np.nonzero(failing)
                yield Line(
                    without[failing][None],
                    within[failing][None],
                    (limits[event] * total_without[start, end])[None],
                    (limits[event] * crossing.to[start] * crossing.on[end])[None],
                )

    def _crossing(self, time: int, state: int) -> _Crossing:
        """Return how segments cross a time, in one state and in the others."""
        here, first, after = self._around(time)
        starts, ends = self._bounds(time)
        without = self._chances[time].copy()
        without[state] = 0.0
        arriving = self._matrix[self._starts[:starts], here]
        right = self._matrix[1 + first : 1 + after, self._ends[ends:]]
        return _Crossing(
            first + state,
            starts,
            ends,
            without,
            left=arriving * without,
            right=right,
            to=arriving[:, state],
            on=right[state],
        )

    def _passage(self, crossing: _Crossing, events: slice) -> _Passage:
        """Return the ways through events that all lie before, at or after the crossing."""
        here, first, after = self._around(crossing.place // self._count)
        inside = slice(self._firsts[events.start], self._firsts[events.stop])
        places = self._places[inside]
        if places[-1] < first:
            reached = self._into[inside, : crossing.starts]
            rows = self._matrix[1 + places, here]
            onward = (rows * crossing.without) @ crossing.right
            through = rows[:, crossing.place - first, None] * crossing.on
            return _Passage(reached, onward, reached, through)
        onward = self._out_of[inside, crossing.ends :]
        if places[0] < after:
            # An event of this very time cannot hold a state that may be released.
            reached = self._into[inside, : crossing.starts]
            return _Passage(reached, onward, np.zeros_like(reached), onward)
        arrived = self._matrix[1 + first : 1 + after, places]
        reached = (crossing.left @ arrived).T
        through = arrived[crossing.place - first, :, None] * crossing.to
        return _Passage(reached, onward, through, onward)

    def _around(self, time: int) -> tuple[slice, int, int]:
        """Return the columns of a time, its first place, and the first place after it."""
        first, after = time * self._count, (time + 1) * self._count
        return slice(first, after), first, after

    def _bounds(self, time: int) -> tuple[int, int]:
        """Return the number of starts before `time`, and of the first end after it."""
        _, first, after = self._around(time)
        return 1 + bisect_left(self._released, first), bisect_left(self._released, after)

    def _parts(self, time: int, size: int) -> Iterator[slice]:
        """Yield runs of events, all before, at or after `time`, small enough for the cache."""
        stride = max(1, CACHED // size)
        cuts = (0, self.chain.before(time), self.chain.before(time + 1), len(self.chain.times))
        for begin, end in itertools.pairwise(cuts):
            for cut in range(begin, end, stride):
                yield slice(cut, min(cut + stride, end))

    def _by_event(self, pairs: FloatArray, events: slice) -> FloatArray:
        """Sum over the states of each of the events."""
        if len(self._places) == len(self.chain.times) or events.start == events.stop:
            return pairs
        firsts = np.array(self._firsts[events.start : events.stop])
        return np.asarray(np.add.reduceat(pairs, firsts - firsts[0]))
