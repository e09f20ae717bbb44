"""How far one suppression probability may be lowered: an interval with a closed-form end.

Every privacy constraint of a segment is linear in each single probability p:

    N₀ + p N₁ ≤ θ (D₀ + p D₁),   N the joint probability with the event, D that of the segment,

with all four terms sums of non-negative products. If it holds at the present p, it holds down to
p = (N₀ − θD₀) / (θD₁ − N₁), or down to zero where N₀ ≤ θD₀. N₀ and D₀ are computed as sums that
leave p's state out, never by subtraction, so nothing cancels.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.values import FloatArray
from sfumato_suppression.protected_chain import ROUNDING

MARGIN = 1e-12
"""A probability strictly between 0 and 1 keeps this relative distance from its limit."""

FINEST = 1e-6
"""Probabilities are 0, 1 or at least this far from both: anything closer hides in rounding."""


@attrs.frozen(eq=False)
class Line:
    """Constraints N₀ + p N₁ ≤ θ (D₀ + p D₁) for each of G groups; arrays are (G, ...)."""

    joint_without: FloatArray
    joint_with: FloatArray
    bound_without: FloatArray
    bound_with: FloatArray

    def lowest(self) -> FloatArray:
        """Return the smallest p that keeps all constraints of each group, (G,), at most 1."""
        if self.joint_with.size == 0:
            return np.zeros(len(self.joint_with))
        excess = self.joint_without - self.bound_without * (1.0 - MARGIN)
        relief = self.bound_with * (1.0 - MARGIN) - self.joint_with
        needed = np.ones_like(excess)
        np.divide(excess, relief, out=needed, where=relief > 0.0)
        needed[self.joint_without <= self.bound_without * (1.0 + ROUNDING)] = 0.0
        return _largest(np.minimum(needed, 1.0))

    def free(self) -> NDArray[np.bool_]:
        """Return whether all constraints of each group hold at p = 0, up to rounding, (G,)."""
        fine = self.joint_without <= self.bound_without * (1.0 + ROUNDING)
        return np.asarray(fine.reshape(len(fine), -1).all(axis=1))

    def holds(self, chances: FloatArray) -> NDArray[np.bool_]:
        """Return whether all constraints hold at p = `chances` (G,), up to rounding."""
        p = chances.reshape(-1, *[1] * (self.joint_with.ndim - 1))
        bound = (self.bound_without + p * self.bound_with) * (1.0 + ROUNDING)
        fine = self.joint_without + p * self.joint_with <= bound
        return np.asarray(fine.reshape(len(fine), -1).all(axis=1))


def lowest_chances(lines: Iterable[Line], grid: NDArray[np.intp]) -> FloatArray:
    """Return the lowest probability of each group, (G,): 1/d of the grid, or exactly for d = 0."""
    kept = list(lines)
    if (grid == 1).all():
        free = np.logical_and.reduce([np.ones(len(grid), bool), *(line.free() for line in kept)])
        return np.where(free, 0.0, 1.0)
    return on_grid(kept, lowest_of(kept, len(grid)), grid)


def lowest_of(lines: Sequence[Line], groups: int) -> FloatArray:
    """Return the lowest probability of each group that keeps all lines, (G,)."""
    lowest = np.maximum.reduce([np.zeros(groups), *(line.lowest() for line in lines)])
    lowest[lowest > 1.0 - FINEST] = 1.0
    return np.asarray(np.where(lowest > 0.0, np.maximum(lowest, FINEST), 0.0))


def on_grid(lines: Sequence[Line], lowest: FloatArray, grid: NDArray[np.intp]) -> FloatArray:
    """Return the lowest probabilities that keep all lines and are multiples of 1/d where d > 0."""
    if not grid.any():
        return lowest
    fineness = np.maximum(grid, 1)
    below = least_on_grid(lowest, fineness)
    fits = below >= lowest
    if ((below > 0.0) & ~fits).any():  # at zero it holds only if that is the lowest
        fits |= np.logical_and.reduce([line.holds(below) for line in lines])
    coarse = np.where(fits, below, np.minimum((np.floor(lowest * fineness) + 1) / fineness, 1.0))
    return np.asarray(np.where(grid > 0, coarse, lowest))


def least_on_grid(lowest: FloatArray, fineness: NDArray[np.intp]) -> FloatArray:
    """Return the multiples of 1/d just below, or at, the lowest probabilities."""
    return np.asarray(np.floor(lowest * fineness + 1e-9) / fineness)


def _largest(needed: FloatArray) -> FloatArray:
    return np.asarray(needed.reshape(len(needed), -1).max(axis=1, initial=0.0))
