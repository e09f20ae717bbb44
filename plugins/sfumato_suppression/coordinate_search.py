"""Lowering single suppression probabilities of a memoryless table, in any order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.probabilities import FloatArray
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
