"""What is left to guess of the secret once the release is seen; smaller is worse."""

from __future__ import annotations

import numpy as np

from sfumato.parameters import declare
from sfumato.protocols import Quantity
from sfumato.views import GuessMeasure, Outcomes


@declare
class RemainingEntropy(GuessMeasure):
    """The uncertainty about the secret that is left once the release is seen.

    Formula: $H(S | O) = −∑_{s, o} J[s, o] log Pr[s | o]$, in nats: the entropy of the secret less
    the information about it. Smaller is worse.

    Assumptions: the adversary knows the prior and the channel.

    Guarantee: exact, or a lower bound where the view only bounds it.

    Reference: Shannon (1948); Alvim et al. (2020), chapter 5.

    >>> import math
    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain([0.5, 0.5], [[1, 0], [0, 1]], steps=1)
    >>> secret = sf.secrets.basic(0)
    >>> release = sf.mechanisms.randomised_response(epsilon=math.log(9)).protect(chain, secret)
    >>> round(sf.measures.remaining_entropy().loss(chain, secret, release).value / math.log(2), 6)
    0.468996
    """

    name = "remaining_entropy"
    oracle = "sfumato_information_flow.brute_force"
    quantity = Quantity("remaining entropy", unit="nats", worse="smaller")

    def of_joint(self, outcomes: Outcomes) -> float:
        """Return −Σ J log Pr[s | o]."""
        some = outcomes.joint > 0.0
        terms = outcomes.joint[some] * np.log(outcomes.posteriors[some])
        return max(0.0, -float(terms.sum()))

    def rounding(self, value: float, error: float) -> float:
        """Return the error of a logarithm of quotients, weighted by the table; not below zero."""
        return min(16.0 * error * (1.0 + value), value)


@declare
class GuessingEntropy(GuessMeasure):
    """How many questions "is it this one?" it takes to find the secret, on average.

    Formula: $∑_o ∑_k k J[s_k, o]$, the values $s_1, s_2, …$ of each outcome by falling probability.
    Smaller is worse; one where the release tells the secret.

    Assumptions: the adversary knows the prior and the channel, and asks in the best order.

    Guarantee: exact, or a lower bound where the view only bounds it.

    Reference: Massey (1994); Köpf and Basin (2007).

    >>> import math
    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain([0.5, 0.5], [[1, 0], [0, 1]], steps=1)
    >>> secret = sf.secrets.basic(0)
    >>> release = sf.mechanisms.randomised_response(epsilon=math.log(3)).protect(chain, secret)
    >>> round(sf.measures.guessing_entropy().loss(chain, secret, release).value, 9)
    1.25
    """

    name = "guessing_entropy"
    oracle = "sfumato_information_flow.brute_force"
    quantity = Quantity("guessing entropy", unit="guesses", worse="smaller")

    def of_joint(self, outcomes: Outcomes) -> float:
        """Return Σ k J[s_k, o], each column sorted."""
        ordered = np.sort(outcomes.joint, axis=0)[::-1]
        return float(np.arange(1, len(ordered) + 1) @ ordered.sum(axis=1))
