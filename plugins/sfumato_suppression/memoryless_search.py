"""Greedy search for memoryless suppression tables of high utility."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import OutsideHypotheses
from sfumato.values import FloatArray
from sfumato_suppression.followed_kernels import FollowedKernels
from sfumato_suppression.line_search import least_on_grid, lowest_of, on_grid
from sfumato_suppression.protected_chain import ProtectedChain, may_start_for_all


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
        self._able &= np.logical_or.reduce([chain.possible for chain in chains])
        self._followed = [FollowedKernels(chain, self.chances) for chain in chains]
        # The lowest each entry can ever be. More suppression never harms privacy of a memoryless
        # table (Götz, Nath and Gehrke 2012, theorem 1), so as others fall it can only rise.
        self._floors = np.zeros(self.chances.shape)

    def set(self, time: int, state: int, chance: float) -> None:
        """Lower one entry; the caller knows that the table stays private."""
        if chance != self.chances[time, state]:
            self.chances[time, state] = chance
            for followed in self._followed:
                followed.update(time)

    def lowest(self, time: int, state: int, grid: int) -> float:
        """Return the smallest private value of one entry, the others being fixed."""
        present = float(self.chances[time, state])
        if present == 0.0 or not self._able[time, state]:
            return present
        if self._least(time, state, grid) >= present:
            return present
        if present == 1.0 and not all(f.may_release(time, state) for f in self._followed):
            self._floors[time, state] = 1.0
            return present
        lines = [line for f in self._followed for line in f.lines(time, state)]
        lowest = lowest_of(lines, 1)
        self._floors[time, state] = lowest[0]
        return min(present, float(on_grid(lines, lowest, np.array([grid]))[0]))

    def _least(self, time: int, state: int, grid: int) -> float:
        """Return the least value on the grid that its floor leaves to an entry."""
        floor = self._floors[time, state : state + 1]
        return float((least_on_grid(floor, np.array([grid])) if grid else floor)[0])


GRID = 10
"""The finest grid: probabilities are multiples of 1/10 before they are lowered exactly."""

COARSE_TO_FINE = ((10, 0), (2, 10, 0), (1, 10, 0))
"""Grids to pass through, 0 being exact: taking all the slack at once leaves none for others."""

SHUFFLES = (6, 600)
"""At most so many orders at random are tried, besides the likeliest states first, with so many
entries in all; at least one."""


def greedy_tables(chains: Sequence[ProtectedChain]) -> list[FloatArray]:
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
    count = table.chances.shape[1]
    for place in order:
        time, state = divmod(int(place), count)
        table.set(time, state, table.lowest(time, state, grid))


def expected_worth(chains: Sequence[ProtectedChain]) -> FloatArray:
    """Return the probability of each state at each time, (T, M), on average over the class."""
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


def best_grid_table(chains: Sequence[ProtectedChain]) -> FloatArray:
    """Return a table of multiples of 1/10 with the largest utility of all private ones, (T, M).

    Entries are fixed one by one, the rest being suppressed for certain. More suppression never
    harms privacy of a memoryless table (Götz, Nath and Gehrke 2012, theorem 1), so an entry can
    never fall below the lowest value it could have now: that bounds the utility of all
    completions.
    """
    return _Search(chains).best


class _Search:
    def __init__(self, chains: Sequence[ProtectedChain]) -> None:
        self._chains = chains
        self._worth = expected_worth(chains)
        order = by_worth(self._worth)
        table = MemorylessTable(chains, np.ones(self._worth.shape))
        lower_all(table, order, GRID)
        self.best = table.chances
        root = np.ones(self._worth.shape), order[self._worth.flat[order] > 0.0]
        if self._estimated_tables(root) > HOPELESS:
            raise self._too_large()
        self._looked_at = 0
        self._visit(root)

    def _estimated_tables(self, root: Partial) -> float:
        """Estimate how many partial tables a search looks at, up to about `HOPELESS`.

        A descent that takes one of b completions at random stands for b of them, so the product
        of its b's is an unbiased estimate at every depth (Knuth 1975).
        """
        rng = np.random.default_rng(0)  # the same answer every time
        total = 0.0
        for _ in range(PROBES):
            partial, stands_for = root, 1.0
            while completions := self._completions(partial):
                stands_for *= len(completions)
                total += stands_for
                if total > PROBES * HOPELESS:
                    return total / PROBES
                partial = completions[rng.integers(len(completions))]
        return total / PROBES

    def _too_large(self) -> OutsideHypotheses:
        steps, count = self._worth.shape
        return OutsideHypotheses(
            f"exhaustive search looks at most at {LIMIT} partial tables, too few for {steps} "
            f"steps and {count} states; use search='greedy'."
        )

    def _utility(self, chances: FloatArray) -> float:
        return float((self._worth * (1.0 - chances)).sum())

    def _visit(self, partial: Partial) -> None:
        """Complete a table in every way that may be worth it."""
        self._looked_at += 1
        if self._looked_at > LIMIT:
            raise self._too_large()
        for completion in self._completions(partial):
            self._visit(completion)

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
        found = []
        for chance in np.arange(round(lowest.flat[place] * GRID), GRID + 1) / GRID:
            chosen = chances.copy()
            chosen.flat[place] = chance
            found.append((chosen, rest))
        return found
