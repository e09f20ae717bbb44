"""Tests of whether different calls draw independently; every level is exact or conservative."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.intp]

NEAR = 8
"""Every distance between calls up to this one is tested, then its doubles."""


def pairings(count: int) -> Iterator[tuple[Indices, Indices]]:
    """Yield ways to pair draws that lie a fixed distance apart, each draw in at most one pair.

    For each distance d the draws i and i + d are paired where ⌊(i - s)/d⌋ is even, with s = 0 and
    with s = d: between them the two see all neighbours at that distance.

    >>> [(first.tolist(), second.tolist()) for first, second in pairings(5)]
    [([0, 2], [1, 3]), ([1, 3], [2, 4]), ([0, 1], [2, 3]), ([2], [4])]
    """
    distance = 1
    while 2 * distance <= count:
        for start in (0, distance):
            first = np.arange(start, count - distance)
            first = first[(first - start) // distance % 2 == 0]
            if first.size:
                yield first, first + distance
        distance = distance + 1 if distance < NEAR else 2 * distance


def exchangeability(outputs: Sequence[Any]) -> tuple[float, str]:
    """Return a p-value of the order in which discrete outputs came, corrected for its tests.

    Outputs are marked by sets that do not depend on their order: one with about half of the
    outputs in it, and for each time the outputs with the symbol that is most common there. If
    calls are independent, every order of the marks is equally likely; so, given how many first
    and second places of disjoint pairs are marked, the number of pairs with both is
    hypergeometric, and its tails are at most those of Hoeffding's bound.

    >>> rng = np.random.default_rng(1)
    >>> draws = [(int(bit),) for bit in rng.integers(2, size=400)]
    >>> twice = [draw for draw in draws for _ in "ab"]
    >>> exchangeability(draws)[0] > 1e-3, exchangeability(twice)[0] < 1e-9
    (True, True)
    """
    outputs = [tuple(output) for output in outputs]
    marks = {tuple(_half(outputs))}
    for column in zip(*outputs, strict=True):
        often = Counter(column)
        common = max(often, key=lambda symbol: (often[symbol], repr(symbol)))
        marks.add(tuple(symbol == common for symbol in column))
    found = [
        _both_marked(np.asarray(mark)[first], np.asarray(mark)[second])
        for mark in marks
        for first, second in pairings(len(outputs))
    ]
    return min(1.0, min(found, default=1.0) * len(found)), "independence of calls"


def _half(outputs: Sequence[Hashable]) -> list[bool]:
    """Mark outputs of about half of the draws, equal ones alike."""
    marked, size, other = set(), 0, 0
    for output, often in sorted(Counter(outputs).items(), key=lambda item: (-item[1], repr(item))):
        if size <= other:
            marked.add(output)
            size += often
        else:
            other += often
    return [output in marked for output in outputs]


def _both_marked(first: NDArray[np.bool_], second: NDArray[np.bool_]) -> float:
    """Return a bound on twice the smaller tail of the number of pairs with both marked."""
    pairs = first.size
    both = int((first & second).sum())
    neither = int((~first & ~second).sum())
    # Both numbers grow together, so a bound on the tail of either is one on the other's.
    bounds = (
        _tail(both, int(first.sum()), float(second.mean())),
        _tail(neither, pairs - int(first.sum()), float(1.0 - second.mean())),
    )
    return min(1.0, 2.0 * min(bounds))


def _tail(seen: int, total: int, chance: float) -> float:
    """Bound the tail of sampling without replacement: exp(-n KL(seen/n, chance)), Hoeffding 1963.

    >>> _tail(5, 10, 0.5), round(_tail(10, 10, 0.5) * 2**10, 9)
    (1.0, 1.0)
    """
    if total == 0 or chance in (0.0, 1.0):
        return 1.0
    share = seen / total
    divergence = 0.0
    if share > 0.0:
        divergence += share * np.log(share / chance)
    if share < 1.0:
        divergence += (1.0 - share) * np.log((1.0 - share) / (1.0 - chance))
    return float(np.exp(-total * divergence))
