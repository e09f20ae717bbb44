"""From mutual information to the success of any guesser: the paper's two bounds, and a better one.

In each inequality p is the success probability, I (what the release told) an upper bound on the
mutual information, and the answer is the largest p that the inequality allows. Every
log-probability may be far below what float64 can hold as a probability: M^T is never formed.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence

from sfumato.beliefs import Markov
from sfumato.channels import Emission
from sfumato.errors import OutsideHypotheses
from sfumato.parameters import declare
from sfumato.protocols import Reading
from sfumato.questions import Guess
from sfumato_fano.best_guess import SMALLEST, SuccessMeasure
from sfumato_fano.information import chain_entropy, paper_information
from sfumato_fano.position_sets import position_sets

BUDGET = 1e10
"""Multiplications that the programme may take; beyond, long hops are bounded."""

SLACK = 1e-14
"""An inequality counts as violated only beyond this share of its terms: rounding errs upwards."""


class PaperBound(SuccessMeasure):
    """An inequality between a guesser's success and Ĩ, the paper's bound on I(X; Y)."""

    @abstractmethod
    def solve(self, belief: Markov, mistakes: int, told: float) -> tuple[float, str]:
        """Return the largest success that the inequality allows, and a remark if there is one."""

    def evaluate(self, belief: Markov, question: Guess, channel: Emission) -> Reading:
        """Return the bound."""
        told = paper_information(belief, channel)
        value, remark = self.solve(belief, question.mistakes, told.value)
        return Reading(value=value, bound="upper", how=f"information by {told.how}{remark}")


@declare
class FanoLoose(PaperBound):
    """A bound on every guesser's success, from entropy and mutual information alone.

    The largest p with H(X) − Ĩ ≤ h(p) + p log N(s) + (1 − p) log(M^T − N(s)), where
    N(s) = Σ_{l ≤ s} C(T, l) (M − 1)^l and Ĩ is the paper's bound on the mutual information.

    Assumptions: the adversary knows the chain and the channel.
    Guarantee: an upper bound.
    Reference: Koga, Meehan and Chaudhuri (2024), equation (3).

    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain.simulated(states=20, tau=0.1, steps=10)
    >>> secret = sf.secrets.trajectory(mistakes=2)
    >>> sensors = sf.mechanisms.sensor_counts([37 * t % 20 for t in range(10)])
    >>> release = sensors.protect(chain, secret)
    >>> round(sf.measures.fano_loose().loss(chain, secret, release).value, 4)
    0.5018
    """

    name = "fano_loose"

    def solve(self, belief: Markov, mistakes: int, told: float) -> tuple[float, str]:
        """Solve equation (3)."""
        entropy, states = chain_entropy(belief), belief.state_count
        return fano_success(entropy, told, states, belief.steps, mistakes), ""


@declare
class FanoTight(PaperBound):
    """A bound on every guesser's success that looks at how uneven the prior is.

    The largest p with −Ĩ ≤ h(p) + p log q, with q = Σ_{l ≤ s} C(T, l) f(T − l) and f(m) the
    largest probability of any m states at any m times, by the programme of Theorem 1.

    Assumptions: the adversary knows the chain and the channel; the chain is stationary, as
    Theorem 1 has it. `reconstruction` needs no stationarity.
    Guarantee: an upper bound; refused for a chain that is not stationary.
    Reference: Koga, Meehan and Chaudhuri (2024), section 3.3.2, equation (5) and theorem 1;
    Han and Verdú (1994).

    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain.simulated(states=20, tau=0.1, steps=10)
    >>> secret = sf.secrets.trajectory(mistakes=2)
    >>> sensors = sf.mechanisms.sensor_counts([37 * t % 20 for t in range(10)])
    >>> release = sensors.protect(chain, secret)
    >>> round(sf.measures.fano_tight().loss(chain, secret, release).value, 4)
    0.4359
    """

    name = "fano_tight"

    def solve(self, belief: Markov, mistakes: int, told: float) -> tuple[float, str]:
        """Solve the inequality of Han and Verdú with equation (5)."""
        if not belief.is_stationary():
            raise OutsideHypotheses(
                "fano_tight holds for a stationary chain (initial law π with π P = π); use "
                "initial='stationary', or the measure 'reconstruction'."
            )
        found = position_sets(belief, mistakes, BUDGET)
        log_best = log_over_mistakes(belief.steps, found.logs[::-1][: mistakes + 1].tolist())
        slow = "; long hops bounded, as the programme would take too long"
        return han_verdu_success(told, log_best), "" if found.exact else slow


# The inequalities, solved for p -------------------------------------------------------------------


def fano_success(entropy: float, told: float, states: int, steps: int, mistakes: int) -> float:
    """Return the largest p with H(X) − I ≤ h(p) + p log N + (1 − p) log(M^T − N).

    This is equation (3) of Koga, Meehan and Chaudhuri (2024), with p = Pr[E = 0] and
    N = Σ_{l ≤ s} C(T, l) (M − 1)^l, the number of traces within s mistakes of a guess.
    """
    if states == 1:
        return 1.0
    sizes = [wrong * math.log(states - 1) for wrong in range(mistakes + 1)]
    log_traces, log_ball = steps * math.log(states), log_over_mistakes(steps, sizes)
    if log_ball >= log_traces:
        return 1.0
    log_share = log_ball - log_traces  # of all traces that lie within the ball
    log_rest = log_traces + _log_one_minus(log_share)
    return _largest(
        lambda p: (_entropy(p), p * log_ball, (1.0 - p) * log_rest, -entropy, told),
        math.exp(log_share),
    )


def han_verdu_success(told: float, log_best: float) -> float:
    """Return the largest p with −I ≤ h(p) + p log q, q the best success without the release.

    Han and Verdú (1994), as used in section 3.3.2 of Koga, Meehan and Chaudhuri (2024).
    """
    if log_best >= 0.0:
        return 1.0
    peak = 1.0 / (1.0 + math.exp(min(-log_best, 700.0)))  # where the concave excess is largest
    return _largest(lambda p: (_entropy(p), p * log_best, told), peak)


def divergence_success(told: float, log_best: float) -> float:
    """Return the largest p ≥ q with d(p‖q) ≤ I, q a bound on success without the release.

    Whoever guesses from the output succeeds with probability p, and from an independent copy of
    the output with at most q; data processing gives I(X; Y) ≥ d(p‖q), the binary relative
    entropy. Since d(p‖q) ≥ −h(p) − p log q, this is never above `han_verdu_success`.
    """
    if log_best >= 0.0:
        return 1.0
    log_other = _log_one_minus(log_best)
    return _largest(
        lambda p: (told, _entropy(p), p * log_best, (1.0 - p) * log_other),
        math.exp(log_best),
    )


def log_over_mistakes(steps: int, logs: Sequence[float]) -> float:
    """Return log Σ_l C(T, l) e^(logs[l]), over how many positions are wrong."""
    from scipy.special import logsumexp

    terms = [log_choose(steps, wrong) + log for wrong, log in enumerate(logs[: steps + 1])]
    return float(logsumexp(terms))


def log_choose(total: int, chosen: int) -> float:
    """Return log C(n, k)."""
    return math.log(math.comb(total, chosen))


def _log_one_minus(log_probability: float) -> float:
    """Return log(1 − e^x) for x < 0, accurate at both ends."""
    if log_probability > -math.log(2.0):
        return math.log(-math.expm1(log_probability))
    return math.log1p(-math.exp(log_probability))


def _entropy(p: float) -> float:
    """Return the binary entropy h(p)."""
    if p <= 0.0 or p >= 1.0:
        return 0.0
    return -p * math.log(p) - (1.0 - p) * math.log1p(-p)


def _largest(terms: Callable[[float], tuple[float, ...]], start: float) -> float:
    """Return the largest p in [start, 1] whose terms sum to 0 or more; beyond `start` they fall."""

    def allowed(p: float) -> bool:
        parts = terms(p)
        return math.fsum(parts) >= -SLACK * math.fsum(map(abs, parts))

    if allowed(1.0):
        return 1.0
    low, high = min(max(start, SMALLEST), 1.0), 1.0
    while True:
        # The geometric mean first: the answer may be many orders of magnitude below one.
        middle = math.sqrt(low) * math.sqrt(high) if high > 4.0 * low else (low + high) / 2.0
        if not low < middle < high:
            return high
        if allowed(middle):
            low = middle
        else:
            high = middle
