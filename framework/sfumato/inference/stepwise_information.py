"""Upper bounds on mutual information from one or two steps at a time."""

from __future__ import annotations

import numpy as np

from sfumato.beliefs.markov import Markov
from sfumato.channels.noisy_vectors import NoisyVectors
from sfumato.channels.symbols import Symbols
from sfumato.inference.chain_entropy import entropies
from sfumato.inference.enumeration import checked_pair
from sfumato.inference.noiseless import without_noise


def stepwise_information(belief: Markov, channel: Symbols | NoisyVectors) -> float:
    """Return an upper bound Ĩ ≥ I(X; Y), in nats, for a channel without memory.

    For symbols, Ĩ = Σ_t H(Y_t | Y_{t−1}) − H(Y_t | X_t): conditioning on less of the past can
    only add entropy. Raw counts are a function of the state, so there the last term is zero.
    For noisy vectors, equation (4) of Koga, Meehan and Chaudhuri (2024), for any means: with
    p_a the probability of mean a and σ the scale,
    Ĩ = −Σ_t Σ_a p_a log Σ_b p_b exp(−‖a − b‖² / (2σ²)).

    Examples
    --------
    >>> fair = Markov([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], steps=2)
    >>> seen = Symbols((0, 1), (0, 1), [[[1.0, 0.0], [0.0, 1.0]]] * 2)
    >>> float(round(stepwise_information(fair, seen) / np.log(2), 12))
    2.0
    """
    checked_pair(belief, channel)
    if isinstance(channel, NoisyVectors):
        return _noisy(belief, channel)
    marginals = belief.marginals()
    laws = np.einsum("tm,tmy->ty", marginals, channel.probabilities)
    total = float(entropies(laws[0]))
    for time, matrix in enumerate(belief.transitions):
        before = channel.probabilities[time] * marginals[time][:, None]
        joint = before.T @ (matrix @ channel.probabilities[time + 1])
        total += float(entropies(joint.ravel()) - entropies(laws[time]))
    noise = float((marginals * entropies(channel.probabilities)).sum())
    return max(0.0, total - noise)


def _noisy(belief: Markov, channel: NoisyVectors) -> float:
    """Return the bound of equation (4), one step at a time."""
    classes = without_noise(channel).probabilities
    total = 0.0
    for marginal, means, members in zip(belief.marginals(), channel.means, classes, strict=True):
        law = marginal @ members
        centres = means[members.argmax(axis=0)]  # any member of a class has its mean
        for chance, centre in zip(law, centres, strict=True):  # many sensors: no table of pairs
            if chance > 0.0:
                gaps = np.square((centres - centre) / channel.scale).sum(axis=-1)
                total -= float(chance * np.log(np.exp(-gaps / 2.0) @ law))
    return max(0.0, total)
