"""Exact differential privacy of the Gaussian mechanism."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from sfumato.probabilities import FloatArray

MARGIN = 1e-11
"""By how much log δ is taken too large: well above the rounding of its computation."""

FAR = 40.0
"""Φ(−FAR) lies below every positive float64."""

NARROW = 0.5
"""Below this shift the difference of two Mills ratios is integrated, not subtracted."""


def gaussian_epsilon(delta: float, shift: float) -> float:
    """Return the smallest ε ≥ 0 for which N(0, 1) and N(μ, 1) are (ε, δ)-indistinguishable.

    That is where δ = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ), with μ the `shift` (Balle and Wang, 2018,
    theorem 8). With x = ε/μ − μ/2 and the Mills ratio m(x) = Φ(−x)/φ(x) this is

        δ(x) = φ(x) (m(x) − m(x + μ)) = φ(x) ∫_x^{x+μ} (1 − u m(u)) du,

    since e^ε φ(x + μ) = φ(x) and m'(u) = u m(u) − 1. It falls in x, and is solved for x, which
    stays moderate where ε is tiny or huge. The answer is never too small: δ(x) is taken too large
    by 1e-11 of itself, or 1 − δ(x) too small where δ > 1/2, and ε = μ (x + μ/2) is rounded up.

    Examples
    --------
    >>> round(gaussian_epsilon(0.01, 1.0), 9)
    2.31778904
    """
    if shift == 0.0:
        return 0.0
    if shift == math.inf:
        return math.inf
    low, high = max(-shift / 2.0, -FAR), FAR
    if low > -FAR and _is_enough(low, delta, shift):
        return 0.0
    middle = (low + high) / 2.0
    while low < middle < high:
        if _is_enough(middle, delta, shift):
            high = middle
        else:
            low = middle
        middle = (low + high) / 2.0
    return _rounded_up(Fraction(shift) * (Fraction(high) + Fraction(shift) / 2))


def _is_enough(x: float, delta: float, shift: float) -> bool:
    """Return whether δ(x) ≤ `delta` for certain."""
    from scipy.special import ndtr

    density = math.exp(-x * x / 2.0) / math.sqrt(2.0 * math.pi)
    if delta > 0.5:  # then 1 − delta is exact, and so is what is compared with it
        rest = float(ndtr(x)) + (density * float(_mills(x + shift)) if density > 0.0 else 0.0)
        return rest * (1.0 - MARGIN) >= 1.0 - delta
    if shift >= NARROW and x < 0.0:
        log_delta = math.log(float(ndtr(-x)) - density * float(_mills(x + shift)))
    else:
        log_delta = -x * x / 2.0 - math.log(2.0 * math.pi) / 2.0 + _log_fall(x, shift)
    return log_delta + MARGIN <= math.log(delta)


def _log_fall(x: float, shift: float) -> float:
    """Return log(m(x) − m(x + μ))."""
    if shift >= NARROW:
        return math.log(float(_mills(x) - _mills(x + shift)))
    nodes, weights = np.polynomial.legendre.leggauss(20)
    inside = x + shift * (nodes + 1.0) / 2.0
    mean = float(weights @ (1.0 - inside * _mills(inside))) / 2.0
    return math.log(shift) + math.log(mean)


def _mills(x: float | FloatArray) -> FloatArray:
    """Return Φ(−x)/φ(x)."""
    from scipy.special import erfcx

    return np.asarray(math.sqrt(math.pi / 2.0) * erfcx(np.asarray(x) / math.sqrt(2.0)))


def _rounded_up(exact: Fraction) -> float:
    """Return a float64 that is not below, and at most two steps above."""
    try:
        return math.nextafter(float(exact), math.inf)
    except OverflowError:
        return math.inf
