"""The smallest noise budget that meets a target."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Generic, TypeVar

import attrs

from sfumato.errors import OutsideHypotheses

T = TypeVar("T")

SLACK = 1e-7
"""Relative amount by which the loss may stay below its target."""

STEPS = 20
"""False position needs fewer where the loss is continuous in the budget."""

JUMP = 1e-6
"""Where the loss jumps, a budget is settled to this relative width."""

REACH = 1e15
"""Largest factor between the first budget tried and the last."""


@attrs.frozen
class _Trial(Generic[T]):
    """A budget, how far its loss lies above the target (as a logarithm), and what it gave."""

    budget: float
    excess: float
    found: T


def smallest_budget(
    try_budget: Callable[[float], tuple[float, T]], target: float, start: float
) -> T:
    """Return what the smallest budget gave whose loss is at most `target`.

    The loss falls as the budget grows, much like its inverse: the root of log loss − log target as
    a function of log budget is bracketed by steps of slope −1, then refined by false position with
    the kept end's value halved (the Illinois rule). The result is always from the safe side.

    >>> round(smallest_budget(lambda b: (3.0 / b, b), target=1.5, start=1.0), 6)
    2.0
    """

    def trial(budget: float) -> _Trial[T]:
        loss, found = try_budget(budget)
        excess = math.log(loss / target) if loss > 0 else -math.inf
        return _Trial(budget, excess, found)

    low, high = _bracket(trial, start)
    if low is None:
        return high.found
    return _refine(trial, low, high).found


def _bracket(
    trial: Callable[[float], _Trial[T]], start: float
) -> tuple[_Trial[T] | None, _Trial[T]]:
    """Return a budget that is too small and one that is not; no former if none was found."""
    first = trial(start)
    low = high = first
    least = 1e-6  # doubled each time: where the loss hardly moves, its slope says nothing
    while low.excess <= 0 and not _close(low):
        if low.budget < start / REACH:
            return None, low
        high, low = low, trial(low.budget * math.exp(max(1.01 * low.excess - least, -7.0)))
        least *= 2
    if low.excess <= 0:
        return None, low
    while high.excess > 0:
        if high.budget > start * REACH:
            raise OutsideHypotheses(
                "the target loss must be reachable by adding noise; got one that no budget up to "
                f"{high.budget:.3g} per entry reaches: allow a larger epsilon."
            )
        low, high = high, trial(high.budget * math.exp(min(1.01 * high.excess + least, 7.0)))
        least *= 2
    return low, high


def _close(trial: _Trial[T]) -> bool:
    return -SLACK <= trial.excess <= 0


def _refine(trial: Callable[[float], _Trial[T]], low: _Trial[T], high: _Trial[T]) -> _Trial[T]:
    """Narrow the bracket: by false position, and by halving where the loss jumps at its root."""
    above, below = min(low.excess, 1e3), max(high.excess, -1e3)
    for step in itertools.count():
        jumps = step >= STEPS
        if _close(high) or high.budget <= low.budget * (1 + (JUMP if jumps else 1e-12)):
            break
        width = math.log(high.budget / low.budget)
        # Aim a little beyond the root: the answer must come from its safe side.
        share = min(max(above / (above - below) + 0.1 * SLACK / width, 1e-3), 1 - 1e-3)
        share = 0.5 if jumps else share
        middle = trial(low.budget * math.exp(share * width))
        if not low.budget < middle.budget < high.budget:
            break
        if middle.excess > 0:
            low, above, below = middle, min(middle.excess, 1e3), below / 2
        else:
            high, below, above = middle, max(middle.excess, -1e3), above / 2
    return high
