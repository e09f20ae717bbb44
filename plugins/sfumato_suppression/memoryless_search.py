"""Greedy search for memoryless suppression tables of high utility."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.probabilities import FloatArray
from sfumato_suppression.coordinate_search import MemorylessTable
from sfumato_suppression.protected_chain import ProtectedChain

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
