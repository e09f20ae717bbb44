"""From mutual information to the success of any guesser: the paper's two bounds, and a better one.

In each inequality p is the success probability, I (what the release told) an upper bound on the
mutual information, and the answer is the largest p that the inequality allows. Every
log-probability may be far below what float64 can hold as a probability: M^T is never formed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np

from sfumato.beliefs import Markov
from sfumato.channels import Emission
from sfumato.errors import OutsideHypotheses
from sfumato.inference.markov.probabilities import log_of, max_products
from sfumato.inference.markov.smoothing import TINY
from sfumato.matrices.matrix import ROUNDOFF
from sfumato.parameters import declare
from sfumato.protocols import Quantity, Reading
from sfumato.questions import Guess
from sfumato.values import FloatArray
from sfumato.views import GaussianPart, GuessMeasure, Outcomes
from sfumato.views.gaussian import End
from sfumato_fano.best_guess import SMALLEST, SuccessMeasure
from sfumato_fano.information import chain_entropy, paper_information

MOST_PRODUCTS = 2e10
"""Multiplications that the programme may take: half a minute."""

SLACK = 1e-14
"""An inequality counts as violated only beyond this share of its terms: rounding errs upwards."""

_SAFE = 600.0
"""Products whose logarithm stays above minus this cannot underflow."""


@declare
class FanoLoose(SuccessMeasure):
    """A bound on every guesser's success, from entropy and mutual information alone.

    Formula: the largest p with $H(X) − Ĩ ≤ h(p) + p log N(s) + (1 − p) log(M^T − N(s))$, where
    $N(s) = ∑_{l ≤ s} C(T, l) (M − 1)^l$ and Ĩ is the paper's bound on the mutual information.

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

    def evaluate(self, belief: Markov, question: Guess, channel: Emission) -> Reading:
        """Solve equation (3)."""
        told, size = paper_information(belief, channel), (belief.state_count, belief.steps)
        value = fano_success(chain_entropy(belief), told.value, *size, question.mistakes)
        return Reading(value=value, bound="upper", how=f"information by {told.how}")


@declare
class FanoTight(SuccessMeasure):
    """A bound on every guesser's success that looks at how uneven the prior is.

    Formula: the largest p with $−Ĩ ≤ h(p) + p log q$, with $q = ∑_{l ≤ s} C(T, l) f(T − l)$ and
    f(m) the largest probability of any m states at any m times, by the programme of Theorem 1.

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

    def evaluate(self, belief: Markov, question: Guess, channel: Emission) -> Reading:
        """Solve the inequality of Han and Verdú with equation (5)."""
        if not belief.is_stationary():
            raise OutsideHypotheses(
                "fano_tight holds for a stationary chain (initial law π with π P = π); use "
                "initial='stationary', or the measure 'reconstruction'."
            )
        told, mistakes = paper_information(belief, channel), question.mistakes
        logs = position_sets(belief, mistakes)[::-1][: mistakes + 1].tolist()
        value = han_verdu_success(told.value, log_over_mistakes(belief.steps, logs))
        return Reading(value=value, bound="upper", how=f"information by {told.how}")


@declare
class Fano(GuessMeasure):
    """An upper bound on the success of any guess, from the information about the secret alone.

    Formula: the p above q at which the binary relative entropy $d(p ‖ q)$ reaches I, q the success
    of the best guess without the release and I the mutual information about the secret: data
    processing of "the guess is right" gives $d(p ‖ q) ≤ I$.

    Assumptions: the adversary knows the prior and the channel.

    Guarantee: an upper bound.

    Reference: Fano's inequality in its divergence form, Han and Verdú (1994).

    >>> import sfumato as sf
    >>> prior, secret = sf.priors.rbf(length_scale=6.0, times=50), sf.secrets.basic(24, radius=0.25)
    >>> release = sf.mechanisms.gaussian_uniform(mse=1.0).protect(prior, secret)
    >>> round(sf.measures.fano().loss(prior, secret, release).value, 6)
    0.87679
    """

    name = "fano"
    quantity = Quantity("Bayes success", unit="probability")
    promises = ("unit free", "grows with the secret")

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Return the bound."""
        found = super().evaluate(belief, question, channel)
        return attrs.evolve(found, bound="upper", relative_error=0.0, interval=None)

    def of_joint(self, outcomes: Outcomes) -> float:
        """Return the bound of one secret variable."""
        told = outcomes.told_nats + 64.0 * outcomes.error
        return divergence_success(told, math.log(outcomes.best_prior_guess) + 4 * outcomes.error)

    def rounding(self, value: float, error: float) -> float:
        """Return nothing: what goes in is rounded up."""
        del value, error
        return 0.0

    def of_part(self, part: GaussianPart, end: End) -> float:
        """Return the bound from ½ log det(I + Σ_SS M)."""
        before = max(part.prior_success(part.radius)[1], SMALLEST)
        return divergence_success(part.told_nats(end), math.log(before))


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
    log_share = log_ball - log_traces  # of all traces that lie within the ball
    if log_share >= 0.0:
        return 1.0
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


