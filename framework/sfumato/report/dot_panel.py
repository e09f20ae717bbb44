"""Loss by loss: one row for each measure of each scenario."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.report.figure_style import draw_row, scenario_names
from sfumato.report.loss_figure import MOST_ROWS, drawn_values, finite_values, use_logarithm
from sfumato.report.mechanism_colours import MechanismColours
from sfumato.report.sweep_axes import KINDS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sfumato.report.loss_figure import Panel


def draw_dots(axes: Axes, panel: Panel, colours: MechanismColours) -> None:
    """Draw the panel; an infinite value stands at the right edge."""
    cells = panel.cells[:MOST_ROWS]
    names = scenario_names(cells, KINDS)
    values = finite_values(cells)
    use_logarithm(axes, "x", drawn_values(cells))
    edge = max(values, default=1.0) * 1.6 if values else 1.0
    for place, cell in enumerate(cells):
        draw_row(axes, place, cell.reading, colours[cell], edge)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.margins(x=0.14)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
