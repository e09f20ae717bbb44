"""The most probable trace of a Markov chain, given an output."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs.markov import Markov
from sfumato.inference.forward_backward import checked_evidence, refuse_impossible
from sfumato.inference.log_products import log_of
from sfumato.inference.max_products import max_products
from sfumato.probabilities import FloatArray

_ENTRIES = 4_000_000
"""How many scores are held at once."""


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
    stride = max(1, _ENTRIES // (length * count))
    for begin in range(0, size, stride):
        part = slice(begin, begin + stride)
        paths[part], best[part] = _best_paths(belief, batch[part])
    shape = np.shape(log_evidence)
    return paths.reshape(shape[:-1]), best.reshape(shape[:-2])


def _best_paths(belief: Markov, batch: FloatArray) -> tuple[NDArray[np.intp], FloatArray]:
    """Carry the best scores forward; where each came from is asked along the best path only."""
    size, length, _ = batch.shape
    log_matrices = belief.log_transitions[: length - 1]
    scores = np.empty((length, *batch[:, 0].shape))
    scores[0] = log_of(belief.initial) + batch[:, 0]
    for time, log_matrix in enumerate(log_matrices):
        scores[time + 1] = max_products(scores[time], log_matrix, "log") + batch[:, time + 1]
    refuse_impossible(np.asarray((scores > -np.inf).any(axis=-1)).T)
    paths = np.empty((size, length), dtype=np.intp)
    paths[:, -1] = scores[-1].argmax(axis=-1)
    for time in range(length - 1, 0, -1):
        arrivals = scores[time - 1] + log_matrices[time - 1][:, paths[:, time]].T
        paths[:, time - 1] = arrivals.argmax(axis=-1)
    return paths, scores[-1, np.arange(size), paths[:, -1]]
