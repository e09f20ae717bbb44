"""What a channel can tell of the secret at most, and what is left to guess once it has."""

from __future__ import annotations

import itertools
import math

import numpy as np

from sfumato.errors import OutsideHypotheses
from sfumato.parameters import CHOICE, declare, parameter
from sfumato.protocols import Quantity
from sfumato.values import FloatArray
from sfumato.views import GuessMeasure, Outcomes, ViewMeasure
from sfumato.views.measures import Found

MOST_VALUES = 16
"""How many values of a secret may have all their subsets tried."""

AGREEMENT = 1e-11
"""How close, in nats, the two ends of the Shannon capacity come."""

ROUNDS, WORK = 20_000, 2e6
"""Steps of its iteration, and numbers looked at in all of them, at most."""


@declare
class BayesCapacity(GuessMeasure):
    """How much a release can help to guess the secret, whatever is believed of its value.

    Claim: for no law of the secret's value does a guess become more often right than by this factor
    (or, with ``form="additive"``, by this much).

    Formula: $∑_o max_s ℓ_s(o)$, $ℓ_s(o) = Pr[o | s]$: attained where all values are equally likely.
    It is e to the power of the maximal leakage. Additive: max over sets A of values of $(∑_o max_{s
    ∈ A} ℓ_s(o) − 1)/|A|$: the gain V(π, o) − max π is convex on every cone of laws of one order,
    whose corners are laws that are uniform on a set.

    Assumptions: the channel from secret to output is that of the belief: other laws of the secret's
    own value, with the rest of the trace as before.

    Guarantee: exact, or an upper bound where the view is one.

    Reference: Braun, Chatzikokolakis and Palamidessi (2009); Alvim et al. (2014), theorem 6.

    >>> import math
    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain([0.75, 0.25], [[1, 0], [0, 1]], steps=1)
    >>> secret = sf.secrets.basic(0)
    >>> release = sf.mechanisms.randomised_response(epsilon=math.log(3)).protect(chain, secret)
    >>> round(sf.measures.bayes_capacity().loss(chain, secret, release).value, 9)
    1.5
    """

    name = "bayes_capacity"
    oracle = "sfumato_information_flow.brute_force"

    form: str = parameter(
        CHOICE("multiplicative", "additive"), default="multiplicative", doc="a factor or a gain"
    )

    @property
    def quantity(self) -> Quantity:
        """The capacity."""
        unit = "times" if self.form == "multiplicative" else "probability"
        return Quantity("Bayes capacity", {"form": self.form}, unit=unit)

    def of_joint(self, outcomes: Outcomes) -> float:
        """Return the largest factor, or the largest gain over all sets of values."""
        laws = outcomes.likelihoods
        if self.form == "multiplicative":
            return float(laws.max(axis=0).sum())
        if len(laws) > MOST_VALUES:
            raise OutsideHypotheses(
                f"the additive capacity tries all sets of values; {len(laws)} are more than "
                f"{MOST_VALUES}."
            )
        best, rows = 0.0, range(len(laws))
        for size in range(2, len(laws) + 1):
            for chosen in itertools.combinations(rows, size):
                gain = (float(laws[list(chosen)].max(axis=0).sum()) - 1.0) / size
                best = max(best, gain)
        return best


@declare
class ShannonCapacity(ViewMeasure):
    """The most information that a release can carry about the secret, over all laws of its value.

    Formula: max over laws π of I(S; O), in nats, by Blahut and Arimoto's iteration: for every π it
    is at least I and at most $max_s D(ℓ_s ‖ ∑_s π_s ℓ_s)$, ℓ_s the law of the output under s.

    Assumptions: as for bayes_capacity.

    Guarantee: exact to 1e-11 nats, and given from above; an upper bound where the view is one, or
    where the iteration has not come so far.

    Reference: Shannon (1948); Arimoto (1972); Blahut (1972).

    >>> import math
    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain([0.75, 0.25], [[1, 0], [0, 1]], steps=1)
    >>> secret = sf.secrets.basic(0)
    >>> release = sf.mechanisms.randomised_response(epsilon=math.log(9)).protect(chain, secret)
    >>> round(sf.measures.shannon_capacity().loss(chain, secret, release).value / math.log(2), 6)
    0.531004
    """

    name = "shannon_capacity"
    oracle = "sfumato_information_flow.brute_force"
    quantity = Quantity("Shannon capacity", unit="nats")

    def of_outcomes(self, outcomes: Outcomes) -> Found:
        """Return the capacity between the ends that the iteration and rounding leave."""
        low, high = shannon_capacity(outcomes.likelihoods)
        room = 16.0 * outcomes.error * (1.0 + high)  # of Σ ℓ log ℓ/q
        low, high = max(0.0, low - room), high + room
        witness = {"times": outcomes.asked.times} if outcomes.asked.times else None
        return Found((low + high) / 2.0, (high - low) / 2.0, witness)


def shannon_capacity(laws: FloatArray) -> tuple[float, float]:
    """Return two ends of the capacity of a channel, (R, O), in nats."""
    law = np.full(len(laws), 1.0 / len(laws))
    with np.errstate(divide="ignore"):
        logs = np.where(laws > 0.0, np.log(laws), 0.0)
    own = (laws * logs).sum(axis=1)
    low, high = 0.0, math.inf
    for _ in range(max(50, min(ROUNDS, int(WORK / laws.size)))):
        mixed = law @ laws
        with np.errstate(divide="ignore"):
            seen = np.where(mixed > 0.0, np.log(mixed), 0.0)
        distances = own - laws @ seen
        low, high = max(low, float(law @ distances)), min(high, float(distances.max()))
        if high - low <= AGREEMENT:
            break
        law = law * np.exp(distances - distances.max())
        law /= law.sum()
    return max(low, 0.0), max(high, 0.0)


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
