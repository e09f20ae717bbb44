"""The kernels of a memoryless table that changes entry by entry, and its privacy constraints."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.inference.segment_kernels import SegmentKernels
from sfumato.probabilities import FloatArray
from sfumato_suppression.line_search import Line
from sfumato_suppression.protected_chain import ROUNDING, ProtectedChain

CACHED = 100_000
"""How many entries of an array are worked on at a time."""


@attrs.frozen(eq=False)
class _Passage:
    """From each start to a state of an event, and on to each end: (A, P) and (P, B) arrays.

    Without passing through the state whose probability is being lowered, and through it.
    """

    reach_without: FloatArray
    leave_without: FloatArray
    reach_within: FloatArray
    leave_within: FloatArray

    def without(self) -> FloatArray:
        """Return the products without, (P, A, B)."""
        return self.reach_without.T[:, :, None] * self.leave_without[:, None]

    def within(self) -> FloatArray:
        """Return the products through the state, (P, A, B), for probability one."""
        return self.reach_within.T[:, :, None] * self.leave_within[:, None]


@attrs.frozen(eq=False)
class _Crossing:
    """Segments from A starts to B ends that cross the time of `place` suppressed.

    In other states than that of `place`, Σ_k left[a, k] right[k, b]; in that state, for
    probability one, to[a] · on[b].
    """

    place: int
    starts: NDArray[np.intp]
    ends: NDArray[np.intp]
    without: FloatArray
    left: FloatArray = attrs.field(kw_only=True)
    right: FloatArray = attrs.field(kw_only=True)
    to: FloatArray = attrs.field(kw_only=True)
    on: FloatArray = attrs.field(kw_only=True)


class FollowedKernels:
    """The kernels of one chain under a table that changes."""

    def __init__(self, chain: ProtectedChain, chances: FloatArray) -> None:
        self.chain = chain
        self._chances = chances  # the table's own: it changes
        self._matrix = SegmentKernels.of(chain.belief, chances).matrix
        self._count = chances.shape[1]
        # Every state of every event: its place in time and state, event by event.
        events, states = np.nonzero(chain.members)
        self._places = chain.times[events] * self._count + states
        self._firsts = np.searchsorted(events, np.arange(len(chain.times) + 1))

    def update(self, time: int) -> None:
        """Compute the kernels across `time` anew; the others do not change."""
        here, first, after = self._around(time)
        before = self._matrix[: 1 + first, here] * self._chances[time]
        self._matrix[: 1 + first, after:] = before @ self._matrix[1 + first : 1 + after, after:]

    def may_release(self, time: int, state: int) -> bool:
        """Whether segments that end or begin with this release keep all events private."""
        place = time * self._count + state
        starts, ends = self._bounds(time)
        limits = self.chain.limits * (1.0 + ROUNDING)
        weights = self._chances.flat[self._places]
        into = self._matrix[starts[:, None], self._places] * weights
        ending = self._by_event(into * self._matrix[1 + self._places, place], axis=1)
        if (ending > limits * self._matrix[starts, place][:, None]).any():
            return False
        rows = self._matrix[1 + self._places[:, None], ends]
        out_of = self._matrix[1 + place, self._places] * weights
        beginning = self._by_event(out_of[:, None] * rows, axis=0)
        return not (beginning > limits[:, None] * self._matrix[1 + place, ends]).any()

    def lines(self, time: int, state: int) -> Iterator[Line]:
        """Yield the constraints that fail at probability zero; the others hold all the way."""
        crossing = self._crossing(time, state)
        total_without = crossing.left @ crossing.right
        total_with = crossing.to[:, None] * crossing.on
        for events in self._parts(time, total_with.size):
            passage = self._passage(crossing, events)
            limits = self.chain.limits[events, None, None]
            without = self._by_event(passage.without(), axis=0, events=events)
            failing = without > limits * (1.0 + ROUNDING) * total_without
            if failing.any():
                within = self._by_event(passage.within(), axis=0, events=events)
                yield Line(
                    without[failing][None],
                    within[failing][None],
                    (limits * total_without)[failing][None],
                    (limits * total_with)[failing][None],
                )

    def _crossing(self, time: int, state: int) -> _Crossing:
        """Return how segments cross a time, in one state and in the others."""
        here, first, after = self._around(time)
        starts, ends = self._bounds(time)
        without = self._chances[time].copy()
        without[state] = 0.0
        return _Crossing(
            first + state,
            starts,
            ends,
            without,
            left=self._matrix[starts, here] * without,
            right=self._matrix[1 + first : 1 + after, ends],
            to=self._matrix[starts, first + state],
            on=self._matrix[1 + first + state, ends],
        )

    def _passage(self, crossing: _Crossing, events: slice) -> _Passage:
        """Return the ways through events that all lie before, at or after the crossing."""
        here, first, after = self._around(crossing.place // self._count)
        starts, ends, place = crossing.starts, crossing.ends, crossing.place
        places = self._places[self._firsts[events.start] : self._firsts[events.stop]]
        weights = self._chances.flat[places]
        if places[-1] < first:
            reached = self._matrix[starts[:, None], places] * weights
            rows = self._matrix[1 + places, here]
            onward = (rows * crossing.without) @ crossing.right
            through = rows[:, place - first, None] * crossing.on
            return _Passage(reached, onward, reached, through)
        onward = self._matrix[1 + places[:, None], ends]
        if places[0] < after:
            # An event of this very time cannot hold a state that may be released.
            reached = self._matrix[starts[:, None], places] * crossing.without[places - first]
            return _Passage(reached, onward, np.zeros_like(reached), onward)
        reached = (crossing.left @ self._matrix[1 + first : 1 + after, places]) * weights
        through = crossing.to[:, None] * (self._matrix[1 + place, places] * weights)
        return _Passage(reached, onward, through, onward)

    def _around(self, time: int) -> tuple[slice, int, int]:
        """Return the columns of a time, its first place, and the first place after it."""
        first, after = time * self._count, (time + 1) * self._count
        return slice(first, after), first, after

    def _bounds(self, time: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the rows of releases before `time` and the columns of those after it."""
        _, first, after = self._around(time)
        released = np.flatnonzero(((self._chances < 1.0) & self.chain.possible).ravel())
        starts = np.concatenate([[0], 1 + released[released < first]])
        ends = np.append(released[released >= after], self._matrix.shape[1] - 1)
        return starts, ends

    def _parts(self, time: int, size: int) -> Iterator[slice]:
        """Yield runs of events, all before, at or after `time`, small enough for the cache."""
        stride = max(1, CACHED // size)
        cuts = (0, self.chain.before(time), self.chain.before(time + 1), len(self.chain.times))
        for begin, end in itertools.pairwise(cuts):
            for cut in range(begin, end, stride):
                yield slice(cut, min(cut + stride, end))

    def _by_event(self, pairs: FloatArray, axis: int, events: slice = slice(None)) -> FloatArray:
        """Sum over the states of each event."""
        if len(self._places) == len(self.chain.times):
            return pairs
        firsts = self._firsts[:-1][events]
        return np.asarray(np.add.reduceat(pairs, firsts - firsts[0], axis=axis))
