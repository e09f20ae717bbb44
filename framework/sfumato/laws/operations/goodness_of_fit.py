"""Tests of a sampler against the law its channel claims; every level is exact or conservative."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.channels import AdditiveGaussian, Emission, NoisyVectors
from sfumato.errors import OutsideHypotheses
from sfumato.laws.operations.independence import exchangeability, pairings
from sfumato.laws.violation import NotHere

Finding = tuple[float, str]
"""A p-value, corrected for how many were computed, and what was tested."""

NEGLIGIBLE = 1e-12
"""Noise directions with less than this share of the largest variance are held to be flat."""


def worst_p_value(channel: Any, trace: Any, outputs: Sequence[Any]) -> Finding:
    """Return the smallest p-value, Bonferroni-corrected, of the outputs of one trace."""
    if isinstance(channel, (AdditiveGaussian, NoisyVectors)) and _off_grid(outputs, channel.grid):
        return 0.0, "a value off the grid that releases are rounded to"
    if isinstance(channel, AdditiveGaussian):
        noise = np.asarray(outputs, dtype=float) - np.asarray(trace, dtype=float)
        return gaussian_fit(noise.reshape(len(outputs), -1), channel.covariance(), channel.grid)
    if isinstance(channel, NoisyVectors):
        return _noisy_vectors(channel, trace, outputs)
    if isinstance(channel, Emission):
        try:
            channel.outputs()
        except OutsideHypotheses as reason:
            raise NotHere(str(reason)) from None
        return _smallest([_emission(channel, trace, outputs), exchangeability(outputs)])
    raise NotHere(f"no test of fit is known for {type(channel).__name__} channels")


def _off_grid(outputs: Sequence[Any], grid: float) -> bool:
    """Whether a released value shows more digits than the channel says."""
    if grid == 0:
        return False
    steps = np.asarray(outputs, dtype=float) / grid  # a power of two: exact
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
    return _smallest([*_moments(white), *_dependence(white), _shape(white)])


def _moments(white: NDArray[np.float64]) -> list[Finding]:
    from scipy.stats import norm

    count, rank = white.shape
    found = [
        (float(2 * norm.sf(abs(mean) * np.sqrt(count))), "the mean") for mean in white.mean(axis=0)
    ]
    directions = list(np.eye(rank))
    for i in range(rank):
        for j in range(i):
            for sign in (1.0, -1.0):
                direction = np.zeros(rank)
                direction[i], direction[j] = 1.0, sign
                directions.append(direction / np.sqrt(2.0))
    squares = np.square(white @ np.array(directions).T).sum(axis=0)
    return found + [(_chi_square(square, count), "the covariance") for square in squares]


def _dependence(white: NDArray[np.float64]) -> list[Finding]:
    """Test (x ± y)/√2 over pairs of draws: χ², exactly, where the draws are independent."""
    return [
        (_chi_square(float(np.square(mixed).sum()), mixed.size), "independence of calls")
        for first, second in pairings(len(white))
        for mixed in (
            (white[first] + white[second]) / np.sqrt(2.0),
            (white[first] - white[second]) / np.sqrt(2.0),
        )
    ]


def _shape(white: NDArray[np.float64]) -> Finding:
    from scipy.stats import norm

    sample = np.sort(white.reshape(-1))
    expected = norm.cdf(sample)
    steps = np.arange(sample.size + 1) / sample.size
    distance = max(float((steps[1:] - expected).max()), float((expected - steps[:-1]).max()))
    return min(1.0, 2.0 * float(np.exp(-2.0 * sample.size * distance**2))), "the normal shape"


def _chi_square(square: float, degrees: int) -> float:
    from scipy.special import chdtr, chdtrc

    return float(min(1.0, 2.0 * min(chdtrc(degrees, square), chdtr(degrees, square))))


def _noisy_vectors(channel: NoisyVectors, trace: Any, outputs: Sequence[Any]) -> Finding:
    positions = [channel.states.index(state) for state in trace]
    centres = channel.means[np.arange(channel.steps), positions]
    noise = np.asarray(outputs, dtype=float).reshape(len(outputs), *centres.shape) - centres
    flat = noise.reshape(len(outputs), -1)
    return gaussian_fit(flat, channel.scale**2 * np.eye(flat.shape[1]), channel.grid)


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
                alphabet,
                np.exp(channel.next_evidence(memory, time)[:, position]),
                strict=True,
            )
        ]
        found += [(min(1.0, p * len(tests)), what) for p, what in tests]
        strange = [
            symbol for seen in counts.values() for symbol in seen if symbol not in set(alphabet)
        ]
        if strange:
            return 0.0, f"the symbol {strange[0]!r}, which is not in the alphabet,"
        memories = [
            channel.remember(memory, time, output[time])
            for memory, output in zip(memories, outputs, strict=True)
        ]
    smallest = min(found)
    return min(1.0, smallest[0] * len(alphabets)), smallest[1]


def binomial_fit(seen: int, total: int, chance: float) -> float:
    """Return twice the smaller tail of a count, at most one: a two-sided p-value.

    Both tails are incomplete beta functions, which do not overflow where a chance is tiny.

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


def _smallest(found: list[Finding]) -> Finding:
    p_value, what = min(found)
    return min(1.0, p_value * len(found)), what
