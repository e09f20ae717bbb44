"""From mutual information to the success of any guesser: three inequalities, solved for it."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from sfumato.beliefs import Markov
from sfumato.values import FloatArray

SLACK = 1e-14
"""An inequality counts as violated only beyond this share of its terms: rounding errs upwards."""


Terms = tuple[float, ...]
"""What an inequality adds up, at one p."""


SMALLEST = 5e-324
"""The smallest positive float: a positive bound is never rounded to zero."""


def fano_success(entropy: float, information: float, log_traces: float, log_ball: float) -> float:
    """Return the largest p with H(X) − I ≤ h(p) + p log N + (1 − p) log(M^T − N).

    This is equation (3) of Koga, Meehan and Chaudhuri (2024), with p = Pr[E = 0] and N the
    number of traces within s mistakes of a guess.

    Parameters
    ----------
    entropy, information
        H(X) and I.
    log_traces, log_ball
        log M^T and log N.

    Examples
    --------
    >>> from math import log
    >>> round(fano_success(10 * log(2), 0.0, 10 * log(2), log(1)) * 2**10, 4)
    1.0
    """
    if log_ball >= log_traces:
        return 1.0
    log_share = log_ball - log_traces  # of all traces that lie within the ball
    log_rest = log_traces + _log_one_minus(log_share)

    def terms(p: float) -> Terms:
        return _binary_entropy(p), p * log_ball, (1.0 - p) * log_rest, -entropy, information

    return _largest(terms, _up(math.exp(log_share)))


def han_verdu_success(information: float, log_best: float) -> float:
    """Return the largest p with −I ≤ h(p) + p log q, q the best success without the release.

    Han and Verdú (1994), as used in section 3.3.2 of Koga, Meehan and Chaudhuri (2024).

    Examples
    --------
    >>> from math import log
    >>> round(han_verdu_success(0.5, log(1e-6)), 4)
    0.0507
    >>> han_verdu_success(0.1, log(1.5))
    1.0
    """
    if log_best >= 0.0:
        return 1.0

    def terms(p: float) -> Terms:
        return _binary_entropy(p), p * log_best, information

    best = 1.0 / (1.0 + math.exp(min(-log_best, 700.0)))  # where the concave excess is largest
    return _largest(terms, _up(best))


def divergence_success(information: float, log_best: float) -> float:
    """Return the largest p ≥ q with d(p‖q) ≤ I, q a bound on success without the release.

    Whoever guesses from the output succeeds with probability p, and from an independent copy of
    the output with at most q; data processing gives I(X; Y) ≥ d(p‖q), the binary relative
    entropy. Since d(p‖q) ≥ −h(p) − p log q, this is never above `han_verdu_success`.

    Examples
    --------
    >>> from math import log
    >>> round(divergence_success(0.0, log(0.25)), 6)
    0.25
    >>> divergence_success(2.0, log(0.5))
    1.0
    """
    if log_best >= 0.0:
        return 1.0
    log_other = _log_one_minus(log_best)

    def terms(p: float) -> Terms:
        return information, _binary_entropy(p), p * log_best, (1.0 - p) * log_other

    return _largest(terms, _up(math.exp(log_best)))


def log_ball_size(states: int, steps: int, mistakes: int) -> float:
    """Return log Σ_{l ≤ s} C(T, l) (M − 1)^l, the log-number of traces within s mistakes.

    >>> round(math.exp(log_ball_size(3, 2, 1)), 9)
    5.0
    """
    if states == 1:
        return 0.0
    terms = [
        log_choose(steps, wrong) + wrong * math.log(states - 1)
        for wrong in range(min(mistakes, steps) + 1)
    ]
    return log_total(terms)


def log_choose(total: int, chosen: int) -> float:
    """Return log C(n, k).

    >>> round(math.exp(log_choose(10, 3)), 9)
    120.0
    """
    return math.log(math.comb(total, chosen))


def log_total(logs: list[float]) -> float:
    """Return log Σ exp.

    >>> round(math.exp(log_total([math.log(2.0), math.log(3.0)])), 12)
    5.0
    """
    largest = max(logs)
    if math.isinf(largest):
        return largest
    return largest + math.log(math.fsum(math.exp(term - largest) for term in logs))


def _log_one_minus(log_probability: float) -> float:
    """Return log(1 − e^x) for x < 0, accurate at both ends."""
    if log_probability > -math.log(2.0):
        return math.log(-math.expm1(log_probability))
    return math.log1p(-math.exp(log_probability))


def _binary_entropy(p: float) -> float:
    if p <= 0.0 or p >= 1.0:
        return 0.0
    return -p * math.log(p) - (1.0 - p) * math.log1p(-p)


def _up(probability: float) -> float:
    return min(max(probability, SMALLEST), 1.0)


def _largest(terms: Callable[[float], Terms], start: float) -> float:
    """Return the largest p in [start, 1] whose terms sum to 0 or more; beyond `start` they fall."""

    def allowed(p: float) -> bool:
        parts = terms(p)
        return math.fsum(parts) >= -SLACK * math.fsum(map(abs, parts))

    if allowed(1.0):
        return 1.0
    low, high = start, 1.0
    while True:
        # The geometric mean first: the answer may be many orders of magnitude below one.
        middle = math.sqrt(low) * math.sqrt(high) if high > 4.0 * low else (low + high) / 2.0
        if not low < middle < high:
            return high
        if allowed(middle):
            low = middle
        else:
            high = middle


def staying_successes(belief: Markov, mistakes: int) -> FloatArray:
    """Return Pr[X_t = l for all but at most `mistakes` times t], for every state l, (M,).

    A law over (mistakes so far, state) is carried along for all l at once.

    Examples
    --------
    >>> chain = Markov([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], steps=2)
    >>> staying_successes(chain, 0).tolist(), staying_successes(chain, 1).tolist()
    ([0.25, 0.25], [0.75, 0.75])
    """
    count = belief.state_count
    if mistakes >= belief.steps:
        return np.ones(count)
    places = np.arange(count)
    law = np.zeros((count, mistakes + 1, count))  # (guessed place, mistakes so far, state)
    law[:, 0] = belief.initial
    for time in range(belief.steps):
        law = law if time == 0 else law @ belief.matrix(time - 1)
        judged = np.zeros_like(law)
        judged[:, 1:] = law[:, :-1]
        judged[places, :, places] = law[places, :, places]
        law = judged
    return np.asarray(np.minimum(law.sum(axis=(1, 2)), 1.0))
