"""Greedy search for memoryless suppression tables of high utility."""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sfumato.inference.markov.segments import BEGINNING, silent_kernels
from sfumato.values import FloatArray
from sfumato_suppression.protected_chain import (
    ROUNDING,
    Chains,
    Line,
    ProtectedChain,
    releasable,
)

CACHED = 25_000
"""How many entries of an array are worked on at a time."""

SERIAL = 200_000
"""How large a matrix product may be: above this, threads cost more than they bring."""


class TableKernels:
    """The silent kernels of one chain under a private table that changes entry by entry.

    The states of an event are suppressed for certain, or a release would reveal it.
    """

    def __init__(self, chain: ProtectedChain, chances: FloatArray) -> None:
        self._chain = chain
        self._chances = chances  # the table's own: it changes
        everywhere = np.arange(BEGINNING, chances.size)[None]
        self._matrix = silent_kernels(chain.belief, chances[None], everywhere)[0]
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
        released = np.flatnonzero((self._chances < 1.0) & self._chain.possible)
        self._released: list[int] = released.tolist()
        self._starts = np.append(0, 1 + released)
        self._ends = np.append(released, self._matrix.shape[1] - 1)
        self._into = self._matrix[self._starts, self._places[:, None]]
        self._out_of = self._matrix[1 + self._places[:, None], self._ends]

    def may_release(self, time: int, state: int) -> bool:
        """Whether segments that end or begin with this release keep all events private."""
        place = time * self._count + state
        starts, ends = self._bounds(time)
        past, coming = self._chain.before(time), self._chain.before(time + 1)
        limits = self._chain.limits[:, None] * (1.0 + ROUNDING)
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
        """Yield the constraints that fail at probability zero; the others hold all the way.

        A segment crosses `time` suppressed in another state, Σ_k left[a, k] right[k, b], or in
        this one: to[a] · on[b], times its probability.
        """
        here, first, after = self._around(time)
        starts, ends = self._bounds(time)
        others = self._chances[time].copy()
        others[state] = 0.0
        arriving = self._matrix[self._starts[:starts], here]
        left, to = arriving * others, arriving[:, state]
        right = self._matrix[1 + first : 1 + after, self._ends[ends:]]
        on = right[state]
        total = left @ right
        for events in self._parts(time, total.size):
            inside = slice(self._firsts[events.start], self._firsts[events.stop])
            places = self._places[inside]
            into, out_of = self._into[inside, :starts], self._out_of[inside, ends:]
            if places[-1] < first:
                rows = self._matrix[1 + places, here]
                across, through = (into, (rows * others) @ right), (into, rows[:, [state]] * on)
            elif places[0] >= after:
                rows = self._matrix[1 + first : 1 + after, places]
                across, through = ((left @ rows).T, out_of), (rows[state][:, None] * to, out_of)
            else:  # an event of this very time cannot hold a state that may be released
                across, through = (into, out_of), (np.zeros_like(into), out_of)
            limits = self._chain.limits[events]
            without = self._by_event(across[0][:, :, None] * across[1][:, None], events)
            failing = without > limits[:, None, None] * (total * (1.0 + ROUNDING))
            if failing.any():
                within = self._by_event(through[0][:, :, None] * through[1][:, None], events)
                event, start, end = np.nonzero(failing)
                yield Line(
                    without[failing][None],
                    within[failing][None],
                    (limits[event] * total[start, end])[None],
                    (limits[event] * to[start] * on[end])[None],
                    self._chain.margin,
                )

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
        cuts = (0, self._chain.before(time), self._chain.before(time + 1), len(self._chain.times))
        for begin, end in itertools.pairwise(cuts):
            for cut in range(begin, end, stride):
                yield slice(cut, min(cut + stride, end))

    def _by_event(self, pairs: FloatArray, events: slice) -> FloatArray:
        """Sum over the states of each of the events."""
        if len(self._places) == len(self._chain.times) or events.start == events.stop:
            return pairs
        firsts = np.array(self._firsts[events.start : events.stop])
        return np.asarray(np.add.reduceat(pairs, firsts - firsts[0]))


class MemorylessTable:
    """A private table of suppression probabilities, (T, M), that can be lowered entry by entry."""

    def __init__(self, chains: Chains, chances: FloatArray) -> None:
        self.chances = np.array(chances)
        self._able = releasable(chains)
        self._kernels = [TableKernels(chain, self.chances) for chain in chains]

    def lower(self, place: int, grid: int) -> None:
        """Lower one entry as far as privacy allows."""
        time, state = divmod(place, self.chances.shape[1])
        lowest = self.lowest(time, state, grid)
        if lowest != self.chances[time, state]:
            self.chances[time, state] = lowest
            for kernels in self._kernels:
                kernels.update(time)

    def lowest(self, time: int, state: int, grid: int) -> float:
        """Return the smallest private value of one entry, the others being fixed."""
        present = float(self.chances[time, state])
        if present == 0.0 or not self._able[time, state]:
            return present
        if present == 1.0 and not all(k.may_release(time, state) for k in self._kernels):
            return present
        lines = [line for kernels in self._kernels for line in kernels.lines(time, state)]
        return min(present, float(Line.join(lines).lowest(np.array([grid]))[0])) if lines else 0.0


COARSE_TO_FINE = ((10, 0), (2, 10, 0), (1, 10, 0))
"""Grids to pass through, 0 being exact: taking all the slack at once leaves none for others."""

SHUFFLES = (6, 600)
"""At most so many orders at random are tried, besides the likeliest states first, with so many
entries in all; at least one."""


def greedy_tables(chains: Chains) -> list[FloatArray]:
    """Return one private table (T, M) for each of several ways of lowering, best first."""
    worth = expected_worth(chains)
    tables = []
    for order, grids in _plans(worth):
        table = MemorylessTable(chains, np.ones(worth.shape))
        for grid in grids:
            lower_all(table, order, grid)
        tables.append(table.chances)
    return sorted(tables, key=lambda chances: -float((worth * (1.0 - chances)).sum()))


def lower_all(table: MemorylessTable, order: NDArray[np.intp], grid: int) -> None:
    """Lower entry after entry, each as far as privacy allows."""
    for place in order.tolist():
        table.lower(place, grid)


def expected_worth(chains: Chains) -> FloatArray:
    """Return Pr[X_t = k], (T, M), on average over the class."""
    return np.asarray(np.mean([chain.belief.marginals() for chain in chains], axis=0))


def by_worth(worth: FloatArray) -> NDArray[np.intp]:
    """Return the places in the table, the likeliest first."""
    return np.argsort(-worth.ravel(), kind="stable")


def _plans(worth: FloatArray) -> Iterator[tuple[NDArray[np.intp], tuple[int, ...]]]:
    """Yield orders, each with the grids to pass through."""
    for grids in COARSE_TO_FINE:
        yield by_worth(worth), grids
    most, entries = SHUFFLES
    for seed in range(max(1, min(most, entries // worth.size))):  # the same design every time
        yield np.random.default_rng(seed).permutation(worth.size), COARSE_TO_FINE[-1]
