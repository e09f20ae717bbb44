"""Losses against a swept parameter: a line for each series, its name at its end."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import attrs

from sfumato.report.style import (
    MARKERS,
    MechanismColours,
    draw_nothing,
    finite_values,
    readable,
    set_logarithmic,
    use_logarithm,
)
from sfumato.report.sweeps import KINDS, SweepAxis
from sfumato.report.words import noun_names, short_names

LINES = ("-", "--", ":", "-.")

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sfumato.comparison.cells import Cell
    from sfumato.protocols import Reading
    from sfumato.report.figures import Panel

    Point = tuple[float, Reading]


@attrs.frozen
class Series:
    """The cells of one line, with its name and its stroke.

    The stroke tells priors, secrets and measures apart, as the colour does mechanisms.
    A level is one cell without a value of the swept parameter: the same all along the axis.
    """

    name: str
    stroke: str
    cells: tuple[Cell, ...]
    is_level: bool = False


def series_of(cells: Sequence[Cell], axis: SweepAxis) -> list[Series]:
    """Group the cells by what they say beside the swept parameter, those without it by all."""
    full = {kind: noun_names(cells, kind) for kind in KINDS}
    rest = {**full, axis.kind: noun_names(cells, axis.kind, axis.parameter)}
    levels = [axis.value(cell) is None for cell in cells]
    words = [
        tuple((full if level else rest)[kind].of(cell, kind) for kind in KINDS)
        for cell, level in zip(cells, levels, strict=True)
    ]
    varying = [len(set(column)) > 1 for column in zip(*words, strict=True)]
    groups: dict[tuple[bool, tuple[str, ...]], list[Cell]] = {}
    for cell, level, said in zip(cells, levels, words, strict=True):
        key = tuple(word if varies else "" for word, varies in zip(said, varying, strict=True))
        groups.setdefault((level, key), []).append(cell)
    names = short_names([key for _, key in groups])
    found: list[Series] = []
    strokes: dict[tuple[str, ...], str] = {}
    for name, ((level, key), members) in zip(names, groups.items(), strict=True):
        others = tuple(word for kind, word in zip(KINDS, key, strict=True) if kind != "mechanism")
        stroke = strokes.setdefault(others, LINES[len(strokes) % len(LINES)])
        found.append(Series(name or _called(members[0]), stroke, tuple(members), level))
    return found


def _called(cell: Cell) -> str:
    """Return the name of the only line: its mechanism's."""
    return cell.labels.get("mechanism", "") or str(getattr(cell.mechanism, "name", cell.mechanism))


LEVEL_WIDTH = 1.0
"""Of the line of a loss that the sweep does not touch."""


SMALLEST_STEP = 0.19
"""Between the names of two lines, in inches."""


def draw_sweep(axes: Axes, panel: Panel, colours: MechanismColours) -> None:
    """Draw the panel; an infinite value interrupts its line and stands at the edge.

    A loss without a value of the swept parameter is a thin line from side to side, dashed where
    it would hide another.
    """
    if panel.axis is None:
        return
    axis = panel.axis
    values = finite_values(panel.cells)
    if not values:
        draw_nothing(axes)
        return
    use_logarithm(axes, "y", values)
    xs = [x for x in (axis.value(cell) for cell in panel.cells) if x is not None]
    if _is_logarithmic(xs):
        set_logarithmic(axes, "x", xs)
    ends = []
    levels: set[float] = set()
    for series in panel.drawn_series:
        points = _points(series, axis, (min(xs), max(xs)))
        colour = colours[series.cells[0]]
        hidden = series.is_level and _end(points) in levels
        _draw_line(axes, points, attrs.evolve(series, stroke="--") if hidden else series, colour)
        levels |= {_end(points)} if series.is_level else set()
        ends.append((series.name, readable(colour), _end(points)))
    axes.margins(x=0.03)
    axes.set_xlabel(f"{axis.parameter} of the {axis.kind}".replace("_", " "))
    axes.set_ylabel(panel.quantity.unit)
    _name_lines(axes, ends, SMALLEST_STEP / panel.height)


