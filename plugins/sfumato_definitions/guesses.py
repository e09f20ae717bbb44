"""What someone who guesses the secret gains from what is seen."""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np

from sfumato.errors import OutsideHypotheses
from sfumato.parameters import CHOICE, MATRIX, OPTIONAL, POSITIVE, declare, parameter
from sfumato.protocols import Quantity
from sfumato.values import FloatArray
from sfumato.views import GaussianPart, GuessMeasure, Outcomes
from sfumato.views.gaussian import End

BAYES_SUCCESS = Quantity("Bayes success", unit="probability")


@declare
class BayesSuccess(GuessMeasure):
    """How often the best guess of the secret is right.

    Claim: nobody who sees the release guesses the secret with a larger chance.

    Formula: $∑_o max_w Pr[guess w is right, o]$. For Gaussian traces a guess within r is right:
    $Pr[‖N(0, V_SS)‖ ≤ r]$, V the posterior covariance, since the posterior mean is the best guess.

    Assumptions: the adversary knows the prior and the channel.

    Guarantee: exact; of several real values jointly between two proved ends.

    Reference: Smith (2009), Bayes vulnerability; Anderson (1955), for the Gaussian form.

    >>> import sfumato as sf
    >>> prior, secret = sf.priors.rbf(length_scale=6.0, times=50), sf.secrets.basic(24)
    >>> release = sf.mechanisms.gaussian_uniform(mse=1.0).protect(prior, secret)
    >>> round(sf.measures.bayes_success(within=0.25).loss(prior, secret, release).value, 7)
    0.5367523
    """

    name = "bayes_success"
    oracle = "sfumato_definitions.brute_force"
    promises = ("grows with the secret",)

    within: float | None = parameter(
        OPTIONAL(POSITIVE),
        default=None,
        doc="how near a guess of real values must be; None: the radius",
    )

    @property
    def quantity(self) -> Quantity:
        """The success of the best guess."""
        if self.within is None:
            return BAYES_SUCCESS
        return attrs.evolve(BAYES_SUCCESS, parameters={"within": self.within})

    def of_joint(self, outcomes: Outcomes) -> float:
        """Return how often the best guess is right."""
        return min(1.0, outcomes.best_guess)

    def rounding(self, value: float, error: float) -> float:
        """Return the error of a sum of the table's numbers; nothing is surer than one."""
        return min(4.0 * error, 1.0 - value)

    def of_part(self, part: GaussianPart, end: End) -> tuple[float, float]:
        """Return how often the posterior mean is within the radius."""
        return part.success(part.posterior(end), self.within or part.radius)

    def between_members(self, worst: float, bend: float, turn: float) -> float:
        """Return the bound for a sum of probabilities."""
        del turn
        return min(1.0, worst * math.exp(bend))


def _columns(name: str, table: FloatArray, outcomes: Outcomes) -> FloatArray:
    """Return the columns of a table for the values that are possible."""
    wanted = len(outcomes.asked.names)
    if table.shape[1] != wanted:
        raise OutsideHypotheses(
            f"{name} must have a column for each of {wanted} values of the secret; got "
            f"{table.shape[1]}."
        )
    return table[:, list(outcomes.values)]


@declare
class GVulnerability(GuessMeasure):
    """The expected gain of the best action, for any table of gains.

    Formula: $∑_o max_w ∑_s gain[w, s] Pr[s, o]$.

    Assumptions: the adversary knows the prior and the channel; the secret has as many values as the
    table has columns.

    Guarantee: exact, or an upper bound where the view is one.

    Reference: Alvim et al. (2012).

    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain([0.75, 0.25], [[1, 0], [0, 1]], steps=1)
    >>> secret = sf.secrets.basic(0)
    >>> release = sf.mechanisms.suppress_given(probabilities=[[1, 0.5]]).protect(chain, secret)
    >>> loss = sf.measures.g_vulnerability(gain=[[1, 0], [0, 2]]).loss(chain, secret, release)
    >>> round(loss.value, 9)
    1.0
    """

    name = "g_vulnerability"
    oracle = "sfumato_definitions.brute_force"

    gain: FloatArray = parameter(
        MATRIX("W", "M"), doc="gain[w, s] of action w where the secret is s"
    )

    @property
    def quantity(self) -> Quantity:
        """The vulnerability by that table."""
        return Quantity("g-vulnerability", {"gain": str(self.gain.tolist())})

    def of_joint(self, outcomes: Outcomes) -> float:
        """Return the expected gain of the best action."""
        return outcomes.best_gain(_columns("gain", self.gain, outcomes))

    def rounding(self, value: float, error: float) -> float:
        """Return the error of a sum in which gains may cancel."""
        del value
        return 4.0 * error * float(np.abs(self.gain).max())

    def between_members(self, worst: float, bend: float, turn: float) -> float:
        """Return the bound for Σ g J, where J bends by at most bend + turn times itself."""
        return worst + float(np.abs(self.gain).max()) * math.expm1(bend + turn)


