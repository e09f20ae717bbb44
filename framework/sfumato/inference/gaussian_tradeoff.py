"""Exact differential privacy of the Gaussian mechanism."""

from __future__ import annotations

import math


def gaussian_delta(epsilon: float, shift: float) -> float:
    """Return the smallest δ for which N(0, 1) and N(μ, 1) are (ε, δ)-indistinguishable.

    δ(ε) = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ), with μ the `shift` in standard deviations
    (Balle and Wang, 2018, theorem 8).

    Examples
    --------
    >>> round(gaussian_delta(0.0, 1.0), 6)
    0.382925
    """
    from scipy.special import log_ndtr

    if shift == 0.0:
        return 0.0
    first = float(log_ndtr(shift / 2.0 - epsilon / shift))
    second = epsilon + float(log_ndtr(-shift / 2.0 - epsilon / shift))
    return math.exp(first) * -math.expm1(min(second - first, 0.0))


def gaussian_epsilon(delta: float, shift: float) -> float:
    """Return the smallest ε ≥ 0 with δ(ε) ≤ `delta`, rounded up by at most 1e-12 of itself.

    Examples
    --------
    >>> epsilon = gaussian_epsilon(0.01, 1.0)
    >>> round(gaussian_delta(epsilon, 1.0), 9)
    0.01
    """
    if gaussian_delta(0.0, shift) <= delta:
        return 0.0
    low, high = 0.0, 1.0
    while gaussian_delta(high, shift) > delta:
        low, high = high, 2.0 * high
    while high - low > 1e-12 * high:
        middle = (low + high) / 2.0
        if gaussian_delta(middle, shift) > delta:
            low = middle
        else:
            high = middle
    return high
