"""Losses against a swept parameter: a line for each series, its name at its end."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import attrs

from sfumato.report.figure_style import MARKERS, mechanism_family
from sfumato.report.loss_figure import draw_nothing, finite_values, set_logarithmic, use_logarithm
from sfumato.report.noun_names import noun_names
from sfumato.report.sweep_axes import KINDS, SweepAxis

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sfumato.comparison import Cell
    from sfumato.report.loss_figure import Panel

MOST_LABELS = 14
LINES = ("-", "--", ":", "-.")
LINE_HEIGHT = 0.075
"""Of a label, as a share of the panel's height."""


@attrs.frozen
class Series:
    """The cells that differ in the swept parameter only."""

    name: str
    style: str
    colour: str
    cells: tuple[Cell, ...]


def draw_sweep(axes: Axes, panel: Panel, colours: dict[str, str]) -> None:
    """Draw the panel; infinite values are left out of the line and counted below it."""
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
    found = _series(panel.cells, axis, colours)
    ends = [_draw_line(axes, one, axis) for one in found]
    axes.margins(x=0.03)
    axes.set_xlabel(f"{axis.parameter} of the {axis.kind}".replace("_", " "))
    axes.set_ylabel(panel.quantity.unit)
    if len(found) <= MOST_LABELS:
        _name_lines(axes, [(one, end) for one, end in zip(found, ends, strict=True) if end])


def _series(cells: Sequence[Cell], axis: SweepAxis, colours: dict[str, str]) -> list[Series]:
    names = {
        kind: noun_names(cells, kind, axis.parameter if kind == axis.kind else "") for kind in KINDS
    }
    varying = [kind for kind in KINDS if len(set(names[kind].names.values())) > 1]
    groups: dict[tuple[str, ...], list[Cell]] = {}
    for cell in cells:
        words = (names[kind].of(cell, kind) if kind in varying else "" for kind in KINDS)
        groups.setdefault(tuple(words), []).append(cell)
    found: list[Series] = []
    styles: dict[tuple[str, ...], str] = {}
    for key, members in groups.items():
        others = tuple(word for kind, word in zip(KINDS, key, strict=True) if kind != "mechanism")
        style = styles.setdefault(others, LINES[len(styles) % len(LINES)])
        name = " · ".join(word for word in key if word)
        found.append(Series(name, style, _colour(members, colours), tuple(members)))
    return found


def _colour(members: Sequence[Cell], colours: dict[str, str]) -> str:
    return colours[mechanism_family(members[0])]


def _draw_line(axes: Axes, series: Series, axis: SweepAxis) -> tuple[float, float] | None:
    """Draw one line with markers for the directions; return its end."""
    points = []
    for cell in series.cells:
        x, reading = axis.value(cell), cell.reading
        if x is not None and math.isfinite(reading.value):
            points.append((x, reading))
    points.sort(key=lambda point: point[0])
    if not points:
        return None
    axes.plot(
        [x for x, _ in points],
        [reading.value for _, reading in points],
        series.style,
        color=series.colour,
    )
    for bound in {reading.bound for _, reading in points}:
        chosen = [(x, reading) for x, reading in points if reading.bound == bound]
        axes.plot(
            [x for x, _ in chosen],
            [reading.value for _, reading in chosen],
            MARKERS[bound],
            color=series.colour,
            markerfacecolor=series.colour if bound == "exact" else "white",
        )
    for x, reading in points:
        if reading.bound == "estimate" and reading.interval is not None:
            _draw_interval(axes, x, reading.interval, series.colour)
    return points[-1][0], points[-1][1].value


def _draw_interval(axes: Axes, x: float, interval: tuple[float, float], colour: str) -> None:
    if all(math.isfinite(end) for end in interval):
        axes.plot([x, x], interval, color=colour, linewidth=1.0, alpha=0.6)


def _name_lines(axes: Axes, ends: Sequence[tuple[Series, tuple[float, float]]]) -> None:
    """Write each line's name at its end, pushed apart where ends meet."""
    low, high = axes.get_ylim()
    log = axes.get_yscale() == "log"

    def height(value: float) -> float:
        a, b, c = (math.log(v) if log else v for v in (low, high, value))
        return (c - a) / (b - a)

    placed = -math.inf
    for series, (x, y) in sorted(ends, key=lambda item: item[1][1]):
        placed = max(height(y), placed + LINE_HEIGHT)
        axes.annotate(
            series.name or "loss",
            (x, y),
            xytext=(1.015, placed),
            textcoords="axes fraction",
            va="center",
            color=series.colour,
            annotation_clip=False,
        )


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