@declare
class BayesLeakage(GuessMeasure):
    """How many times likelier the release makes a right guess.

    Formula: the success of the best guess over that of the best guess without the release.

    Assumptions: the adversary knows the prior and the channel.

    Guarantee: exact; of several real values jointly between two proved ends.

    Reference: Braun, Chatzikokolakis and Palamidessi (2009).

    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain([0.5, 0.5], [[1, 0], [0, 1]], steps=1)
    >>> release = sf.mechanisms.suppress_given(probabilities=[[0, 0]]).protect(
    ...     chain, sf.secrets.basic(0)
    ... )
    >>> round(sf.measures.bayes_leakage().loss(chain, sf.secrets.basic(0), release).value, 9)
    2.0
    """

    name = "bayes_leakage"
    oracle = "sfumato_definitions.brute_force"
    quantity = Quantity("Bayes leakage", unit="times")
    promises = ("unit free",)

    def of_joint(self, outcomes: Outcomes) -> float:
        """Return the ratio of the two successes."""
        return outcomes.best_guess / outcomes.best_prior_guess

    def of_part(self, part: GaussianPart, end: End) -> tuple[float, float]:
        """Return two ends of the ratio of the two successes."""
        low, high = part.success(part.posterior(end), part.radius)
        least, most = part.prior_success(part.radius)
        return low / most if most else 0.0, high / least if least else math.inf


class _Leakage(GuessMeasure):
    """A ratio of probabilities, as a logarithm: of real values it has no limit."""

    oracle = "sfumato_definitions.brute_force"
    promises = ("unit free",)

    def of_part(self, part: GaussianPart, end: End) -> float:
        """Return infinity, unless nothing is told."""
        return math.inf if part.distance(end) > 0.0 else 0.0


@declare
class MaximalLeakage(_Leakage):
    """The most that any guess of any function of the secret can gain, over all priors of it.

    Formula: $log ∑_o max_s Pr[o | s]$, in nats. For real values it is infinite as soon as anything
    is told of them.

    Assumptions: the adversary knows the channel.

    Guarantee: exact, or an upper bound where the view is one.

    Reference: Issa, Wagner and Kamath (2020).

    >>> import math
    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain([0.75, 0.25], [[1, 0], [0, 1]], steps=1)
    >>> release = sf.mechanisms.suppress_given(probabilities=[[0, 0]]).protect(
    ...     chain, sf.secrets.basic(0)
    ... )
    >>> loss = sf.measures.maximal_leakage().loss(chain, sf.secrets.basic(0), release)
    >>> round(math.exp(loss.value), 9)
    2.0
    """

    name = "maximal_leakage"
    quantity = Quantity("maximal leakage", unit="nats")

    def of_joint(self, outcomes: Outcomes) -> float:
        """Return log Σ_o max_s ℓ_s(o)."""
        return max(0.0, math.log(float(outcomes.likelihoods.max(axis=0).sum())))

    def between_members(self, worst: float, bend: float, turn: float) -> float:
        """Return the bound for the logarithm of a sum of quotients."""
        del turn
        return worst + bend


