"""The largest probability that a chain passes through m chosen states at m chosen times."""

from __future__ import annotations

import math

import numpy as np

from sfumato.beliefs.markov import Markov
from sfumato.inference.forward_backward import TINY
from sfumato.inference.log_products import log_of
from sfumato.probabilities import FloatArray

_SAFE = 600.0
"""Products whose logarithm stays above minus this cannot underflow."""

_ENTRIES = 250_000
"""How many products are held at once: about what a processor's cache holds."""


def largest_position_probabilities(
    belief: Markov, gaps: int | None = None
) -> FloatArray:
    """Return log f(m) for m = 0, ..., T: f(m) = max over t_1 < ... < t_m and states of Pr[X_t = x].

    In absolute time, g(1, t, x) = Pr[X_t = x] and
    g(m, t, x) = max over t' < t and x' of g(m − 1, t', x') Pr[X_t = x | X_t' = x'];
    f(m) is the largest g(m, ·, ·). For a stationary chain this is the programme of Theorem 1 of
    Koga, Meehan and Chaudhuri (2024); in absolute time it needs no stationarity.
    The m-th chosen time is at least m, and reaching f(T − s) leaves room for s skipped times:
    with `gaps` = s only such pairs (m, t) are visited.

    Parameters
    ----------
    belief
        The chain.
    gaps
        f(m) is exact for m ≥ T − gaps; below that the largest f(m) known to hold,
        f(1) c^(m − 1) with c the largest transition probability, is returned. None: all exact.

    Examples
    --------
    >>> chain = Markov([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], steps=3)
    >>> np.exp(largest_position_probabilities(chain)).round(6).tolist()
    [1.0, 0.5, 0.45, 0.405]
    """
    steps = belief.steps
    room = steps - 1 if gaps is None else min(gaps, steps - 1)
    smallest = belief.smallest_probability
    linear = steps * -math.log(smallest) < _SAFE
    marginals = belief.marginals() if linear else log_of(belief.marginals())
    zero = 0.0 if linear else -np.inf
    # best[t, e] holds g(t + 1 - e, t, .): e times have been skipped so far.
    best = np.full((steps, room + 1, belief.state_count), zero)
    for time in range(min(room + 1, steps)):
        best[time, time] = marginals[time]
    powers = _powers(belief, room)
    for time in range(steps - 1):
        rows = min(time, room) + 1
        for skipped, moves in enumerate(_moves(belief, powers, time, room)):
            kept = min(rows, room + 1 - skipped)
            onward = moves if linear else _logs(moves, smallest, skipped + 1)
            target = best[time + 1 + skipped, skipped : skipped + kept]
            _raise_to(target, best[time, :kept], onward, linear=linear)
    return _by_size(belief, best, room, linear=linear)


def position_operations(steps: int, states: int, gaps: int) -> float:
    """Return about how many multiplications the programme takes."""
    return float(steps) * (gaps + 1) * (gaps + 2) / 2.0 * states**2


def _powers(belief: Markov, room: int) -> list[FloatArray]:
    """Return P, P², ..., P^(room + 1) of a chain that repeats one matrix, else nothing."""
    if not belief.is_homogeneous or belief.steps == 1:
        return []
    powers = [belief.matrix(0)]
    while len(powers) < min(room + 1, belief.steps - 1):
        powers.append(powers[-1] @ powers[0])
    return powers


def _moves(belief: Markov, powers: list[FloatArray], time: int, room: int) -> list[FloatArray]:
    """Return Pr[X_{time + 1 + d} | X_time] for d = 0, ..., room, as far as the trace goes."""
    count = min(room + 1, belief.steps - 1 - time)
    if powers:
        return powers[:count]
    moves = [belief.matrix(time)]
    while len(moves) < count:
        moves.append(moves[-1] @ belief.matrix(time + len(moves)))
    return moves


def _logs(moves: FloatArray, smallest: float, hops: int) -> FloatArray:
    """Return logarithms; where a product of `hops` factors may have vanished, err upwards."""
    vanishing = -hops * math.log(smallest) > _SAFE
    return log_of(np.maximum(moves, TINY) if vanishing else moves)


def _raise_to(
    target: FloatArray, rows: FloatArray, moves: FloatArray, *, linear: bool
) -> None:
    """Raise target[b, m] to max_k rows[b, k] moves[k, m] (or their sum, of logarithms)."""
    combine = np.multiply if linear else np.add
    stride = max(1, _ENTRIES // moves.size)
    for begin in range(0, len(rows), stride):
        part = slice(begin, begin + stride)
        products = combine(rows[part, :, None], moves)
        np.maximum(target[part], products.max(axis=1), out=target[part])


def _by_size(
    belief: Markov, best: FloatArray, room: int, *, linear: bool
) -> FloatArray:
    """Return log f(m) from g, and its bound for the sizes that were not visited."""
    steps = belief.steps
    tops = best.max(axis=2)
    tops = log_of(tops) if linear else tops
    sizes = np.zeros(steps + 1)
    for size in range(steps - room, steps + 1):
        chosen = [(size - 1 + skipped, skipped) for skipped in range(steps - size + 1)]
        if size > 0:
            sizes[size] = max(tops[time, skipped] for time, skipped in chosen)
    top = float(np.log(belief.marginals().max()))
    used = belief.transitions[:1] if belief.is_homogeneous else belief.transitions
    largest = float(np.log(used.max(initial=TINY)))
    for size in range(1, steps - room):
        sizes[size] = top + (size - 1) * largest
    return sizes
