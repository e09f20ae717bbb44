"""Suppression probabilities for one time step, one state after the other."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.probabilities import FloatArray
from sfumato_suppression.line_search import Line, lowest_chances
from sfumato_suppression.protected_chain import ROUNDING
from sfumato_suppression.waiting_laws import WaitingLaws


@attrs.frozen(eq=False)
class Rules:
    """How each of G groups goes about it.

    Attributes
    ----------
    grid
        Probabilities are multiples of 1/grid; 0 takes all the slack there is, exactly.
    by_cover
        Whether states are lowered in the order of gain per cover lost, (G,), or of gain alone.
        A suppressed state covers for an event as far as it makes it *less* likely.
    """

    grid: NDArray[np.intp]
    by_cover: NDArray[np.bool_]

    def repeated(self, times: int) -> Rules:
        """Return the rules once for each of several starts, rule by rule."""
        return Rules(np.repeat(self.grid, times), np.repeat(self.by_cover, times))

    def of_groups(self, groups: NDArray[np.intp]) -> Rules:
        """Return the rules of some groups only."""
        return Rules(self.grid[groups], self.by_cover[groups])


def chosen_chances(
    laws: Sequence[WaitingLaws],
    allowed: NDArray[np.bool_],
    gains: FloatArray,
    rules: Rules,
) -> FloatArray:
    """Return probabilities (G, M) that keep every event private if all later is suppressed.

    Parameters
    ----------
    laws
        The open segments, under each member of the prior class.
    allowed
        Which states may be released, (G, M).
    gains
        What releasing each state is worth, (G, M); where it is worth nothing it is suppressed.
    """
    allowed = allowed & (gains > 0.0)
    chances = np.where(allowed, 0.0, 1.0)
    constraints = _Constraints.of(laws, allowed)
    left = np.flatnonzero(~constraints.hold(chances))
    if len(left):
        few = constraints.of_groups(left)
        chances[left] = _lowered(few, allowed[left], gains[left], rules.of_groups(left))
    return chances


def _lowered(
    constraints: _Constraints, allowed: NDArray[np.bool_], gains: FloatArray, rules: Rules
) -> FloatArray:
    """Lower one state after the other, from certain suppression."""
    chances = np.ones(allowed.shape)
    groups = np.arange(len(chances))
    scores = np.where(rules.by_cover[:, None], gains / constraints.cover(allowed), gains)
    order = np.argsort(np.where(allowed, -scores, 1.0), axis=1, kind="stable")
    for states in order.T:
        active = allowed[groups, states]
        if active.any():
            line = constraints.line(chances, states)
            lowest = lowest_chances([line], rules.grid)
            chances[groups, states] = np.where(active, lowest, chances[groups, states])
    return chances


@attrs.frozen(eq=False)
class _Constraints:
    """Σ_k joint[g, c, k] p[g, k] ≤ Σ_k bound[g, c, k] p[g, k] for every group g and constraint c.

    joint is the probability with an event, bound the event's limit times that of the segment.
    """

    joint: FloatArray
    bound: FloatArray

    @cached_property
    def both(self) -> FloatArray:
        """Both sides, one above the other, (G, 2C, M)."""
        return np.concatenate([self.joint, self.bound], axis=1)

    @classmethod
    def of(cls, laws: Sequence[WaitingLaws], allowed: NDArray[np.bool_]) -> _Constraints:
        """Collect the constraints of all events, but those that no choice can break."""
        joints, bounds = [], []
        for law in laws:
            joint, limits = law.risks()
            bound = limits[:, None] * law.arrivals[:, None]
            excess = joint - bound
            # At worst, states that give cover are released, wherever they may be.
            worst = np.where((excess < 0.0) & allowed[:, None], 0.0, excess).sum(axis=-1)
            risky = (worst > 0.0).any(axis=0)
            joints.append(joint[:, risky])
            bounds.append(bound[:, risky])
        return cls(np.concatenate(joints, axis=1), np.concatenate(bounds, axis=1))

    def of_groups(self, groups: NDArray[np.intp]) -> _Constraints:
        """Return the constraints of some groups only."""
        return _Constraints(self.joint[groups], self.bound[groups])

    def hold(self, chances: FloatArray) -> NDArray[np.bool_]:
        """Return whether all constraints of each group hold, (G,)."""
        columns = chances[:, :, None]
        fine = self.joint @ columns <= (1.0 + ROUNDING) * (self.bound @ columns)
        return np.asarray(fine.all(axis=(1, 2)))

    def line(self, chances: FloatArray, states: NDArray[np.intp]) -> Line:
        """Return the constraints as lines in the probability of one state in each group."""
        groups = np.arange(len(chances))
        without = chances.copy()
        without[groups, states] = 0.0
        count = self.joint.shape[1]
        rest = (self.both @ without[:, :, None])[..., 0]
        alone = self.both[groups, :, states]
        return Line(rest[:, :count], alone[:, :count], rest[:, count:], alone[:, count:])

    def cover(self, allowed: NDArray[np.bool_]) -> FloatArray:
        """Return how much each state covers for events that need it, (G, M); never zero.

        An event needs cover as far as the states that cannot be released exceed its limit; a
        state gives what its own share lies below the limit, as a part of that need.
        """
        excess = self.joint - self.bound
        need = np.where(allowed[:, None], 0.0, excess).sum(axis=-1)
        share = np.divide(1.0, need, out=np.zeros_like(need), where=need > 0.0)
        return np.asarray(np.einsum("gcm,gc->gm", np.maximum(-excess, 0.0), share)) + 1e-300