def _points(series: Series, axis: SweepAxis, sides: tuple[float, float]) -> list[Point]:
    """Return the readings along the axis; a level at both sides, or by its name if infinite."""
    found: list[Point] = []
    for cell in series.cells:
        x = axis.value(cell)
        level = sides if math.isfinite(cell.reading.value) else sides[1:]
        found += [(place, cell.reading) for place in (level if x is None else (x,))]
    return sorted(found, key=lambda point: point[0])


def _end(points: Sequence[Point]) -> float:
    """Return the last finite value, or an infinite one where all are."""
    values = [reading.value for _, reading in points]
    return next((value for value in reversed(values) if math.isfinite(value)), values[-1])


def _draw_line(axes: Axes, points: Sequence[Point], series: Series, colour: str) -> None:
    """Draw one line with markers for the directions."""
    finite = [(x, reading) for x, reading in points if math.isfinite(reading.value)]
    heights = [reading.value if math.isfinite(reading.value) else math.nan for _, reading in points]
    width = LEVEL_WIDTH if series.is_level else None
    axes.plot([x for x, _ in points], heights, series.stroke, color=colour, linewidth=width)
    for bound in sorted({reading.bound for _, reading in finite}):
        chosen = [(x, reading) for x, reading in finite if reading.bound == bound]
        axes.plot(
            [x for x, _ in chosen],
            [reading.value for _, reading in chosen],
            MARKERS[bound],
            color=colour,
            markerfacecolor=colour if bound == "exact" else "white",
        )
    for x, reading in points:
        if math.isinf(reading.value):
            _draw_infinity(axes, x, reading.value, colour)
        elif reading.bound == "estimate" and reading.interval is not None:
            _draw_interval(axes, x, reading.interval, colour)


def _draw_infinity(axes: Axes, x: float, value: float, colour: str) -> None:
    axes.annotate(
        "∞" if value > 0 else "−∞",
        (x, 1.0 if value > 0 else 0.0),
        xycoords=axes.get_xaxis_transform(),
        ha="center",
        va="top" if value > 0 else "bottom",
        color=readable(colour),
        weight="bold",
    )


def _draw_interval(axes: Axes, x: float, interval: tuple[float, float], colour: str) -> None:
    if all(math.isfinite(end) for end in interval):
        axes.plot([x, x], interval, color=colour, linewidth=1.0, alpha=0.6)


def _name_lines(axes: Axes, ends: Sequence[tuple[str, str, float]], step: float) -> None:
    """Write each line's name beside its end, pushed apart where ends meet."""
    low, high = axes.get_ylim()
    log = axes.get_yscale() == "log"

    def height(value: float) -> float:
        if math.isinf(value):
            return 1.0 if value > 0 else 0.0
        a, b, c = (math.log(v) if log else v for v in (low, high, value))
        return (c - a) / (b - a)

    ordered = sorted(ends, key=lambda item: item[2])
    places = _apart([height(value) for _, _, value in ordered], step)
    for (name, colour, _), place in zip(ordered, places, strict=True):
        axes.text(1.015, place, name, transform=axes.transAxes, va="center", color=colour)


def _apart(heights: Sequence[float], step: float) -> list[float]:
    """Return rising heights at least a step apart, none above the panel if they can fit.

    >>> _apart([0.2, 0.2, 0.9], 0.1), _apart([0.9, 1.0, 1.0], 0.25)
    ([0.2, 0.30000000000000004, 0.9], [0.5, 0.75, 1.0])
    """
    places: list[float] = []
    for height in heights:
        places.append(max(height, places[-1] + step) if places else height)
    ceiling = max(1.0, step * (len(places) - 1))
    for number in reversed(range(len(places))):
        places[number] = min(places[number], ceiling - step * (len(places) - 1 - number))
    return places


def _is_logarithmic(values: Sequence[float]) -> bool:
    """Whether positive values are spread more evenly in the logarithm."""
    ordered = sorted(set(values))
    if len(ordered) < 3 or ordered[0] <= 0 or ordered[-1] / ordered[0] < 10:
        return False
    even = (ordered[-1] - ordered[0]) / (len(ordered) - 1)
    steps = [math.log(b / a) for a, b in itertools.pairwise(ordered)]
    mean = math.log(ordered[-1] / ordered[0]) / len(steps)
    in_log = max(abs(step - mean) for step in steps) / mean
    linear = max(abs(b - a - even) for a, b in itertools.pairwise(ordered)) / even
    return in_log < linear
