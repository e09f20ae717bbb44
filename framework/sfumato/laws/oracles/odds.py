"""The law of the log-odds of two secrets, by the complementary error function and bisection."""

from __future__ import annotations

import math

from sfumato.laws.violation import NotHere

HALVINGS = 200


def log_odds_gap(mean: float, delta: float) -> float:
    """Return g with Pr[|G| > g] = δ for G ~ N(m, 2m).

    Given one of two secrets Δ apart, log p(Z | s)/p(Z | s') is Gaussian of mean m = ½ΔᵀMΔ and
    variance 2m: the release is N(a, K) or N(b, K), and the log-ratio is linear in it.

    >>> round(log_odds_gap(0.02, 4.75e-10), 3)
    1.251
    """
    if mean == 0 or math.isinf(mean):
        return mean
    if not 1e-290 < delta < 1:
        raise NotHere("the oracle's chances leave float64")
    low, high = 0.0, mean + 60.0 * math.sqrt(2.0 * mean)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _chance_beyond(mean, middle) > delta else (low, middle)
    return (low + high) / 2


def _chance_beyond(mean: float, gap: float) -> float:
    """Return Pr[G > g] + Pr[G < −g]; with variance 2m, a deviation of √2·√(2m) is 2√m."""
    scale = 2.0 * math.sqrt(mean)
    return 0.5 * (math.erfc((gap - mean) / scale) + math.erfc((gap + mean) / scale))
