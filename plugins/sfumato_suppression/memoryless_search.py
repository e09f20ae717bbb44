"""Greedy and exhaustive search for memoryless suppression tables of high utility."""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import OutsideHypotheses
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


GRID = 10
"""The finest grid: probabilities are multiples of 1/10 before they are lowered exactly."""

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


def lower_exactly(chains: Chains, chances: FloatArray) -> FloatArray:
    """Return a private table with all the slack taken, the likeliest states first."""
    table = MemorylessTable(chains, chances)
    lower_all(table, by_worth(expected_worth(chains)), grid=0)
    return table.chances


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


LIMIT = 20_000
"""How many partial tables are looked at before refusing."""

PROBES = 8
"""How many random descents estimate, before the search, how many partial tables there are."""

HOPELESS = 10 * LIMIT
"""Estimates vary widely: from this on the search would not end."""

Partial = tuple[FloatArray, NDArray[np.intp]]
"""A table, and the entries that are still at one."""


def best_grid_table(chains: Chains) -> FloatArray:
    """Return a table of multiples of 1/10 with the largest utility of all private ones, (T, M).

    Entries are fixed one by one, the rest being suppressed for certain. An entry can never fall
    below the lowest value it could have now, as more suppression never harms the privacy of a
    memoryless table (Götz, Nath and Gehrke 2012, theorem 1): that bounds all completions.
    """
    return _Search(chains).best


class _Search:
    def __init__(self, chains: Chains) -> None:
        self._chains, self._worth = chains, expected_worth(chains)
        order = by_worth(self._worth)
        table = MemorylessTable(chains, np.ones(self._worth.shape))
        lower_all(table, order, GRID)
        self.best, self._looked_at = table.chances, 0
        root = np.ones(self._worth.shape), order[self._worth.flat[order] > 0.0]
        if self._estimated_tables(root) > HOPELESS or not self._visit(root):
            steps, count = self._worth.shape
            free, sure = len(root[1]), int(math.log(LIMIT, GRID + 1))
            raise OutsideHypotheses(
                f"exhaustive search looks at most at {LIMIT} partial tables, too few for {free} "
                f"probabilities of {steps} steps and {count} states ({sure} always do); "
                "use search='greedy'."
            )

    def _estimated_tables(self, root: Partial) -> float:
        """Estimate how many partial tables a search looks at, up to about `HOPELESS`.

        A descent that takes one of b completions at random stands for b of them, so the product
        of its b's is an unbiased estimate at every depth (Knuth 1975).
        """
        rng = np.random.default_rng(0)  # the same answer every time
        total = 0.0
        for _ in range(PROBES):
            partial, stands_for = root, 1.0
            while total <= PROBES * HOPELESS and (completions := self._completions(partial)):
                stands_for *= len(completions)
                total += stands_for
                partial = completions[rng.integers(len(completions))]
        return total / PROBES

    def _visit(self, partial: Partial) -> bool:
        """Complete a table in every way that may be worth it; return whether that ended."""
        self._looked_at += 1
        return self._looked_at <= LIMIT and all(map(self._visit, self._completions(partial)))

    def _utility(self, chances: FloatArray) -> float:
        return float((self._worth * (1.0 - chances)).sum())

    def _completions(self, partial: Partial) -> list[Partial]:
        """Return the table with one more entry fixed, if that can beat the best so far."""
        chances, left = partial
        table = MemorylessTable(self._chains, chances)
        lowest = chances.copy()
        for place in left:
            time, state = divmod(int(place), chances.shape[1])
            lowest[time, state] = table.lowest(time, state, GRID)
        if self._utility(chances) > self._utility(self.best):
            self.best = chances
        open_places = left[lowest.flat[left] < 1.0]
        if not len(open_places) or self._utility(lowest) <= self._utility(self.best) + 1e-12:
            return []
        place, rest = open_places[0], open_places[1:]
        values = np.arange(round(lowest.flat[place] * GRID), GRID + 1) / GRID
        chosen = np.repeat(chances[None], len(values), axis=0)
        chosen.reshape(len(values), -1)[:, place] = values
        return [(table, rest) for table in chosen]
