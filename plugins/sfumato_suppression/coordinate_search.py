"""Lowering single suppression probabilities of a memoryless table, in any order."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.inference.segment_kernels import SegmentKernels
from sfumato.probabilities import FloatArray
from sfumato_suppression.line_search import Line, lowest_chances
from sfumato_suppression.protected_chain import ROUNDING, ProtectedChain, may_start_for_all

CACHED = 100_000
"""How many entries of an array are worked on at a time."""


class MemorylessTable:
    """A private table of suppression probabilities that can be lowered entry by entry.

    Parameters
    ----------
    chains
        The members of the prior class, with their events.
    chances
        A private table, (T, M).
    """

    def __init__(self, chains: Sequence[ProtectedChain], chances: FloatArray) -> None:
        self.chances = np.array(chances)
        self._able = may_start_for_all(tuple(chains))
        self._followed = [_Followed(chain, self.chances) for chain in chains]

    def set(self, time: int, state: int, chance: float) -> None:
        """Set one entry; the caller knows that the table stays private."""
        if chance != self.chances[time, state]:
            self.chances[time, state] = chance
            for followed in self._followed:
                followed.update(time)

    def lowest(self, time: int, state: int, grid: int) -> float:
        """Return the smallest private value of one entry, the others being fixed."""
        present = float(self.chances[time, state])
        if present == 0.0 or not self._able[time, state]:
            return present
        if not any(followed.chain.possible[time, state] for followed in self._followed):
            return present
        if present == 1.0 and not all(f.may_release(time, state) for f in self._followed):
            return present
        lines = (line for f in self._followed for line in f.lines(time, state))
        return min(present, float(lowest_chances(lines, np.array([grid]))[0]))


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


class _Followed:
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
        here, first, after = self._around(time)
        starts, ends = self._bounds(time)
        left = self._matrix[starts, here] * self._without(time, state)
        right = self._matrix[1 + first : 1 + after, ends]
        to, on = self._matrix[starts, first + state], self._matrix[1 + first + state, ends]
        total_without, total_with = left @ right, to[:, None] * on
        for events, passage in self._passages(time, state, starts, ends, left, right):
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

    def _passages(
        self,
        time: int,
        state: int,
        starts: NDArray[np.intp],
        ends: NDArray[np.intp],
        left: FloatArray,
        right: FloatArray,
    ) -> Iterator[tuple[slice, _Passage]]:
        """Yield runs of events before, at and after `time`, and the ways through them."""
        here, first, after = self._around(time)
        place = first + state
        on = self._matrix[1 + place, ends]
        for events in self._parts(time, len(starts) * len(ends)):
            places = self._places[self._firsts[events.start] : self._firsts[events.stop]]
            weights = self._chances.flat[places]
            if places[-1] < first:
                reached = self._matrix[starts[:, None], places] * weights
                rows = self._matrix[1 + places, here]
                onward = (rows * self._without(time, state)) @ right
                through = rows[:, state, None] * on
                yield events, _Passage(reached, onward, reached, through)
            elif places[0] < after:
                reached = self._matrix[starts[:, None], places]
                kept = reached * self._without(time, state)[places - first]
                onward = self._matrix[1 + places[:, None], ends]
                # An event of this very time cannot lie in `state`, which could not be released.
                yield events, _Passage(kept, onward, np.zeros_like(kept), onward)
            else:
                reached = (left @ self._matrix[1 + first : 1 + after, places]) * weights
                onward = self._matrix[1 + places[:, None], ends]
                through = self._matrix[starts, place, None] * (
                    self._matrix[1 + place, places] * weights
                )
                yield events, _Passage(reached, onward, through, onward)

    def _without(self, time: int, state: int) -> FloatArray:
        """Return the chances at a time, with that of one state at zero."""
        chances = self._chances[time].copy()
        chances[state] = 0.0
        return chances

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

    def _by_event(
        self, pairs: FloatArray, axis: int, events: slice = slice(None)
    ) -> FloatArray:
        """Sum over the states of each event."""
        if len(self._places) == len(self.chain.times):
            return pairs
        firsts = self._firsts[:-1][events]
        return np.add.reduceat(pairs, firsts - firsts[0], axis=axis)
