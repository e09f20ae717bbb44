"""Searching a box for a large value of a function: good at finding, unable to prove."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence

import attrs

from sfumato.protocols import Bound, Prior, PriorClass, Quantity, Reading

Point = tuple[float, ...]
Box = tuple[tuple[float, float], ...]

# In one dimension a fine grid is cheap, and resonances (a periodic prior whose period divides
# the sampling) are narrow; in more, the grid is coarser and the refinement does the work.
GRID = {1: 193, 2: 21, 3: 9}
COARSE = 5
REFINED = 6
WHOLE_NUMBERS = 64
# Each round of a zoom cuts a bracket into this many parts.
PARTS = 16
ROUNDS = 3


def search_box(value_at: Callable[[Point], float], box: Box) -> Point:
    """Return the best point found: a grid, then coordinate-wise refinement of the best few."""
    axes = [axis_points(low, high, GRID.get(len(box), COARSE)) for low, high in box]
    ranked = sorted(itertools.product(*axes), key=value_at, reverse=True)
    if value_at(ranked[0]) == math.inf:
        return ranked[0]
    starts = list(itertools.islice(_spread_out(ranked, axes), REFINED))
    refined = [_refine(value_at, start, axes) for start in starts]
    return max([ranked[0], *refined], key=value_at)


def search_line(
    values_at: Callable[[list[float]], Sequence[float]], low: float, high: float
) -> list[float]:
    """Return the few highest peaks of a function that looks at many points at once.

    The grid is that of `search_box`; round every peak of the grid the bracket is cut into parts,
    and again round the highest.

    >>> [round(x, 4) for x in search_line(lambda xs: [-abs(x - 1.2345) for x in xs], 0.0, 3.0)]
    [1.2345]
    """
    points = axis_points(low, high, GRID[1])
    values = list(values_at(points))
    last = len(points) - 1
    around = [(max(i - 1, 0), i, min(i + 1, last)) for i in range(len(points))]
    tops = [place for place in around if values[place[1]] >= max(values[i] for i in place)]
    tops = sorted(tops, key=lambda place: -values[place[1]])[:REFINED]
    brackets = [(points[i], points[top], points[j]) for i, top, j in tops]
    for _ in range(ROUNDS):
        cuts = [_cut(bracket) for bracket in brackets]
        found = iter(values_at([point for cut in cuts for point in cut]))
        brackets = [_highest(cut, [next(found) for _ in cut]) for cut in cuts]
    return [top for _, top, _ in brackets]


def _cut(bracket: tuple[float, float, float]) -> list[float]:
    low, top, high = bracket
    return sorted({top, high, *(low + (high - low) * part / PARTS for part in range(PARTS))})


def _highest(points: list[float], values: list[float]) -> tuple[float, float, float]:
    top = max(range(len(points)), key=values.__getitem__)
    return points[max(top - 1, 0)], points[top], points[min(top + 1, len(points) - 1)]


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


def over_class(
    prior: PriorClass, reading: Callable[[Prior], Reading], quantity: Quantity
) -> tuple[Reading, Prior]:
    """Return the worst reading over the class and the member that attains it.

    The worst of several bounds is a bound on the worst: the class's floor is the worst floor of
    its members and its ceiling the worst ceiling.
    A class that was only searched may hold something worse, so its reading is an estimate that
    is open on that side, never exact.
    """
    seen: dict[int, tuple[Prior, Reading]] = {}

    def badness(member: Prior) -> float:
        found = reading(member)
        seen[id(member)] = (member, found)
        return quantity.sign * found.value

    supremum = prior.supremum(badness)
    worst = seen[id(supremum.member)][1]
    if supremum.how == "single":
        return worst, supremum.member
    found = [item for _, item in seen.values()]
    pick = max if quantity.sign > 0 else min
    floor = pick(item.floor for item in found)
    ceiling = pick(item.ceiling for item in found)
    error = max(item.relative_error for item in found)
    how = f"{worst.how}; worst of {len(found)} members, {supremum.how}".lstrip("; ")
    if supremum.how == "searched":
        open_ended = (floor, math.inf) if quantity.sign > 0 else (-math.inf, ceiling)
        found_only = attrs.evolve(
            worst,
            bound="estimate",
            interval=open_ended,
            estimate_of="value",
            relative_error=error,
            how=how,
        )
        return found_only, supremum.member
    bound, interval = _direction(worst.value, floor, ceiling)
    of_class = attrs.evolve(
        worst,
        bound=bound,
        interval=interval,
        estimate_of="value",
        relative_error=error,
        how=how,
    )
    return of_class, supremum.member


def _direction(
    value: float, floor: float, ceiling: float
) -> tuple[Bound, tuple[float, float] | None]:
    """Return the strongest direction that (floor, ceiling) justifies for the value."""
    if floor == value == ceiling:
        return "exact", None
    if ceiling == value:
        return "upper", None
    if floor == value:
        return "lower", None
    return "estimate", (floor, ceiling)
