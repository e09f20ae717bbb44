"""Tests of a sampler against the law its channel claims; every level is exact or conservative."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.channels import (
    AdditiveGaussian,
    Emission,
    MemoryEmission,
    NoisyVectors,
    RememberingSuppression,
    WholeTrace,
)
from sfumato.errors import OutsideHypotheses
from sfumato.laws.law import NotHere

Indices = NDArray[np.intp]

NEAR = 8
"""Every distance between calls up to this one is tested, then its doubles."""


def pairings(count: int) -> Iterator[tuple[Indices, Indices]]:
    """Yield ways to pair draws that lie a fixed distance apart, each draw in at most one pair.

    For each distance d the draws i and i + d are paired where ⌊(i - s)/d⌋ is even, with s = 0 and
    with s = d: between them the two see all neighbours at that distance.

    >>> from sfumato.laws.goodness_of_fit import pairings
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

    >>> import numpy as np
    >>> from sfumato.laws.goodness_of_fit import exchangeability
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
    """Bound a tail of sampling without replacement: exp(-n KL(seen/n, chance)), Hoeffding 1963."""
    from scipy.special import rel_entr

    if total == 0 or chance in (0.0, 1.0):
        return 1.0
    share = seen / total
    return float(np.exp(-total * (rel_entr(share, chance) + rel_entr(1 - share, 1 - chance))))


Finding = tuple[float, str]
"""A p-value, corrected for how many were computed, and what was tested."""

NEGLIGIBLE = 1e-12
"""Noise directions with less than this share of the largest variance are held to be flat."""


def worst_p_value(channel: Any, trace: Any, outputs: Sequence[Any]) -> Finding:
    """Return the smallest p-value, Bonferroni-corrected, of the outputs of one trace."""
    if isinstance(channel, (AdditiveGaussian, NoisyVectors)):
        centre = np.asarray(trace)
        if isinstance(channel, NoisyVectors):
            positions = [channel.states.index(state) for state in trace]
            centre = channel.means[np.arange(channel.steps), positions]
            covariance = channel.scale**2 * np.eye(centre.size)
        else:
            covariance = channel.covariance()
        values = np.asarray(outputs, dtype=float).reshape(len(outputs), -1)
        if _off_grid(values, channel.grid):
            return 0.0, "a value off the grid that releases are rounded to"
        return gaussian_fit(values - centre.reshape(-1), covariance, channel.grid)
    if isinstance(channel, RememberingSuppression):  # an emission of memory and state together
        pairs = channel.pairs(channel.encode(trace)[None])[0]
        channel = MemoryEmission(channel)
        trace = [channel.states[pair] for pair in pairs]
    if isinstance(channel, Emission):
        try:
            channel.outputs()
        except OutsideHypotheses as reason:
            raise NotHere(str(reason)) from None
        return smallest([_emission(channel, trace, outputs), exchangeability(outputs)])
    if isinstance(channel, WholeTrace):
        law = channel.tables(channel.encode(trace)[None])[0][0]
        codes = channel.cells(outputs)
        counts = np.bincount(codes, minlength=len(law))
        tests = [
            (binomial_fit(int(seen), len(outputs), chance), "an outcome")
            for seen, chance in zip(counts, law, strict=True)
        ]
        return smallest([smallest(tests), exchangeability([(code,) for code in codes.tolist()])])
    raise NotHere(f"no test of fit is known for {type(channel).__name__} channels")


def _off_grid(values: NDArray[np.float64], grid: float) -> bool:
    """Whether a released value shows more digits than the channel says."""
    if grid == 0:
        return False
    steps = values / grid  # a power of two: exact
    fine = np.abs(steps) < 2.0**52
    return bool((steps[fine] != np.round(steps[fine])).any())


def gaussian_fit(
    noise: NDArray[np.float64], covariance: NDArray[np.float64], grid: float
) -> Finding:
    """Test N draws against N(0, covariance).

    In whitened coordinates w every unit vector u gives Σ (uᵀw)² ~ χ²(N), exactly; taken for the
    axes and for all (e_i ± e_j)/√2 these see every entry of the covariance. Means are normal,
    draws at several distances are tested for dependence by (w_i ± w_j)/√2, and the shape by the
    Dvoretzky-Kiefer-Wolfowitz inequality.
    """
    values, vectors = np.linalg.eigh(covariance)
    large = values > max(NEGLIGIBLE * values[-1], 1e3 * grid**2)
    flat = noise @ vectors[:, ~large]
    room = 40.0 * np.sqrt(np.maximum(values[~large], 0.0)) + 64.0 * grid * noise.shape[1]
    room = room + np.sqrt(NEGLIGIBLE * max(values[-1], 0.0))
    if flat.size and (np.abs(flat) > room).any():
        return 0.0, "noise where the channel claims none"
    white = (noise @ vectors[:, large]) / np.sqrt(values[large])
    if not white.size:
        return 1.0, "nothing"
    families = (_moments(white), _dependence(white), [_shape(white)], _tails(white))
    return smallest([smallest(family) for family in families if family])


