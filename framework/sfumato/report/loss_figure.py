"""Losses as a picture: against what was swept, else scenario by scenario."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from sfumato.report.figure_style import WIDTH, mechanism_colours, styled
from sfumato.report.sweep_axes import SweepAxis, sweep_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from sfumato.comparison import Cell, Comparison
    from sfumato.protocols.quantity import Quantity

MOST_PANELS = 24
"""A page is not longer; a study with more has them in its table."""


@attrs.frozen
class Panel:
    """The cells of one quantity in one part."""

    heading: str
    quantity: Quantity
    cells: tuple[Cell, ...]
    axis: SweepAxis | None

    @property
    def height(self) -> float:
        """How tall it is, in inches."""
        if self.axis is not None:
            return 2.7
        scenarios = {(cell.prior, cell.secret, cell.mechanism) for cell in self.cells}
        return 0.9 + 0.27 * len(scenarios)


def loss_figure(comparisons: Sequence[Comparison]) -> Figure:
    """Return one figure with a panel for each quantity of each comparison."""
    panels = [panel for comparison in comparisons for panel in panels_of(comparison)]
    return panels_figure(panels[:MOST_PANELS], mechanism_colours(comparisons))


def panels_of(comparison: Comparison) -> list[Panel]:
    """Return a panel for each quantity, of all measures that count it."""
    found: dict[Any, list[Cell]] = {}
    swept = sweep_axes(comparison.measured)
    axis = swept[0] if swept else None
    for cell in comparison.measured:
        if cell.finding.quantity is not None:
            found.setdefault(_panel_key(cell.finding.quantity, axis), []).append(cell)
    panels = []
    for place, cells in enumerate(found.values()):
        quantity = cells[0].finding.quantity
        if quantity is not None:
            heading = comparison.title if place == 0 else ""
            panels.append(Panel(heading, quantity, tuple(cells), axis))
    return panels


def _panel_key(quantity: Quantity, axis: SweepAxis | None) -> Any:
    """Return what one panel holds: one quantity, or its family where its parameter is swept."""
    if axis is None or axis.kind != "measure":
        return quantity
    others = tuple(item for item in quantity.parameters if item[0] != axis.parameter)
    return quantity.name, quantity.unit, quantity.worse, others


def panels_figure(panels: Sequence[Panel], colours: dict[str, str]) -> Figure:
    """Draw panels one below the other."""
    from matplotlib.figure import Figure

    from sfumato.report.dot_panel import draw_dots
    from sfumato.report.sweep_panel import draw_sweep

    with styled():
        heights = [panel.height for panel in panels] or [1.0]
        figure = Figure(figsize=(WIDTH, sum(heights) + 0.2), layout="constrained")
        rows = figure.subplots(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0]
        if not panels:
            rows[0].set_axis_off()
            rows[0].text(0.5, 0.5, "nothing was measured", ha="center", transform=rows[0].transAxes)
        for axes, panel in zip(rows, panels, strict=False):
            draw = draw_dots if panel.axis is None else draw_sweep
            draw(axes, panel, colours)
            title = f"{panel.quantity.name}, {panel.quantity.worse} is worse"
            axes.set_title(f"{panel.heading}\n{title}" if panel.heading else title)
        _keep_style(figure)
    return figure


def _keep_style(figure: Figure) -> None:
    """Make saving use the style that drawing used; fonts and file options are read only then."""
    save = figure.savefig

    def savefig(*args: Any, **options: Any) -> None:
        with styled():
            save(*args, **options)

    figure.savefig = savefig  # type: ignore[method-assign]  # of this one figure


def finite_values(cells: Sequence[Cell]) -> list[float]:
    """Return the finite values among the cells' losses."""
    values = [cell.finding.reading.value for cell in cells if cell.finding.reading]
    return [value for value in values if math.isfinite(value)]


def set_scale(set_axis: Callable[[str], Any], values: Sequence[float]) -> None:
    """Use a logarithmic axis where positive values span more than a factor of thirty."""
    if values and min(values) > 0 and max(values) / min(values) > 30:
        set_axis("log")


def axis_label(quantity: Quantity) -> str:
    """Return the quantity's name with its unit."""
    return str(quantity)


def draw_nothing(axes: Axes) -> None:
    """Say that all values are infinite."""
    axes.text(0.5, 0.5, "all values are infinite", ha="center", transform=axes.transAxes)
