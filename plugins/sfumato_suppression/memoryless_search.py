"""Greedy search for memoryless suppression tables of high utility."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.probabilities import FloatArray
from sfumato_suppression.coordinate_search import MemorylessTable
from sfumato_suppression.protected_chain import ProtectedChain

GRID = 10
"""Probabilities are multiples of 1/10 at first: taking all the slack at once is worse."""

SHUFFLES = 3
"""How many orders at random are tried, besides the likeliest and the rarest states first."""


def greedy_tables(chains: Sequence[ProtectedChain]) -> list[FloatArray]:
    """Return one private table (T, M) for each of several orders of the states, best first."""
    worth = expected_worth(chains)
    tables = []
    for order in _orders(worth):
        table = MemorylessTable(chains, np.ones(worth.shape))
        for grid in (GRID, 0):  # first on the grid, then exactly
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


def _orders(worth: FloatArray) -> Iterator[NDArray[np.intp]]:
    best = by_worth(worth)
    yield best
    yield best[::-1]
    for seed in range(SHUFFLES):  # fixed seeds: the same design every time
        yield np.random.default_rng(seed).permutation(worth.size)
