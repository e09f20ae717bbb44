"""The largest probability that a chain passes through m chosen states at m chosen times."""

from __future__ import annotations

import itertools
import math
from typing import Literal

import attrs
import numpy as np

from sfumato.beliefs import Markov
from sfumato.inference.markov.probabilities import log_of, max_products
from sfumato.inference.markov.smoothing import TINY
from sfumato.matrices.matrix import ROUNDOFF
from sfumato.values import FloatArray

_SAFE = 600.0
"""Products whose logarithm stays above minus this cannot underflow."""

_EQUAL = 1e-12
"""Bounds from both sides whose logarithms are so close, relatively, are one number."""


@attrs.frozen(eq=False)
class PositionSets:
    """log f(m) for m = 0, ..., T, and whether those asked for are exact or upper bounds."""

    logs: FloatArray
    exact: bool


def position_sets(belief: Markov, gaps: int, budget: float = math.inf) -> PositionSets:
    """Return f(m) = max over times t_1 < ... < t_m and states of Pr[X_t = x at all of them].

    In absolute time, g(1, t, x) = Pr[X_t = x] and
    g(m, t, x) = max over t' < t and x' of g(m − 1, t', x') Pr[X_t = x | X_t' = x'];
    f(m) is the largest g(m, ·, ·). For a stationary chain this is the programme of Theorem 1 of
    Koga, Meehan and Chaudhuri (2024); in absolute time it needs no stationarity.

    First two cheap bounds: below, consecutive times only; above, hops of two steps or more
    replaced by the largest probability to end where they end. Where they meet, that is f.
    Otherwise the programme is run. Rounding errs upwards.

    Of the T times `gaps` may be skipped: f(m) is asked for m ≥ T − gaps. Where the programme takes
    more than `budget` multiplications, the bounds above are returned.

    >>> chain = Markov([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], steps=3)
    >>> np.exp(position_sets(chain, 2).logs).round(6).tolist()
    [1.0, 0.5, 0.45, 0.405]
    """
    steps, gaps = belief.steps, min(gaps, belief.steps)
    asked = slice(steps - gaps, None)
    below, logs = consecutive_logs(belief)[asked], _relaxed_logs(belief)
    exact = bool((logs[asked] - below <= _EQUAL * (1.0 - below)).all())
    if not exact and steps * (gaps + 1) * (gaps + 2) / 2.0 * belief.state_count**2 <= budget:
        logs[asked] = programme(belief, min(gaps, steps - 1))[asked]
        exact = True
    rounding = steps * (belief.state_count - logs) * ROUNDOFF
    return PositionSets(np.minimum(logs + rounding, 0.0), exact)


def consecutive_logs(belief: Markov) -> FloatArray:
    """Return the log-probability of the likeliest first m states, for m = 0, ..., T."""
    rows = log_of(belief.initial)[None]
    tops = [0.0, rows.max()]
    for moves in belief.log_transitions:
        rows = max_products(rows, moves, "log")
        tops.append(rows.max())
    return np.minimum(tops, 0.0)


def _relaxed_logs(belief: Markov) -> FloatArray:
    """Return bounds on log f(m): no limit on the time, and long hops as likely as can be.

    Pr[X_t = x | X_t' = x'] for t − t' ≥ 2 is at most max_k Pr[X_t = x | X_{t−2} = k].
    """
    rows = log_of(belief.marginals().max(axis=0))[None]
    tops = [0.0, rows.max()]
    if belief.steps > 1:
        matrices = [belief.matrix(0)] * 2 if belief.is_homogeneous else list(belief.transitions)
        pairs = itertools.pairwise(matrices)
        two_steps = [(first @ second).max(axis=0) for first, second in pairs]
        short = log_of(np.max(matrices, axis=0))
        long = log_of(np.max([np.zeros(belief.state_count), *two_steps], axis=0))
    for _ in range(belief.steps - 1):
        rows = np.maximum(max_products(rows, short, "log"), rows.max() + long)
        tops.append(rows.max())
    return np.minimum(tops, 0.0)


def programme(belief: Markov, gaps: int) -> FloatArray:
    """Return log f(m) by the full programme, for m ≥ T − gaps; below that, 0.

    The m-th chosen time is at least m, and reaching f(T − s) leaves room for s skipped times:
    only pairs (m, t) with at most `gaps` skipped times are visited. As the likeliest T states have
    a probability of at least M^−T, no way to f leads through anything much smaller: logarithms
    are taken only where that may underflow.
    """
    steps = belief.steps
    scale: Literal["linear", "log"] = (
        "linear" if steps * math.log(belief.state_count) < _SAFE else "log"
    )
    marginals, nothing = belief.marginals(), 0.0
    if scale == "log":
        marginals, nothing = log_of(marginals), -math.inf
    # best[t, e] holds g(t + 1 - e, t, .): e times have been skipped so far.
    best = np.full((steps, gaps + 1, belief.state_count), nothing)
    for time in range(gaps + 1):
        best[time, time] = marginals[time]
    moves = _moves(belief, 0, gaps, scale)
    for time in range(steps - 1):
        if not belief.is_homogeneous and time > 0:
            moves = _moves(belief, time, gaps, scale)
        for skipped, hop in enumerate(moves[: steps - 1 - time]):
            kept = min(time + 1, gaps + 1 - skipped)
            target = best[time + 1 + skipped, skipped : skipped + kept]
            np.maximum(target, max_products(best[time, :kept], hop, scale), out=target)
    tops = best.max(axis=2)
    tops = tops if scale == "log" else log_of(tops)
    sizes = np.zeros(steps + 1)
    for size in range(max(steps - gaps, 1), steps + 1):
        sizes[size] = max(tops[size - 1 + skipped, skipped] for skipped in range(steps - size + 1))
    return sizes


def _moves(belief: Markov, time: int, gaps: int, scale: str) -> list[FloatArray]:
    """Return Pr[X_{time + 1 + d} | X_time] for d = 0, ..., gaps, as far as the trace goes.

    As logarithms they err upwards where a product may vanish.
    """
    products: list[FloatArray] = []
    for matrix in belief.transitions[time : time + gaps + 1]:
        products.append(products[-1] @ matrix if products else matrix)
    if scale == "linear":
        return products
    hops = _SAFE / max(-math.log(belief.smallest_probability), 1e-9)
    return [
        log_of(np.maximum(product, TINY) if number >= hops else product)
        for number, product in enumerate(products, start=1)
    ]