def _moments(white: NDArray[np.float64]) -> list[Finding]:
    from scipy.stats import norm

    count, rank = white.shape
    found = [
        (float(2 * norm.sf(abs(mean) * np.sqrt(count))), "the mean") for mean in white.mean(axis=0)
    ]
    axes = np.eye(rank)
    pairs = [(a + s * b) / np.sqrt(2.0) for a, b in combinations(axes, 2) for s in (1.0, -1.0)]
    squares = np.square(white @ np.array([*axes, *pairs]).T).sum(axis=0)
    return found + [(_chi_square(square, count), "the covariance") for square in squares]


def _dependence(white: NDArray[np.float64]) -> list[Finding]:
    """Test (x ± y)/√2 over pairs of draws: χ², exactly, where the draws are independent."""
    found = []
    for first, second in pairings(len(white)):
        for mixed in (white[first] + white[second], white[first] - white[second]):
            square = float(np.square(mixed).sum()) / 2.0
            found.append((_chi_square(square, mixed.size), "independence of calls"))
    return found


def _shape(white: NDArray[np.float64]) -> Finding:
    from scipy.stats import norm

    sample = np.sort(white.reshape(-1))
    expected = norm.cdf(sample)
    steps = np.arange(sample.size + 1) / sample.size
    distance = max(float((steps[1:] - expected).max()), float((expected - steps[:-1]).max()))
    return min(1.0, 2.0 * float(np.exp(-2.0 * sample.size * distance**2))), "the normal shape"


TAILS = (2.0, 2.5, 3.0, 3.5, 4.0)
"""Deviations beyond which draws are counted: noise that is cut off there is not Gaussian."""


def _tails(white: NDArray[np.float64]) -> list[Finding]:
    """Test how many numbers lie beyond so many deviations; whitened, they are independent."""
    from scipy.stats import norm

    sizes = np.abs(white).reshape(-1)
    return [
        (
            binomial_fit(int((sizes > cut).sum()), sizes.size, 2 * norm.sf(cut)),
            f"the share beyond {cut:g} deviations",
        )
        for cut in TAILS
    ]


def _chi_square(square: float, degrees: int) -> float:
    from scipy.special import chdtr, chdtrc

    return float(min(1.0, 2.0 * min(chdtrc(degrees, square), chdtr(degrees, square))))


def _emission(channel: Emission, trace: Sequence[Hashable], outputs: Sequence[Any]) -> Finding:
    """Test each symbol's frequency given the state and what was seen before.

    Given the earlier symbols, counts are binomial; within one time the level is divided by the
    number of (memory, symbol) pairs, which those earlier symbols fix.
    """
    alphabets = channel.outputs()
    positions = [channel.states.index(state) for state in trace]
    memories: list[Hashable] = [()] * len(outputs)
    found: list[Finding] = []
    for time, (position, alphabet) in enumerate(zip(positions, alphabets, strict=True)):
        counts: dict[Hashable, Counter[Any]] = defaultdict(Counter)
        for memory, output in zip(memories, outputs, strict=True):
            counts[memory][output[time]] += 1
        tests = [
            (binomial_fit(seen[symbol], sum(seen.values()), chance), f"the symbol at time {time}")
            for memory, seen in counts.items()
            for symbol, chance in zip(
                alphabet, np.exp(channel.next_evidence(memory, time)[:, position]), strict=True
            )
        ]
        found += [(min(1.0, p * len(tests)), what) for p, what in tests]
        strange = [s for seen in counts.values() for s in seen if s not in alphabet]
        if strange:
            return 0.0, f"the symbol {strange[0]!r}, which is not in the alphabet,"
        memories = [
            channel.remember(memory, time, output[time])
            for memory, output in zip(memories, outputs, strict=True)
        ]
    p_value, what = min(found)
    return min(1.0, p_value * len(alphabets)), what


def binomial_fit(seen: int, total: int, chance: float) -> float:
    """Return twice the smaller tail of a count, at most one: a two-sided p-value.

    Both tails are incomplete beta functions, which do not overflow where a chance is tiny.

    >>> from sfumato.laws.goodness_of_fit import binomial_fit
    >>> binomial_fit(5, 10, 0.5)
    1.0
    >>> binomial_fit(0, 4000, 1e-300), binomial_fit(1, 4000, 0.0)
    (1.0, 0.0)
    """
    from scipy.special import betainc

    p = min(max(float(chance), 0.0), 1.0)
    at_least = 1.0 if seen == 0 else float(betainc(seen, total - seen + 1, p))
    at_most = 1.0 if seen == total else float(betainc(total - seen, seen + 1, 1.0 - p))
    return min(1.0, 2.0 * min(at_least, at_most))


def smallest(found: list[Finding]) -> Finding:
    """Return the smallest p-value, multiplied by their number: Bonferroni's correction."""
    p_value, what = min(found)
    return min(1.0, p_value * len(found)), what
