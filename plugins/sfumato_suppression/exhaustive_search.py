"""The best memoryless table on the grid, by branch and bound."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import OutsideHypotheses
from sfumato.probabilities import FloatArray
from sfumato_suppression.coordinate_search import MemorylessTable
from sfumato_suppression.memoryless_search import GRID, by_worth, expected_worth, lower_all
from sfumato_suppression.protected_chain import ProtectedChain

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
