"""Days of labelled activity, and the chain whose law changes with the time of day."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError
from sfumato.labels import checked_labels, encoded

DAY = 86_400.0
"""Seconds in a day."""


@attrs.frozen(eq=False)
class FittedChain:
    """A fitted chain: labels (M), initial law (M,), one matrix per step (T − 1, M, M)."""

    states: tuple[Hashable, ...]
    initial: NDArray[np.float64]
    transitions: NDArray[np.float64]


def inhomogeneous_chain(
    days: Sequence[Sequence[Hashable]],
    states: Iterable[Hashable] | None = None,
    smoothing: float = 1.0,
) -> FittedChain:
    """Fit one transition matrix for each step to days of equal length.

    With N_t(i, j) the number of days that move from i to j at step t, and c the smoothing,

        P_t(i, j) = (N_t(i, j) + c P(i, j)) / (N_t(i) + c),
        P(i, j)   = (Σ_t N_t(i, j) + c/M) / (Σ_t N_t(i) + c):

    a step that was seen seldom leans on how i moves at any time, and that on the uniform law.
    Equally the initial law leans on how often each state occurs at all, and that on the uniform
    law. So c is the number of days that the general habit counts for. c = 0 takes the bare
    frequencies, and a row that was never seen the general habit.

    Parameters
    ----------
    days
        Lists of states, all of one length.
    states
        The labels; by default those that occur, sorted by their text.
    smoothing
        c, not negative.

    Examples
    --------
    >>> chain = inhomogeneous_chain([["bed", "bed", "out"], ["bed", "out", "out"]], smoothing=0.0)
    >>> chain.states, chain.initial.tolist()
    (('bed', 'out'), [1.0, 0.0])
    >>> chain.transitions[:, 0].tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    """
    if not (np.isfinite(smoothing) and smoothing >= 0.0):
        raise ParameterError(f"smoothing must be 0 or more; got {smoothing}.")
    kept = [list(day) for day in days]
    if not kept or not kept[0] or len({len(day) for day in kept}) > 1:
        lengths = sorted({len(day) for day in kept})
        raise ParameterError(f"days must be lists of states of one length; got lengths {lengths}.")
    labels = _labels(kept, states)
    paths = np.array([encoded(labels, day, "states") for day in kept])
    count, steps = len(labels), paths.shape[1]
    uniform = np.full(count, 1.0 / count)
    moves = np.zeros((steps - 1, count, count))
    for time in range(steps - 1):
        np.add.at(moves[time], (paths[:, time], paths[:, time + 1]), 1.0)
    habit = _leaning(moves.sum(axis=0), uniform, smoothing)
    occurring = _leaning(np.bincount(paths.ravel(), minlength=count), uniform, smoothing)
    first = np.bincount(paths[:, 0], minlength=count)
    return FittedChain(
        labels, _leaning(first, occurring, smoothing), _leaning(moves, habit, smoothing)
    )


def _leaning(
    counts: NDArray[np.float64] | NDArray[np.intp], habit: NDArray[np.float64], weight: float
) -> NDArray[np.float64]:
    """Return (counts + weight · habit) / (total + weight) row by row; habit where all is zero."""
    totals = counts.sum(axis=-1, keepdims=True) + weight
    seen = totals > 0.0
    laws = np.where(seen, (counts + weight * habit) / np.where(seen, totals, 1.0), habit)
    return np.asarray(laws / laws.sum(axis=-1, keepdims=True))


def _labels(
    days: Sequence[Sequence[Hashable]], states: Iterable[Hashable] | None
) -> tuple[Hashable, ...]:
    if states is None:
        return tuple(sorted({state for day in days for state in day}, key=str))
    given = tuple(states)
    return checked_labels(given, len(given), "states")


def days_of_intervals(
    intervals: Iterable[tuple[float, float, Hashable]], slots: int, idle: Hashable = "idle"
) -> list[list[Hashable]]:
    """Cut labelled intervals of time into days of equal slots.

    A slot has the label that takes most of it (the first in order of text among equals), `idle`
    where more of it has no label than any one label. Days on which nothing was recorded at all
    are left out.

    Parameters
    ----------
    intervals
        (begin, end, label), in seconds since midnight of some first day.
    slots
        How many equal slots make a day.
    idle
        The label of unlabelled time.

    Examples
    --------
    >>> days_of_intervals([(0.0, 30_000.0, "bed"), (40_000.0, 86_400.0, "out")], slots=4)
    [['bed', 'idle', 'out', 'out']]
    """
    if slots < 1:
        raise ParameterError(f"slots must be 1 or more; got {slots}.")
    width = DAY / slots
    seconds: dict[int, dict[Hashable, float]] = defaultdict(lambda: defaultdict(float))
    for begin, end, label in intervals:
        if not (0.0 <= begin <= end < np.inf):
            raise ParameterError(
                f"intervals must begin at 0 or later and not end before; got {begin} to {end}."
            )
        for slot in range(int(begin // width), int(np.ceil(end / width))):
            overlap = min(end, (slot + 1) * width) - max(begin, slot * width)
            seconds[slot][label] += max(overlap, 0.0)
    recorded = sorted({slot // slots for slot in seconds})
    return [
        [_longest(seconds.get(day * slots + slot, {}), width, idle) for slot in range(slots)]
        for day in recorded
    ]


def _longest(seconds: dict[Hashable, float], width: float, idle: Hashable) -> Hashable:
    """Return the label that lasts longest in a slot."""
    lasting = dict(sorted(seconds.items(), key=lambda item: str(item[0])))
    lasting.setdefault(idle, 0.0)
    lasting[idle] += max(width - sum(seconds.values()), 0.0)
    return max(lasting, key=lambda label: lasting[label])
