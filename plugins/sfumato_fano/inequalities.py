"""From mutual information to the success of any guesser: three inequalities, solved for it.

In each, p is the success probability, I an upper bound on the mutual information, and the answer
is the largest p that the inequality allows. Every log-probability may be far below what float64
can hold as a probability: M^T is never formed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

SLACK = 1e-14
"""An inequality counts as violated only beyond this share of its terms: rounding errs upwards."""

SMALLEST = 5e-324
"""The smallest positive float: a positive bound is never rounded to zero."""


def fano_success(
    entropy: float, information: float, states: int, steps: int, mistakes: int
) -> float:
    """Return the largest p with H(X) − I ≤ h(p) + p log N + (1 − p) log(M^T − N).

    This is equation (3) of Koga, Meehan and Chaudhuri (2024), with p = Pr[E = 0] and N the
    number of traces of T steps over M states within s mistakes of a guess.
    """
    log_traces, log_ball = steps * math.log(states), log_ball_size(states, steps, mistakes)
    if log_ball >= log_traces:
        return 1.0
    log_share = log_ball - log_traces  # of all traces that lie within the ball
    log_rest = log_traces + _log_one_minus(log_share)
    return _largest(
        lambda p: (_entropy(p), p * log_ball, (1.0 - p) * log_rest, -entropy, information),
        math.exp(log_share),
    )


def han_verdu_success(information: float, log_best: float) -> float:
    """Return the largest p with −I ≤ h(p) + p log q, q the best success without the release.

    Han and Verdú (1994), as used in section 3.3.2 of Koga, Meehan and Chaudhuri (2024).
    """
    if log_best >= 0.0:
        return 1.0
    peak = 1.0 / (1.0 + math.exp(min(-log_best, 700.0)))  # where the concave excess is largest
    return _largest(lambda p: (_entropy(p), p * log_best, information), peak)


def divergence_success(information: float, log_best: float) -> float:
    """Return the largest p ≥ q with d(p‖q) ≤ I, q a bound on success without the release.

    Whoever guesses from the output succeeds with probability p, and from an independent copy of
    the output with at most q; data processing gives I(X; Y) ≥ d(p‖q), the binary relative
    entropy. Since d(p‖q) ≥ −h(p) − p log q, this is never above `han_verdu_success`.
    """
    if log_best >= 0.0:
        return 1.0
    log_other = _log_one_minus(log_best)
    return _largest(
        lambda p: (information, _entropy(p), p * log_best, (1.0 - p) * log_other),
        math.exp(log_best),
    )


def log_ball_size(states: int, steps: int, mistakes: int) -> float:
    """Return log Σ_{l ≤ s} C(T, l) (M − 1)^l, the log-number of traces within s mistakes."""
    if states == 1:
        return 0.0
    each = math.log(states - 1)
    return log_over_mistakes(steps, [wrong * each for wrong in range(mistakes + 1)])


def log_over_mistakes(steps: int, logs: Sequence[float]) -> float:
    """Return log Σ_l C(T, l) e^(logs[l]), over how many positions are wrong; C(T, l) sets have l.

    >>> round(math.exp(log_over_mistakes(2, [0.0, math.log(2.0)])), 12)
    5.0
    """
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