# The programme of Theorem 1 -----------------------------------------------------------------------


def position_sets(belief: Markov, gaps: int) -> FloatArray:
    """Return log f(m), m = 0, ..., T: f(m) = max over t_1 < ... < t_m and x of Pr[X_t = x at all].

    In absolute time, g(1, t, x) = Pr[X_t = x] and
    g(m, t, x) = max over t' < t and x' of g(m − 1, t', x') Pr[X_t = x | X_t' = x'];
    f(m) is the largest g(m, ·, ·). For a stationary chain this is the programme of Theorem 1 of
    Koga, Meehan and Chaudhuri (2024); in absolute time it needs no stationarity. Of the T times
    `gaps` may be skipped: f(m) is asked for m ≥ T − gaps, and bounded by 1 below. Rounding errs
    upwards.
    """
    steps, gaps = belief.steps, min(gaps, belief.steps)
    if steps * (gaps + 1) * (gaps + 2) / 2.0 * belief.state_count**2 > MOST_PRODUCTS:
        raise OutsideHypotheses(
            f"the programme of Theorem 1 takes at most {MOST_PRODUCTS:.0e} multiplications; take "
            f"fewer than {steps} steps, {belief.state_count} states or {gaps} mistakes."
        )
    logs = programme(belief, min(gaps, steps - 1))
    rounding = steps * (belief.state_count - logs) * ROUNDOFF
    return np.asarray(np.minimum(logs + rounding, 0.0))


def programme(belief: Markov, gaps: int) -> FloatArray:
    """Return log f(m) by the full programme, for m ≥ T − gaps; below that, 0.

    The m-th chosen time is at least m, and reaching f(T − s) leaves room for s skipped times:
    only pairs (m, t) with at most `gaps` skipped times are visited.
    """
    steps, marginals = belief.steps, log_of(belief.marginals())
    # best[t, e] holds log g(t + 1 - e, t, .): e times have been skipped so far.
    best = np.full((steps, gaps + 1, belief.state_count), -np.inf)
    for time in range(gaps + 1):
        best[time, time] = marginals[time]
    moves = _log_moves(belief, 0, gaps)
    for time in range(steps - 1):
        if not belief.is_homogeneous and time > 0:
            moves = _log_moves(belief, time, gaps)
        for skipped, hop in enumerate(moves[: steps - 1 - time]):
            kept = min(time + 1, gaps + 1 - skipped)
            target = best[time + 1 + skipped, skipped : skipped + kept]
            np.maximum(target, max_products(best[time, :kept], hop, "log"), out=target)
    tops = best.max(axis=2)
    sizes = np.zeros(steps + 1)
    for size in range(max(steps - gaps, 1), steps + 1):
        sizes[size] = max(tops[size - 1 + skipped, skipped] for skipped in range(steps - size + 1))
    return sizes


def _log_moves(belief: Markov, time: int, gaps: int) -> list[FloatArray]:
    """Return log Pr[X_{time + 1 + d} | X_time] for d = 0, ..., gaps, as far as the trace goes.

    They err upwards where a product may vanish.
    """
    products: list[FloatArray] = []
    for matrix in belief.transitions[time : time + gaps + 1]:
        products.append(products[-1] @ matrix if products else matrix)
    hops = _SAFE / max(-math.log(belief.smallest_probability), 1e-9)
    return [
        log_of(np.maximum(product, TINY) if number >= hops else product)
        for number, product in enumerate(products, start=1)
    ]
