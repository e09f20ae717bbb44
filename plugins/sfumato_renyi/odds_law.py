"""The law of the gap between prior and posterior log-odds of two secrets."""

from __future__ import annotations

import math

import numpy as np


def gap_chance(mean: float, gap: float) -> float:
    """Return Pr[|G| > gap] for G ~ N(m, 2m).

    For a Gaussian trace and noise the log-odds of two secrets move by log p(Z|s_i)/p(Z|s_j), which
    under s_i is N(m, 2m) with m = ½ ΔᵀMΔ.

    >>> f"{gap_chance(0.02, 1.2512925):.3g}"
    '4.75e-10'
    """
    from scipy.special import ndtr

    if mean == 0:
        return 0.0 if gap >= 0 else 1.0
    if math.isinf(mean):
        return 1.0
    spread = math.sqrt(2 * mean)
    return float(ndtr((mean - gap) / spread) + ndtr((-mean - gap) / spread))


def gap_quantile(mean: float, chance: float) -> float:
    """Return the gap that |G| exceeds with the given chance.

    With gap = m + z √(2m) the chance is Φ(−z) + Φ(−z − √(2m)), decreasing in z from 1 at
    z = −√(m/2). It lies between Φ(−z) and twice that, which brackets z.

    >>> round(gap_quantile(0.02, 4.75e-10), 3)
    1.251
    """
    from scipy.optimize import brentq
    from scipy.special import log_ndtr, ndtri

    if mean == 0 or math.isinf(mean):
        return mean
    spread = math.sqrt(2 * mean)

    def excess(z: float) -> float:
        return float(np.logaddexp(log_ndtr(-z), log_ndtr(-z - spread))) - math.log(chance)

    low = max(-spread / 2, float(-ndtri(chance)))
    high = max(low, float(-ndtri(chance / 2))) + 1e-9
    z = low if excess(low) <= 0 else float(brentq(excess, low, high, xtol=1e-14, rtol=1e-14))
    return spread * (z + spread / 2)


def conversion_gap(divergence: float, order: float, delta: float) -> float:
    """Return ε' = ε + log(1/δ) / (λ − 1), for a Rényi divergence ε of order λ.

    >>> round(math.exp(conversion_gap(0.1, 5.0, 0.01)), 3)
    3.495
    """
    return divergence + math.log(1 / delta) / (order - 1)


def conversion_chance(gap: float, delta: float) -> float:
    """Return δ (1 + e^(−ε')), the chance at most with which the gap exceeds ε' on either side.

    Pr_i[gap > ε'] ≤ δ is one-sided. On the other side p_i < e^(−ε') p_j, so Pr_i[gap < −ε'] is at
    most e^(−ε') Pr_j[gap < −ε'], and the last is the one-sided chance under s_j, at most δ.

    >>> round(conversion_chance(1.2512925, 0.01), 5)
    0.01286
    """
    return delta * (1 + math.exp(-gap))


def best_conversion_gap(mean: float, delta: float) -> float:
    """Return the smallest λ m + log(1/δ)/(λ − 1), at λ = 1 + √(log(1/δ)/m): m + 2 √(m log(1/δ)).

    >>> best_conversion_gap(1.0, math.exp(-4.0))
    5.0
    """
    return mean + 2 * math.sqrt(mean * math.log(1 / delta))
