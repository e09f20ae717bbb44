"""Losses as a picture: against what was swept, else scenario by scenario."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import attrs

from sfumato.report.figure_style import WIDTH, styled
from sfumato.report.loss_columns import loss_table
from sfumato.report.mechanism_colours import MechanismColours
from sfumato.report.sweep_axes import SweepAxis, sweep_axes
from sfumato.report.sweep_series import Series, series_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from sfumato.comparison import Cell, Comparison
    from sfumato.protocols.quantity import Quantity

MOST_PANELS = 12
"""Of one part; the last says how many more quantities are in its table."""

MOST_ROWS = 40
"""Of losses one below the other."""

MOST_LINES = 24
"""Of a sweep in one panel."""


@attrs.frozen
class Panel:
    """The cells of one quantity in one part."""

    quantity: Quantity
    cells: tuple[Cell, ...]
    axis: SweepAxis | None
    left_out: int = 0
    """How many further panels of its part are not drawn."""

    @property
    def height(self) -> float:
        """How tall it is, in inches."""
        if self.axis is None:
            return 0.9 + 0.27 * min(len(self.cells), MOST_ROWS)
        return max(2.7, 0.9 + 0.19 * len(self.drawn_series))

    @property
    def drawn_series(self) -> list[Series]:
        """The lines of a sweep, as many as can be told apart."""
        return series_of(self.cells, self.axis)[:MOST_LINES] if self.axis is not None else []

    @property
    def title(self) -> str:
        """The quantity, which way is worse, and how much of it is drawn."""
        some = ""
        if self.axis is None and len(self.cells) > MOST_ROWS:
            some = f" (the first {MOST_ROWS} of {len(self.cells)} losses)"
        if self.axis is not None:
            lines = len(series_of(self.cells, self.axis))
            some = f" (the first {MOST_LINES} of {lines} lines)" if lines > MOST_LINES else ""
        if self.left_out:
            some += f" ({self.left_out} more quantities are in the table only)"
        return f"{self.quantity}, {self.quantity.worse} is worse{some}"


def loss_figure(comparisons: Sequence[Comparison]) -> Figure:
    """Return one figure with a panel for each quantity of each comparison."""
    parts = [(_heading(comparison), panels_of(comparison)) for comparison in comparisons]
    return panels_figure(parts, MechanismColours.of_all(comparisons))


def _heading(comparison: Comparison) -> str:
    """Return the title and what all scenarios share, in lines that fit."""
    lines = textwrap.wrap(comparison.title, 78)
    if comparison.measured:
        shared = "; ".join(loss_table(comparison.measured).shared)
        lines += textwrap.wrap(shared, 86)
    return "\n".join(lines)


def panels_of(comparison: Comparison) -> list[Panel]:
    """Return a panel for each quantity, of all measures that count it.

    All panels have the longest sweep for their axis where they can, else their own longest.
    """
    swept = sweep_axes(comparison.measured)
    longest = swept[0] if swept else None
    panels = []
    for family, cells in _by_quantity(comparison.measured, longest).items():
        axis = _own_axis(cells, longest)
        if axis == longest:
            panels.append(Panel(family, tuple(cells), axis))
        else:  # no family is swept here, and quantities are never mixed
            panels += [
                Panel(quantity, tuple(some), _own_axis(some, None))
                for quantity, some in _by_quantity(cells, None).items()
            ]
    shown = panels[:MOST_PANELS]
    if len(panels) > MOST_PANELS:
        shown[-1] = attrs.evolve(shown[-1], left_out=len(panels) - MOST_PANELS)
    return shown


def _own_axis(cells: Sequence[Cell], preferred: SweepAxis | None) -> SweepAxis | None:
    """Return the preferred axis if these cells are swept along it, else their own, if any."""
    own = sweep_axes(cells)
    return preferred if preferred in own else next(iter(own), None)


def _by_quantity(cells: Sequence[Cell], axis: SweepAxis | None) -> dict[Quantity, list[Cell]]:
    """Group by quantity, or by its family, without the parameter, where the axis is its own."""
    found: dict[Quantity, list[Cell]] = {}
    for cell in cells:
        quantity = cell.quantity
        if axis is not None and axis.kind == "measure":
            others = tuple(item for item in quantity.parameters if item[0] != axis.parameter)
            quantity = attrs.evolve(quantity, parameters=others)
        found.setdefault(quantity, []).append(cell)
    return found


def panels_figure(
    parts: Sequence[tuple[str, Sequence[Panel]]], colours: MechanismColours
) -> Figure:
    """Draw the panels of each part, one below the other, under the part's heading."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    with styled():
        shown = [(heading, panels) for heading, panels in parts if panels]
        heights = [_part_height(heading, panels) for heading, panels in shown] or [1.0]
        figure = Figure(figsize=(WIDTH, sum(heights)), layout=ConstrainedLayoutEngine(h_pad=0.09))
        if not shown:
            figure.text(0.5, 0.5, "nothing was measured", ha="center")
            return figure
        subfigures = figure.subfigures(len(shown), 1, squeeze=False, height_ratios=heights)[:, 0]
        for subfigure, (heading, panels) in zip(subfigures, shown, strict=True):
            if heading:
                subfigure.suptitle(heading, x=0.01, ha="left", fontsize=10, weight="bold")
            _draw_part(subfigure, panels, colours)
    return figure


def _part_height(heading: str, panels: Sequence[Panel]) -> float:
    return 0.2 * len(heading.splitlines()) + 0.15 + sum(panel.height for panel in panels)


def _draw_part(subfigure: Any, panels: Sequence[Panel], colours: MechanismColours) -> None:
    from sfumato.report.dot_panel import draw_dots
    from sfumato.report.sweep_panel import draw_sweep

    ratios = [panel.height for panel in panels]
    rows = subfigure.subplots(len(panels), 1, squeeze=False, height_ratios=ratios)[:, 0]
    for axes, panel in zip(rows, panels, strict=True):
        draw = draw_dots if panel.axis is None else draw_sweep
        draw(axes, panel, colours)
        axes.set_title(panel.title)


def finite_values(cells: Sequence[Cell]) -> list[float]:
    """Return the finite values among the cells' losses."""
    return [cell.reading.value for cell in cells if math.isfinite(cell.reading.value)]


def drawn_values(cells: Sequence[Cell]) -> list[float]:
    """Return the values for which an axis must have a place; minus infinity has none in logarithm.

    Infinity stands at the edge of any axis.
    """
    return [cell.reading.value for cell in cells if cell.reading.value < math.inf]


def use_logarithm(axes: Axes, which: Literal["x", "y"], values: Sequence[float]) -> None:
    """Make an axis logarithmic where positive values span more than a factor of thirty."""
    if values and min(values) > 0 and max(values) / min(values) > 30:
        set_logarithmic(axes, which, values)


def set_logarithmic(
    axes: Axes, which: Literal["x", "y"], values: Sequence[float] | None = None
) -> None:
    """Make an axis logarithmic, with plain numbers: 100, not 10²."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.set(**{f"{which}scale": "log"})
    axis = axes.xaxis if which == "x" else axes.yaxis
    ends = list(axis.get_data_interval()) if values is None else values
    few_decades = max(ends) < 1000 * min(ends)
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if few_decades else (1.0,), numticks=8))
    axis.set_major_formatter(FuncFormatter(lambda value, _place: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def draw_nothing(axes: Axes) -> None:
    """Say that all values are infinite."""
    axes.text(0.5, 0.5, "all values are infinite", ha="center", transform=axes.transAxes)