@declare
class PointwiseLeakage(_Leakage):
    """How many times likelier an outcome can make a value of the secret, as a logarithm.

    Formula: $log max_{s, o} Pr[s | o] / Pr[s]$, in nats. For real values it is infinite as soon as
    anything is told of them.

    Assumptions: the adversary knows the prior and the channel.

    Guarantee: exact, or an upper bound where the view is one.

    Reference: Saeidian et al. (2023), pointwise maximal leakage.

    >>> import math
    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain([0.75, 0.25], [[1, 0], [0, 1]], steps=1)
    >>> release = sf.mechanisms.suppress_given(probabilities=[[0, 0]]).protect(
    ...     chain, sf.secrets.basic(0)
    ... )
    >>> loss = sf.measures.pointwise_leakage().loss(chain, sf.secrets.basic(0), release)
    >>> round(math.exp(loss.value), 9)
    4.0
    """

    name = "pointwise_leakage"
    quantity = Quantity("pointwise maximal leakage", unit="nats")

    def of_joint(self, outcomes: Outcomes) -> float:
        """Return log max Pr[s | o] / π_s."""
        tops = [float((row / outcomes.seen).max()) for row in outcomes.joint]
        return max(0.0, math.log(float((tops / outcomes.prior).max())))

    def between_members(self, worst: float, bend: float, turn: float) -> float:
        """Return the bound for the logarithm of two quotients' product."""
        del turn
        return worst + 2.0 * bend


@declare
class ExpectedError(GuessMeasure):
    """How far the best guess of the secret is from it, on average; smaller is worse.

    Formula: $∑_o min_w ∑_s d(w, s) Pr[s, o]$. For Gaussian traces $tr V_SS$, the squared error, or
    for one entry $√(2v/π)$, the absolute one.

    Assumptions: the adversary knows the prior and the channel. On a chain the distance is 0 or 1
    unless a table is given.

    Guarantee: exact, or a lower bound where the view only bounds it.

    Reference: Shokri et al. (2011), correctness of the adversary.

    >>> import sfumato as sf
    >>> prior, secret = sf.priors.rbf(length_scale=6.0, times=50), sf.secrets.basic(24)
    >>> release = sf.mechanisms.gaussian_uniform(mse=1.0).protect(prior, secret)
    >>> round(sf.measures.expected_error().loss(prior, secret, release).value, 6)
    0.116163
    """

    name = "expected_error"
    oracle = "sfumato_definitions.brute_force"

    metric: Any = parameter(
        CHOICE("squared", "absolute") | MATRIX("M", "M"),
        default="squared",
        doc="of real values, or the distance of a guess (row) from each state",
    )

    @property
    def quantity(self) -> Quantity:
        """The expected error, in the units of its metric."""
        if not isinstance(self.metric, str):
            given = {"metric": str(self.metric.tolist())}
            return Quantity("expected error", given, "units of the table", "smaller")
        unit = "units of the trace" if self.metric == "absolute" else "squared units of the trace"
        unit += ", or wrong states"  # a quantity is the same in every world
        return Quantity("expected error", {"metric": self.metric}, unit, "smaller")

    def of_joint(self, outcomes: Outcomes) -> float:
        """Return the smallest expected distance."""
        if isinstance(self.metric, str):
            return max(0.0, float(outcomes.prior.sum()) - outcomes.best_guess)
        return -outcomes.best_gain(-_columns("metric", self.metric, outcomes))

    def rounding(self, value: float, error: float) -> float:
        """Return the error of a sum of the table's numbers times distances."""
        del value
        largest = 1.0 if isinstance(self.metric, str) else float(np.abs(self.metric).max())
        return 4.0 * error * largest

    def of_part(self, part: GaussianPart, end: End) -> float:
        """Return tr V_SS or √(2v/π)."""
        left = part.posterior(end)
        if isinstance(self.metric, str) and self.metric == "squared":
            return float(np.trace(left))
        if isinstance(self.metric, str) and len(left) == 1:
            return math.sqrt(2.0 * float(left[0, 0]) / math.pi)
        raise OutsideHypotheses("of several real values only the squared error is known.")

    def between_members(self, worst: float, bend: float, turn: float) -> float:
        """Return the bound for a sum of probabilities times distances, from below."""
        del turn
        return worst * math.exp(-bend)
