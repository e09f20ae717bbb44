"""The preprocessing of GeoLife behind the published distribution of length scales.

Meehan and Chaudhuri (2021), appendix 7.4, and the code they published with it.
The text says 4.5 to 5.5 minutes and "under 50 locations"; the code, followed here, says 240 to
320 seconds and at most 50.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from sfumato.datasets.real_trace import RealTrace

EARTH_RADIUS = 6.371e6
LONGEST = 320.0
SHORTEST = 240.0
MOST_POINTS = 50
FEWEST_TRACES = 10
MOST_TRACES = 50


def geolife_as_published(traces: Iterable[RealTrace]) -> list[RealTrace]:
    """Return the traces that the published length scales were fitted to, standardised.

    Each trace of (latitude, longitude) is mapped to metres; cut after 320 s; thinned to at most
    50 points; kept if its last point lies at least 240 s after its first fix; and scaled to mean
    zero and variance one in each coordinate (a coordinate that never changes drops the trace).
    Users with fewer than 10 such traces are dropped; of each other user the first 50 count, and of
    these the ones whose median time step is positive (the effective length scale divides by it).

    The thinning rule decides how many traces survive, by a factor of two: of N > 50 points it
    keeps the 50 numbered k, 2k, ..., 50k (from 1) with k = ⌊N / 50⌋, so that the end of the trace
    is lost where 50 does not divide N.
    """
    by_user: dict[str, list[RealTrace]] = defaultdict(list)
    for trace in traces:
        short = five_minutes(trace)
        scaled = None if short is None else _standardised(short)
        if scaled is not None:
            by_user[trace.user].append(scaled)
    return [
        trace
        for kept_of_user in by_user.values()
        if len(kept_of_user) >= FEWEST_TRACES
        for trace in kept_of_user[:MOST_TRACES]
        if sampling_period(trace) > 0
    ]


def sampling_period(trace: RealTrace) -> float:
    """Return the median time step, by which an effective length scale is divided."""
    return float(np.median(np.diff(trace.times)))


def thinned(points: int, most: int = MOST_POINTS) -> NDArray[np.intp]:
    """Return which of `points` positions are kept: every k-th, k = ⌊points / most⌋, from k - 1 on.

    >>> thinned(7, most=3), thinned(3, most=3)
    (array([1, 3, 5]), array([0, 1, 2]))
    """
    if points <= most:
        return np.arange(points)
    return np.arange(1, most + 1) * (points // most) - 1


def metres(degrees: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (latitude, longitude) as the published code maps it: R cos φ (cos λ, sin λ)."""
    latitude, longitude = np.radians(degrees).T
    ring = EARTH_RADIUS * np.cos(latitude)
    return np.column_stack((ring * np.cos(longitude), ring * np.sin(longitude)))


def five_minutes(trace: RealTrace) -> RealTrace | None:
    """Return the trace in metres from its first fix, cut and thinned; None if it is too short."""
    inside = np.flatnonzero(trace.times - trace.times[0] <= LONGEST)
    chosen = inside[thinned(len(inside))]
    times = trace.times[chosen] - trace.times[0]
    if times[-1] < SHORTEST:
        return None
    places = metres(trace.values)
    return RealTrace(trace.user, times, places[chosen] - places[0], name=trace.name)


def _standardised(trace: RealTrace) -> RealTrace | None:
    """Return the trace with mean 0 and variance 1; None where a coordinate never changes."""
    centred = trace.values - trace.values.mean(axis=0)
    spread = centred.std(axis=0)
    if (spread == 0).any():
        return None
    return RealTrace(trace.user, trace.times, centred / spread, name=trace.name)
