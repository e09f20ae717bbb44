"""The entropy of a Markov chain's trace."""

from __future__ import annotations

import numpy as np

from sfumato.beliefs.markov import Markov
from sfumato.probabilities import FloatArray


def entropies(laws: FloatArray) -> FloatArray:
    """Return −Σ p log p along the last axis, in nats.

    >>> entropies(np.array([[0.5, 0.5], [1.0, 0.0]])).round(6).tolist()
    [0.693147, 0.0]
    """
    logs = np.log(laws, where=laws > 0.0, out=np.zeros_like(laws))
    return np.asarray(0.0 - (laws * logs).sum(axis=-1))


def chain_entropy(belief: Markov) -> float:
    """Return H(X) = H(X_1) + Σ_t H(X_{t+1} | X_t), in nats.

    Examples
    --------
    >>> fair = Markov([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], steps=10)
    >>> float(round(chain_entropy(fair) / np.log(2), 12))
    10.0
    """
    total = float(entropies(belief.initial))
    if belief.steps == 1:
        return total
    marginals = belief.marginals()[:-1]
    if belief.is_homogeneous:
        return total + float(marginals.sum(axis=0) @ entropies(belief.matrix(0)))
    for marginal, matrix in zip(marginals, belief.transitions, strict=True):
        total += float(marginal @ entropies(matrix))
    return total
