"""Searching a box for a large value of a function: good at finding, unable to prove."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator

Point = tuple[float, ...]
Box = tuple[tuple[float, float], ...]

# In one dimension a fine grid is cheap, and resonances (a periodic prior whose period divides
# the sampling) are narrow; in more, the grid is coarser and the refinement does the work.
GRID = {1: 193, 2: 21, 3: 9}
COARSE = 5
REFINED = 6
WHOLE_NUMBERS = 64


def search_box(value_at: Callable[[Point], float], box: Box) -> Point:
    """Return the best point found: a grid, then coordinate-wise refinement of the best few."""
    axes = [axis_points(low, high, GRID.get(len(box), COARSE)) for low, high in box]
    ranked = sorted(itertools.product(*axes), key=value_at, reverse=True)
    if value_at(ranked[0]) == math.inf:
        return ranked[0]
    starts = list(itertools.islice(_spread_out(ranked, axes), REFINED))
    refined = [_refine(value_at, start, axes) for start in starts]
    return max([ranked[0], *refined], key=value_at)


def axis_points(low: float, high: float, count: int) -> list[float]:
    """Return grid points of an interval: evenly spaced, and the whole numbers if they are few."""
    even = {low + (high - low) * step / (count - 1) for step in range(count)}
    few = high - low <= WHOLE_NUMBERS
    whole = range(math.ceil(low), math.floor(high) + 1) if few else ()
    points = even | {float(number) for number in whole}
    return sorted({min(max(point, low), high) for point in points})


def _neighbours(point: float, axis: list[float]) -> tuple[float, float]:
    """Return the bracket of grid points around a point."""
    below = [other for other in axis if other < point]
    above = [other for other in axis if other > point]
    return (below[-1] if below else point), (above[0] if above else point)


def _spread_out(ranked: list[Point], axes: list[list[float]]) -> Iterator[Point]:
    """Yield the best points that are not grid neighbours of a better one."""
    positions = [{value: place for place, value in enumerate(axis)} for axis in axes]
    kept: list[Point] = []
    for point in ranked:
        near = any(
            all(
                abs(position[a] - position[b]) <= 1
                for position, a, b in zip(positions, point, other, strict=True)
            )
            for other in kept
        )
        if not near:
            kept.append(point)
            yield point


def _refine(value_at: Callable[[Point], float], start: Point, axes: list[list[float]]) -> Point:
    """Maximise along one coordinate after another inside the grid bracket of `start`."""
    from scipy.optimize import minimize_scalar

    best = start
    for _ in range(1 if len(axes) == 1 else 3):
        for place, axis in enumerate(axes):
            low, high = _neighbours(start[place], axis)

            def negative(value: float, place: int = place, best: Point = best) -> float:
                found = value_at((*best[:place], float(value), *best[place + 1 :]))
                return -found if math.isfinite(found) else -1e308

            result = minimize_scalar(
                negative, bounds=(low, high), method="bounded", options={"xatol": 1e-9}
            )
            candidate = (*best[:place], float(result.x), *best[place + 1 :])
            best = max(best, candidate, key=value_at)
    return best
