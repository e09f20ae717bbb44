"""Exact confidence intervals for a success probability."""

from __future__ import annotations


def binomial_interval(successes: int, trials: int, risk: float) -> tuple[float, float]:
    """Return the interval of Clopper and Pearson (1934), which misses with probability ≤ `risk`.

    The ends are the probabilities at which so many (so few) successes have chance risk / 2.

    Examples
    --------
    >>> low, high = binomial_interval(0, 100, 0.05)
    >>> low, round(high, 4)
    (0.0, 0.0362)
    """
    from scipy.special import betaincinv

    failures = trials - successes
    low = 0.0 if successes == 0 else float(betaincinv(successes, failures + 1, risk / 2.0))
    high = 1.0 if failures == 0 else float(betaincinv(successes + 1, failures, 1.0 - risk / 2.0))
    return low, high
