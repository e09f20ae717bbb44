"""Losses against a swept parameter: a line for each series, its name at its end."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sfumato.report.figure_style import MARKERS
from sfumato.report.loss_figure import draw_nothing, finite_values, set_logarithmic, use_logarithm
from sfumato.report.mechanism_colours import MechanismColours, readable
from sfumato.report.sweep_axes import SweepAxis
from sfumato.report.sweep_series import Series

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sfumato.protocols.loss import Reading
    from sfumato.report.loss_figure import Panel

SMALLEST_STEP = 0.19
"""Between the names of two lines, in inches."""


def draw_sweep(axes: Axes, panel: Panel, colours: MechanismColours) -> None:
    """Draw the panel; an infinite value interrupts its line and stands at the edge."""
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
    for series in panel.drawn_series:
        end = _draw_line(axes, series, axis, colours[series.cells[0]])
        if end is not None:
            ends.append((series.name or "loss", readable(colours[series.cells[0]]), end))
    axes.margins(x=0.03)
    axes.set_xlabel(f"{axis.parameter} of the {axis.kind}".replace("_", " "))
    axes.set_ylabel(panel.quantity.unit)
    _name_lines(axes, ends, SMALLEST_STEP / panel.height)


def _draw_line(
    axes: Axes, series: Series, axis: SweepAxis, colour: str
) -> tuple[float, float] | None:
    """Draw one line with markers for the directions; return its last finite point."""
    points: list[tuple[float, Reading]] = []
    for cell in series.cells:
        x = axis.value(cell)
        if x is not None:
            points.append((x, cell.reading))
    points.sort(key=lambda point: point[0])
    finite = [(x, reading) for x, reading in points if math.isfinite(reading.value)]
    heights = [reading.value if math.isfinite(reading.value) else math.nan for _, reading in points]
    axes.plot([x for x, _ in points], heights, series.stroke, color=colour)
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
    return (finite[-1][0], finite[-1][1].value) if finite else None


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


def _name_lines(
    axes: Axes, ends: Sequence[tuple[str, str, tuple[float, float]]], step: float
) -> None:
    """Write each line's name at its end, pushed apart where ends meet."""
    low, high = axes.get_ylim()
    log = axes.get_yscale() == "log"

    def height(value: float) -> float:
        a, b, c = (math.log(v) if log else v for v in (low, high, value))
        return (c - a) / (b - a)

    ordered = sorted(ends, key=lambda item: item[2][1])
    places = _apart([height(y) for _, _, (_, y) in ordered], step)
    for (name, colour, point), place in zip(ordered, places, strict=True):
        axes.annotate(
            name,
            point,
            xytext=(1.015, place),
            textcoords="axes fraction",
            va="center",
            color=colour,
            annotation_clip=False,
        )


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
