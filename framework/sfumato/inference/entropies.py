"""Entropies that keep their digits where one outcome is nearly certain."""

from __future__ import annotations

import numpy as np

from sfumato.probabilities import FloatArray


def entropies(laws: FloatArray) -> FloatArray:
    """Return −Σ p log p along the last axis, in nats.

    Near one, −p log p hangs on digits that p does not have: the largest p of a law is taken to
    be one minus all the others, and its logarithm is log1p of minus their sum. Every term is then
    positive and has a small relative error, and so has their sum.

    >>> entropies(np.array([[0.5, 0.5], [1.0, 0.0]])).round(6).tolist()
    [0.693147, 0.0]
    >>> entropies(np.array([1.0, 1e-30])).tolist()
    7.007755278982138e-29
    """
    largest = laws.argmax(axis=-1)[..., None]
    top = np.take_along_axis(laws, largest, axis=-1)[..., 0]
    others = laws.copy()
    np.put_along_axis(others, largest, 0.0, axis=-1)
    return np.asarray(entropy_terms(others).sum(axis=-1) + top_term(top, others.sum(axis=-1)))


def entropy_terms(chances: FloatArray) -> FloatArray:
    """Return −p log p, 0 for p = 0.

    >>> entropy_terms(np.array([0.0, 0.5])).round(6).tolist()
    [0.0, 0.346574]
    """
    logs = np.log(chances, where=chances > 0.0, out=np.zeros_like(chances))
    return np.asarray(0.0 - chances * logs)


def top_term(top: FloatArray, rest: FloatArray) -> FloatArray:
    """Return −p log p of the largest probability of a law, whose others sum to `rest`.

    >>> top_term(np.array([1.0]), np.array([1e-30])).tolist()
    [1e-30]
    """
    near = 0.0 - top * np.log1p(-np.minimum(rest, 0.5))
    return np.asarray(np.where(rest < 0.5, near, entropy_terms(top)))
