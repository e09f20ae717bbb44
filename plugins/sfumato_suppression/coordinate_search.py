"""Lowering single suppression probabilities of a memoryless table, in any order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.probabilities import FloatArray
from sfumato_suppression.followed_kernels import FollowedKernels
from sfumato_suppression.line_search import lowest_chances
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
        self._followed = [FollowedKernels(chain, self.chances) for chain in chains]

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
