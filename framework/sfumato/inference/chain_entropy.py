"""The entropy of a Markov chain's trace."""

from __future__ import annotations

from sfumato.beliefs.markov import Markov
from sfumato.inference.entropies import entropies


def chain_entropy(belief: Markov) -> float:
    """Return H(X) = H(X_1) + Σ_t H(X_{t+1} | X_t), in nats.

    Examples
    --------
    >>> import numpy as np
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
