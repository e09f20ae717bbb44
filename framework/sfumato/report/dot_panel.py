"""Scenario by scenario: one row each, a marker for every measure of the quantity."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

from sfumato.report.figure_style import draw_reading, scenario_names
from sfumato.report.loss_columns import number
from sfumato.report.loss_figure import MOST_ROWS, finite_values, use_logarithm
from sfumato.report.mechanism_colours import MechanismColours

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sfumato.report.loss_figure import Panel


def draw_dots(axes: Axes, panel: Panel, colours: MechanismColours) -> None:
    """Draw the panel; an infinite value stands at the right edge."""
    shown = list(itertools.islice(panel.scenarios.values(), MOST_ROWS))
    cells = [cell for group in shown for cell in group]
    names = scenario_names(cells, ("prior", "secret", "mechanism"))
    rows = {name: place for place, name in enumerate(dict.fromkeys(names))}
    values = finite_values(cells)
    use_logarithm(axes, "x", values)
    edge = max(values, default=1.0) * 1.6 if values else 1.0
    written: set[str] = set()
    for cell, name in zip(cells, names, strict=True):
        reading = cell.reading
        colour = colours[cell]
        x = reading.value if math.isfinite(reading.value) else math.copysign(edge, reading.value)
        draw_reading(axes, x, rows[name], reading, colour)
        if name not in written:  # further measures of a scenario are told in the sandwich
            written.add(name)
            axes.annotate(
                number(reading), (x, rows[name]), xytext=(8, 0), textcoords="offset points",
                va="center", fontsize=8.5,
            )  # fmt: skip
    axes.set_yticks(list(rows.values()), list(rows))
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.margins(x=0.14)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
