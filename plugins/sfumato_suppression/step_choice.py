"""Suppression probabilities for one time step, one state after the other."""

from __future__ import annotations

from collections.abc import Sequence

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


def chosen_chances(
    laws: Sequence[WaitingLaws],
    time: int,
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
    chances = np.ones(allowed.shape)
    free = np.where(allowed, 0.0, 1.0)
    done = _private(laws, time, free)
    chances[done] = free[done]
    if done.all():
        return chances
    groups = np.arange(len(chances))
    for states in _order(laws, time, allowed, gains, rules).T:
        active = allowed[groups, states] & ~done
        if active.any():
            lines = [_line(law, time, chances, states) for law in laws]
            lowest = lowest_chances(lines, rules.grid)
            chances[groups, states] = np.where(active, lowest, chances[groups, states])
    return chances


def _private(laws: Sequence[WaitingLaws], time: int, chances: FloatArray) -> NDArray[np.bool_]:
    fine = np.ones(len(chances), dtype=bool)
    for law in laws:
        joint, total = law.totals(time, chances)
        bound = law.chain.limits * (1.0 + ROUNDING) * total[..., None]
        fine &= (joint <= bound).all(axis=(1, 2))
    return fine


def _line(
    law: WaitingLaws, time: int, chances: FloatArray, states: NDArray[np.intp]
) -> Line:
    """Return the constraints as lines in the probability of one state in each group."""
    groups = np.arange(len(chances))
    without, only = chances.copy(), np.zeros_like(chances)
    without[groups, states] = 0.0
    only[groups, states] = 1.0
    joint_without, total_without = law.totals(time, without)
    joint_with, total_with = law.totals(time, only)
    limits = law.chain.limits
    return Line(
        joint_without, joint_with, limits * total_without[..., None], limits * total_with[..., None]
    )


def _order(
    laws: Sequence[WaitingLaws],
    time: int,
    allowed: NDArray[np.bool_],
    gains: FloatArray,
    rules: Rules,
) -> NDArray[np.intp]:
    """Return the states of each group, the best to release first, (G, M)."""
    scores = gains
    if rules.by_cover.any():
        per_cover = gains / (_cover(laws, time, allowed) + 1e-300)
        scores = np.where(rules.by_cover[:, None], per_cover, gains)
    scores = np.where(allowed, scores, -1.0)
    return np.argsort(-scores, axis=1, kind="stable")


def _cover(
    laws: Sequence[WaitingLaws], time: int, allowed: NDArray[np.bool_]
) -> FloatArray:
    """Return how much each state covers for events that need it, (G, M).

    An event needs cover as far as the states that cannot be released exceed its limit; a state
    gives what its own share lies below the limit, as a part of that need.
    """
    cover = np.zeros(allowed.shape)
    for law in laws:
        excess = law.risks(time)
        excess -= law.chain.limits[:, None] * law.arrivals[:, :, None]
        need = np.einsum("gaem,gm->gae", excess, ~allowed)
        share = np.divide(1.0, need, out=np.zeros_like(need), where=need > 0.0)
        cover += np.einsum("gaem,gae->gm", np.maximum(-excess, 0.0), share)
    return cover
