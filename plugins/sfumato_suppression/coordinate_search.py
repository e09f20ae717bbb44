"""Lowering single suppression probabilities of a memoryless table, in any order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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
        place = first + state
        starts, ends = self._bounds(time)
        without = self._chances[time].copy()
        without[state] = 0.0
        left = self._matrix[starts, here] * without  # suppressed at `time`, but not in `state`
        right = self._matrix[1 + first : 1 + after, ends]
        to, on = self._matrix[starts, place], self._matrix[1 + place, ends]
        total_without, total_with = left @ right, to[:, None] * on
        for events in self._parts(total_with.size):
            pairs = slice(self._firsts[events.start], self._firsts[events.stop])
            places, weights = self._places[pairs], self._chances.flat[self._places[pairs]]
            # An event before, at or after `time`: how it is reached and left without `state`.
            early, late = places < first, places >= after
            rows = self._matrix[1 + places]
            reached = np.where(late, left @ self._matrix[1 + first : 1 + after, places], 0.0)
            reached += np.where(late, 0.0, self._matrix[starts[:, None], places])
            weights_without = weights.copy()
            now = ~early & ~late
            weights_without[now] = without[places[now] - first]
            leaving = np.where(early[:, None], (rows[:, here] * without) @ right, rows[:, ends])
            joint_without = (reached * weights_without).T[:, :, None] * leaving[:, None]
            joint_without = self._by_event(joint_without, axis=0, events=events)
            limits = self.chain.limits[events, None, None]
            failing = joint_without > limits * (1.0 + ROUNDING) * total_without
            if not failing.any():
                continue
            through = np.where(late, self._matrix[1 + place, places], rows[:, place]) * weights
            origin = np.where(late, to[:, None], self._matrix[starts[:, None], places])
            target = np.where(late[:, None], rows[:, ends], on)
            joint_with = (origin * np.where(now, 0.0, through)).T[:, :, None] * target[:, None]
            joint_with = self._by_event(joint_with, axis=0, events=events)
            yield Line(
                joint_without[failing][None],
                joint_with[failing][None],
                (limits * total_without)[failing][None],
                (limits * total_with)[failing][None],
            )

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

    def _parts(self, size: int) -> Iterator[slice]:
        """Yield runs of events for which arrays of `size` entries each stay in the cache."""
        stride = max(1, CACHED // max(size, 1))
        for begin in range(0, len(self.chain.times), stride):
            yield slice(begin, min(begin + stride, len(self.chain.times)))

    def _by_event(
        self, pairs: FloatArray, axis: int, events: slice = slice(None)
    ) -> FloatArray:
        """Sum over the states of each event."""
        if len(self._places) == len(self.chain.times):
            return pairs
        firsts = self._firsts[:-1][events]
        return np.add.reduceat(pairs, firsts - firsts[0], axis=axis)
