"""The largest probability that a chain passes through m chosen states at m chosen times."""

from __future__ import annotations

import math
from typing import Literal

import attrs
import numpy as np

from sfumato.beliefs import Markov
from sfumato.inference.markov.probabilities import log_of, max_products
from sfumato.inference.markov.smoothing import TINY
from sfumato.values import FloatArray

_SAFE = 600.0
"""Products whose logarithm stays above minus this cannot underflow."""

_ROUNDING = 1e-12
"""Bounds from both sides that are so close, relatively, are one number."""


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
    Otherwise the programme is run.

    Parameters
    ----------
    belief
        The chain.
    gaps
        How many times may be skipped: f(m) is asked for m ≥ T − gaps.
    budget
        How many multiplications the programme may take; beyond, the bounds above are returned.

    Examples
    --------
    >>> chain = Markov([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], steps=3)
    >>> np.exp(position_sets(chain, 2).logs).round(6).tolist()
    [1.0, 0.5, 0.45, 0.405]
    """
    gaps = min(gaps, belief.steps)
    asked = slice(belief.steps - gaps, None)
    below, above = consecutive_logs(belief), _relaxed(belief)
    if (above[asked] - below[asked] <= _ROUNDING).all():
        return PositionSets(above, exact=True)
    if belief.steps * (gaps + 1) * (gaps + 2) / 2.0 * belief.state_count**2 > budget:
        return PositionSets(above, exact=False)
    found = programme(belief, min(gaps, belief.steps - 1))
    return PositionSets(np.concatenate([above[: belief.steps - gaps], found[asked]]), exact=True)


def _scale(belief: Markov) -> Literal["linear", "log"]:
    """Return "linear" where no product that matters can underflow.

    The likeliest T states have a probability of at least M^−T, so that no way to f leads through
    anything much smaller.
    """
    each = min(math.log(belief.state_count), -math.log(belief.smallest_probability))
    return "linear" if belief.steps * each < _SAFE else "log"


def _on(scale: str, probabilities: FloatArray) -> FloatArray:
    return probabilities if scale == "linear" else log_of(probabilities)


def consecutive_logs(belief: Markov) -> FloatArray:
    """Return the log-probability of the likeliest first m states, for m = 0, ..., T.

    >>> chain = Markov([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], steps=2)
    >>> np.exp(consecutive_logs(chain)).round(6).tolist()
    [1.0, 0.5, 0.45]
    """
    scale = _scale(belief)
    rows = _on(scale, belief.initial)[None]
    tops = [rows.max()]
    onward = _on(scale, belief.matrix(0)) if belief.is_homogeneous and belief.steps > 1 else None
    for time in range(belief.steps - 1):
        matrix = _on(scale, belief.matrix(time)) if onward is None else onward
        rows = max_products(rows, matrix, scale)
        tops.append(rows.max())
    return _with_nothing_chosen(scale, tops)


def _relaxed(belief: Markov) -> FloatArray:
    """Return bounds on log f(m): no limit on the time, and long hops as likely as can be.

    Pr[X_t = x | X_t' = x'] for t − t' ≥ 2 is at most max_k Pr[X_t = x | X_{t−2} = k].
    """
    scale = _scale(belief)
    rows = _on(scale, belief.marginals().max(axis=0))[None]
    tops = [rows.max()]
    if belief.steps > 1:
        short, long = _hops(belief)
        onward, ends = _on(scale, short), _on(scale, long)
    for _ in range(belief.steps - 1):
        jumps = rows.max() * ends if scale == "linear" else rows.max() + ends
        rows = np.maximum(max_products(rows, onward, scale), jumps)
        tops.append(rows.max())
    return _with_nothing_chosen(scale, tops)


def _hops(belief: Markov) -> tuple[FloatArray, FloatArray]:
    """Return the largest one-step probabilities, and the largest of two steps to each state."""
    if belief.is_homogeneous:
        matrix = belief.matrix(0)
        return matrix, (matrix @ matrix).max(axis=0)
    long = np.zeros(belief.state_count)
    for first, second in zip(belief.transitions[:-1], belief.transitions[1:], strict=True):
        long = np.maximum(long, (first @ second).max(axis=0))
    return belief.transitions.max(axis=0), long


def _with_nothing_chosen(scale: str, tops: list[np.float64]) -> FloatArray:
    found = np.array(tops)
    logs = log_of(found) if scale == "linear" else found
    return np.asarray(np.minimum(np.concatenate([[0.0], logs]), 0.0))


def programme(belief: Markov, gaps: int) -> FloatArray:
    """Return log f(m) by the full programme, for m ≥ T − gaps; below that, 0.

    The m-th chosen time is at least m, and reaching f(T − s) leaves room for s skipped times:
    only pairs (m, t) with at most `gaps` skipped times are visited.

    Examples
    --------
    >>> chain = Markov([1.0, 0.0], [[0.5, 0.5], [1.0, 0.0]], steps=2)
    >>> np.exp(programme(chain, 1)).tolist()
    [1.0, 1.0, 0.5]
    """
    steps, scale = belief.steps, _scale(belief)
    # best[t, e] holds g(t + 1 - e, t, .): e times have been skipped so far.
    nothing = 0.0 if scale == "linear" else -np.inf
    best = np.full((steps, gaps + 1, belief.state_count), nothing)
    marginals = _on(scale, belief.marginals())
    for time in range(gaps + 1):
        best[time, time] = marginals[time]
    powers = _powers(belief, gaps, scale)
    for time in range(steps - 1):
        for skipped, moves in enumerate(_moves(belief, powers, time, gaps, scale)):
            kept = min(time + 1, gaps + 1 - skipped)
            target = best[time + 1 + skipped, skipped : skipped + kept]
            np.maximum(target, max_products(best[time, :kept], moves, scale), out=target)
    tops = best.max(axis=2)
    tops = log_of(tops) if scale == "linear" else tops
    sizes = np.zeros(steps + 1)
    for size in range(max(steps - gaps, 1), steps + 1):
        sizes[size] = max(tops[size - 1 + skipped, skipped] for skipped in range(steps - size + 1))
    return sizes


def _powers(belief: Markov, gaps: int, scale: str) -> list[FloatArray]:
    """Return P, P², ... of a chain that repeats one matrix, as far as needed, else nothing."""
    if not belief.is_homogeneous or belief.steps == 1:
        return []
    return _products([belief.matrix(0)] * min(gaps + 1, belief.steps - 1), belief, scale)


def _moves(
    belief: Markov, powers: list[FloatArray], time: int, gaps: int, scale: str
) -> list[FloatArray]:
    """Return Pr[X_{time + 1 + d} | X_time] for d = 0, ..., gaps, as far as the trace goes."""
    count = min(gaps + 1, belief.steps - 1 - time)
    if powers:
        return powers[:count]
    return _products(list(belief.transitions[time : time + count]), belief, scale)


def _products(matrices: list[FloatArray], belief: Markov, scale: str) -> list[FloatArray]:
    """Return A, AB, ABC, ...; as logarithms that err upwards where a product may vanish."""
    products = matrices[:1]
    for matrix in matrices[1:]:
        products.append(products[-1] @ matrix)
    if scale == "linear":
        return products
    hops = _SAFE / -math.log(belief.smallest_probability)
    kept = [
        np.maximum(product, TINY) if number >= hops else product
        for number, product in enumerate(products, start=1)
    ]
    return [log_of(product) for product in kept]
