"""Upper bounds on mutual information from one or two steps at a time."""

from __future__ import annotations

import math

import numpy as np

from sfumato.beliefs.markov import Markov
from sfumato.channels.noisy_vectors import NoisyVectors
from sfumato.channels.symbols import Symbols
from sfumato.inference.entropies import entropies
from sfumato.inference.enumeration import checked_pair
from sfumato.inference.noiseless import without_noise
from sfumato.inference.rounded_information import UNDERFLOW, RoundedInformation
from sfumato.probabilities import FloatArray


def stepwise_information(belief: Markov, channel: Symbols | NoisyVectors) -> float:
    """Return an upper bound Ĩ ≥ I(X; Y), in nats, for a channel without memory.

    For symbols, Ĩ = Σ_t H(Y_t | Y_{t−1}) − H(Y_t | X_t): conditioning on less of the past can
    only add entropy. Raw counts are a function of the state, so there the last term is zero.
    For noisy vectors, equation (4) of Koga, Meehan and Chaudhuri (2024), for any means: with
    p_a the probability of mean a and σ the scale,
    Ĩ = −Σ_t Σ_a p_a log Σ_b p_b exp(−‖a − b‖² / (2σ²)). Both are rounded up.

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
    gained = float(entropies(laws[0]))
    for time, matrix in enumerate(belief.transitions):
        before = channel.probabilities[time] * marginals[time][:, None]
        joint = before.T @ (matrix @ channel.probabilities[time + 1])
        totals = joint.sum(axis=1)
        following = joint[totals > 0.0] / totals[totals > 0.0, None]
        gained += float(totals[totals > 0.0] @ entropies(following))
    noise = float((marginals * entropies(channel.probabilities)).sum())
    symbols = channel.probabilities.shape[2]
    operations = 4.0 * belief.steps * (belief.state_count + symbols + 8)
    return RoundedInformation.up(gained, noise, operations).value


def _noisy(belief: Markov, channel: NoisyVectors) -> float:
    """Return the bound of equation (4), one step at a time."""
    classes = without_noise(channel).probabilities
    total = 0.0
    for marginal, means, members in zip(belief.marginals(), channel.means, classes, strict=True):
        law = marginal @ members
        centres = means[members.argmax(axis=0)]  # any member of a class has its mean
        possible = law > 0.0
        law, centres = law[possible], centres[possible]
        for chance, centre in zip(law, centres, strict=True):  # many sensors: no table of pairs
            gaps = np.square((centres - centre) / channel.scale).sum(axis=-1)
            total += float(chance) * _surprise(gaps / 2.0, law)
        if len(law) > 1:
            total += UNDERFLOW  # squares of gaps may vanish under much noise
    operations = 4.0 * belief.steps * (belief.state_count + classes.shape[2] + 8)
    return RoundedInformation.up(total, 0.0, operations).value


def _surprise(exponents: FloatArray, law: FloatArray) -> float:
    """Return −log Σ_b p_b exp(−g_b), with all its digits where the sum is near one."""
    missing = -float(np.expm1(-exponents) @ law)
    if missing < 0.5:
        return -math.log1p(-missing)
    return -math.log(float(np.exp(-exponents) @ law))
