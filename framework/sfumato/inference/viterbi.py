"""The most probable trace of a Markov chain, given an output."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs.markov import Markov
from sfumato.inference.forward_backward import checked_evidence, refuse_impossible
from sfumato.inference.log_products import log_of
from sfumato.probabilities import FloatArray

_ENTRIES = 4_000_000
"""How many scores (outputs × M²) are held at once."""


def viterbi(belief: Markov, log_evidence: FloatArray) -> tuple[NDArray[np.intp], FloatArray]:
    """Return argmax_x Pr[x, o] as positions, (..., k), and the log of that maximum, (...).

    δ_t(m) = e_t(m) max_k δ_{t−1}(k) P_t(k, m), followed back from the best last state. Ties go to
    the smallest position, from the last state backwards.

    Raises
    ------
    ImpossibleObservation
        If an output has probability zero.

    Examples
    --------
    >>> chain = Markov([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], steps=3)
    >>> path, log_probability = viterbi(chain, np.log([[0.5, 0.5], [0.5, 0.5], [0.2, 0.8]]))
    >>> path.tolist(), float(np.exp(log_probability).round(4))
    ([1, 1, 1], 0.081)
    """
    batch = checked_evidence(belief, log_evidence)
    size, length, count = batch.shape
    paths = np.empty((size, length), dtype=np.intp)
    best = np.empty(size)
    stride = max(1, _ENTRIES // count**2)
    for begin in range(0, size, stride):
        part = slice(begin, begin + stride)
        paths[part], best[part] = _best_paths(belief, batch[part])
    shape = np.shape(log_evidence)
    return paths.reshape(shape[:-1]), best.reshape(shape[:-2])


def _best_paths(belief: Markov, batch: FloatArray) -> tuple[NDArray[np.intp], FloatArray]:
    size, length, count = batch.shape
    came_from = np.empty((length, size, count), dtype=np.intp)
    possible = np.empty((size, length), dtype=bool)
    score = log_of(belief.initial) + batch[:, 0]
    possible[:, 0] = (score > -np.inf).any(axis=-1)
    for time, log_matrix in enumerate(belief.log_transitions[: length - 1]):
        arrivals = score[:, None, :] + log_matrix.T  # (output, to, from)
        came_from[time + 1] = arrivals.argmax(axis=-1)
        score = np.take_along_axis(arrivals, came_from[time + 1][..., None], axis=-1)[..., 0]
        score = score + batch[:, time + 1]
        possible[:, time + 1] = (score > -np.inf).any(axis=-1)
    refuse_impossible(possible)
    paths = np.empty((size, length), dtype=np.intp)
    paths[:, -1] = score.argmax(axis=-1)
    rows = np.arange(size)
    for time in range(length - 1, 0, -1):
        paths[:, time - 1] = came_from[time, rows, paths[:, time]]
    return paths, score[rows, paths[:, -1]]
