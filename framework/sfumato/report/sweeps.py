"""Losses drawn as lines along a parameter that is swept."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import attrs

from sfumato.comparison.cells import KINDS, Cell
from sfumato.comparison.names import group_by, noun_names
from sfumato.comparison.sweeps import SweepAxis, is_geometric
from sfumato.protocols import Loss
from sfumato.report.style import (
    MARKERS,
    MechanismColours,
    darken_to_read,
    finite_values,
    is_wide,
    set_logarithmic,
)
from sfumato.report.words import BETWEEN, short_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Point = tuple[float, Loss]

MOST_LINES = 24
"""Of one panel."""
STROKES = ("-", "--", ":", "-.")
LEVEL_WIDTH = 1.0
"""Of the line of a loss that the sweep does not touch."""
NAME_HEIGHT = 0.19
"""Of the name of a line, in inches."""


@attrs.frozen
class Series:
    """The cells of one line, with its name and its stroke.

    The stroke tells priors, secrets and measures apart (`beside` names them), the colour
    mechanisms.
    A level is one cell without a value of the swept parameter: the same all along the axis.
    """

    name: str
    stroke: str
    cells: tuple[Cell, ...]
    is_level: bool = False
    beside: str = ""

    def points(self, axis: SweepAxis, sides: tuple[float, float]) -> list[Point]:
        """Return the losses along the axis; a level at both sides, or by its name if infinite."""
        found: list[Point] = []
        for cell in self.cells:
            loss, x = cell.loss, axis.value(cell)
            level = sides if math.isfinite(loss.value) else sides[1:]
            found += [(place, loss) for place in (level if x is None else (x,))]
        return sorted(found, key=lambda point: point[0])


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
    keys = [
        (level, tuple(word * varies for word, varies in zip(said, varying, strict=True)))
        for level, said in zip(levels, words, strict=True)
    ]
    groups = group_by(zip(keys, cells, strict=True), lambda item: item[0])
    names = short_names([key for _, key in groups])
    found: list[Series] = []
    strokes: dict[tuple[str, ...], str] = {}
    for name, ((level, key), members) in zip(names, groups.items(), strict=True):
        others = tuple(word for kind, word in zip(KINDS, key, strict=True) if kind != "mechanism")
        stroke = strokes.setdefault(others, STROKES[len(strokes) % len(STROKES)])
        own = tuple(cell for _, cell in members)
        beside = BETWEEN.join(filter(None, others))
        found.append(Series(name or _mechanism_name(own[0]), stroke, own, level, beside))
    return found


def _mechanism_name(cell: Cell) -> str:
    return cell.labels.get("mechanism", "") or str(getattr(cell.mechanism, "name", cell.mechanism))


def draw_sweep(
    axes: Axes, lines: Sequence[Series], axis: SweepAxis, colours: MechanismColours, height: float
) -> None:
    """Draw the first lines; an infinite value interrupts its line and stands at the edge.

    A loss without a value of the swept parameter is a thin line from side to side, dashed where
    it would hide another. Each name stands at the end of its line; `height` is in inches.
    """
    cells = [cell for series in lines for cell in series.cells]
    values = finite_values(cells)
    if not values:
        axes.text(0.5, 0.5, "all values are infinite", ha="center", transform=axes.transAxes)
        return
    if is_wide(min(values), max(values)):
        set_logarithmic(axes, "y", values)
    xs = [x for x in map(axis.value, cells) if x is not None]
    if is_geometric(xs):
        set_logarithmic(axes, "x", xs)
    ends = []
    levels: set[str] = set()  # as they are told apart on paper
    for series in lines[:MOST_LINES]:
        points = series.points(axis, (min(xs), max(xs)))
        colour, end = colours[series.cells[0]], _last_finite(points)
        hidden = series.is_level and f"{end:.6g}" in levels
        _draw_line(axes, points, attrs.evolve(series, stroke="--") if hidden else series, colour)
        levels |= {f"{end:.6g}"} if series.is_level else set()
        ends.append((series.name, darken_to_read(colour), end))
    axes.margins(x=0.03)
    axes.set_xlabel(axis.words)
    _write_names(axes, ends, NAME_HEIGHT / height)


def _last_finite(points: Sequence[Point]) -> float:
    """Return the last finite value, or an infinite one where all are."""
    values = [loss.value for _, loss in points]
    return next((value for value in reversed(values) if math.isfinite(value)), values[-1])


def _draw_line(axes: Axes, points: Sequence[Point], series: Series, colour: str) -> None:
    """Draw one line with markers for the directions, bars for intervals and signs for infinity."""
    heights = [loss.value if math.isfinite(loss.value) else math.nan for _, loss in points]
    width = LEVEL_WIDTH if series.is_level else None
    axes.plot([x for x, _ in points], heights, series.stroke, color=colour, linewidth=width)
    finite = [(x, loss) for x, loss in points if math.isfinite(loss.value)]
    for bound, chosen in sorted(group_by(finite, lambda point: point[1].bound).items()):
        axes.plot(
            [x for x, _ in chosen],
            [loss.value for _, loss in chosen],
            MARKERS[bound][0],
            color=colour,
            markerfacecolor=colour if bound == "exact" else "white",
        )
    for x, loss in points:
        ends = loss.interval if loss.bound == "estimate" else None
        if math.isinf(loss.value):
            _draw_infinity(axes, x, loss.value, darken_to_read(colour))
        elif ends is not None and all(map(math.isfinite, ends)):
            axes.plot([x, x], ends, color=colour, linewidth=1.0, alpha=0.6)


def _draw_infinity(axes: Axes, x: float, value: float, colour: str) -> None:
    sign, y, va = ("∞", 1.0, "top") if value > 0 else ("−∞", 0.0, "bottom")
    place: Any = axes.get_xaxis_transform()
    axes.annotate(sign, (x, y), xycoords=place, ha="center", va=va, color=colour, weight="bold")


def _write_names(axes: Axes, ends: Sequence[tuple[str, str, float]], step: float) -> None:
    """Write each line's name, in its colour, beside its end, pushed apart where ends meet."""
    to_axes = axes.transData + axes.transAxes.inverted()

    def height(value: float) -> float:
        if math.isinf(value):
            return 1.0 if value > 0 else 0.0
        return float(to_axes.transform((axes.get_xlim()[0], value))[1])

    ordered = sorted(ends, key=lambda item: item[2])
    places = _push_apart([height(value) for _, _, value in ordered], step)
    for (name, colour, _), place in zip(ordered, places, strict=True):
        axes.text(1.015, place, name, transform=axes.transAxes, va="center", color=colour)


def _push_apart(heights: Sequence[float], step: float) -> list[float]:
    """Return rising heights at least a step apart, none above the panel if they can fit.

    >>> _push_apart([0.2, 0.2, 0.9], 0.1), _push_apart([0.9, 1.0, 1.0], 0.25)
    ([0.2, 0.30000000000000004, 0.9], [0.5, 0.75, 1.0])
    """
    places: list[float] = []
    for height in heights:
        places.append(max(height, places[-1] + step) if places else height)
    last = len(places) - 1
    ceiling = max(1.0, step * last)
    return [min(place, ceiling - step * (last - number)) for number, place in enumerate(places)]
