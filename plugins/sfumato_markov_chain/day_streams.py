"""The chain of a day: its transitions change from step to step."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError
from sfumato.values import checked_labels, encoded
from sfumato_markov_chain.fitting import states_of

if TYPE_CHECKING:
    from sfumato_markov_chain.markov_chain import MarkovChain

FloatArray = NDArray[np.float64]


def inhomogeneous_chain(
    days: Sequence[Sequence[Any]],
    states: Iterable[Hashable] | None = None,
    smoothing: float = 1.0,
) -> MarkovChain:
    """Fit one transition matrix for each step to days of equal length.

    With N_t(i, j) the number of days that move from i to j at step t, and c the smoothing,

        P_t(i, j) = (N_t(i, j) + c P(i, j)) / (N_t(i) + c),
        P(i, j)   = (Σ_t N_t(i, j) + c/M) / (Σ_t N_t(i) + c):

    a step that was seen seldom leans on how i moves at any time, and that on the uniform law.
    Equally the initial law leans on how often each state occurs at all, and that on the uniform
    law. So c is the number of days that the general habit counts for. c = 0 takes the bare
    frequencies, and for a row that was never seen the general habit.

    Parameters
    ----------
    days
        Lists of states, all of one length.
    states
        The labels; by default those that occur.
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
    from sfumato_markov_chain.markov_chain import MarkovChain

    if not 0.0 <= smoothing < np.inf:  # written so that NaN fails
        raise ParameterError(f"smoothing must be 0 or more and finite; got {smoothing}.")
    kept = [day.tolist() if isinstance(day, np.ndarray) else list(day) for day in days]
    lengths = sorted({len(day) for day in kept})
    if len(lengths) != 1 or lengths == [0]:
        raise ParameterError(f"days must be lists of states of one length; got lengths {lengths}.")
    known = states_of(kept) if states is None else tuple(states)
    labels = checked_labels(known, len(known), "states")
    paths = np.array([encoded(labels, day, "states") for day in kept])
    initial, transitions = _laws(paths, len(labels), smoothing)
    return MarkovChain(
        initial=initial,
        transitions=transitions if len(transitions) else np.eye(len(labels)),
        steps=paths.shape[1],
        states=labels,
    )


def _laws(paths: NDArray[np.intp], count: int, smoothing: float) -> tuple[FloatArray, FloatArray]:
    """Return the initial law and the matrices of days, (days, T) positions."""
    steps = paths.shape[1]
    moves = np.zeros((steps - 1, count, count))
    for time in range(steps - 1):
        np.add.at(moves[time], (paths[:, time], paths[:, time + 1]), 1.0)
    uniform = np.full(count, 1.0 / count)
    habit = _leaning(moves.sum(axis=0), uniform, smoothing)
    occurring = _leaning(_counted(paths.ravel(), count), uniform, smoothing)
    first = _counted(paths[:, 0], count)
    return _leaning(first, occurring, smoothing), _leaning(moves, habit, smoothing)


def _counted(states: NDArray[np.intp], count: int) -> FloatArray:
    return np.bincount(states, minlength=count).astype(np.float64)


def _leaning(counts: FloatArray, habit: FloatArray, weight: float) -> FloatArray:
    """Return (counts + weight · habit) / (total + weight) row by row; habit where all is zero."""
    totals = counts.sum(axis=-1, keepdims=True) + weight
    laws = np.broadcast_to(habit, counts.shape).copy()
    np.divide(counts + weight * habit, totals, out=laws, where=totals > 0.0)
    return np.asarray(laws / laws.sum(axis=-1, keepdims=True))
