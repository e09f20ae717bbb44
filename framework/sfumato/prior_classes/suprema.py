"""Searching a box for a large value of a function: good at finding, unable to prove."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator

import attrs

from sfumato.protocols import Bound, Prior, PriorClass, Quantity, Reading
from sfumato.quantities import count_text

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
    bound: Bound
    interval: tuple[float, float] | None
    how = f"{worst.how}; worst of {count_text(len(found), 'member')}, {supremum.how}".lstrip("; ")
    if supremum.how == "searched":
        value, bound = worst.value, "estimate"
        interval = (floor, math.inf) if quantity.sign > 0 else (-math.inf, ceiling)
    else:
        room = abs(worst.value) * error if math.isfinite(worst.value) else 0.0
        bound, interval = _direction(worst.value, floor, ceiling, room)
        if bound == worst.bound == "upper" and worst.interval is not None:
            interval = (floor, ceiling)
        value = ceiling if bound == "upper" else floor if bound == "lower" else worst.value
    of_class = attrs.evolve(
        worst,
        value=value,
        bound=bound,
        interval=interval,
        estimate_of="value",
        relative_error=error,
        how=how,
    )
    return of_class, supremum.member


def _direction(
    value: float, floor: float, ceiling: float, room: float
) -> tuple[Bound, tuple[float, float] | None]:
    """Return the strongest direction that (floor, ceiling) justifies for the value, to `room`."""
    known = value - room <= floor, ceiling <= value + room
    if all(known):
        return "exact", None
    if known[1]:
        return "upper", None
    if known[0]:
        return "lower", None
    return "estimate", (floor, ceiling)
