"""Exact binomial intervals against sums of binomial terms in rational numbers."""

import math
from fractions import Fraction

import pytest

from sfumato_fano.attacks import binomial_interval


def at_least(successes, trials, chance):
    """Return Pr[at least so many successes], exactly."""
    p = Fraction(chance)
    return sum(
        math.comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(successes, trials + 1)
    )


@pytest.mark.parametrize(("successes", "trials"), [(0, 7), (1, 7), (7, 7), (3, 40), (39, 40)])
@pytest.mark.parametrize("risk", [0.3, 0.05, 1e-6, 1e-12])
def test_the_ends_have_half_the_risk_each(successes, trials, risk):
    low, high = binomial_interval(successes, trials, risk)
    assert 0.0 <= low <= successes / trials <= high <= 1.0
    if successes > 0:
        assert float(at_least(successes, trials, low)) == pytest.approx(risk / 2, rel=1e-9)
    if successes < trials:
        rest = 1 - at_least(successes + 1, trials, high)
        # Next to 1, where tiny risks put the end, float64 has few digits left.
        assert float(rest) == pytest.approx(risk / 2, rel=1e-3 if risk < 1e-9 else 1e-8)
    assert (low == 0.0) == (successes == 0)
    assert (high == 1.0) == (successes == trials)


@pytest.mark.parametrize("risk", [0.2, 0.01])
def test_the_interval_seldom_misses_whatever_the_truth(risk):
    trials = 12
    intervals = [binomial_interval(k, trials, risk) for k in range(trials + 1)]
    for step in range(51):
        p = Fraction(step, 50)
        missed = sum(
            math.comb(trials, k) * p**k * (1 - p) ** (trials - k)
            for k, (low, high) in enumerate(intervals)
            if not low <= p <= high
        )
        assert missed <= risk
