"""Losses as figures for papers: a panel for each quantity."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import attrs

from sfumato.comparison.cells import KINDS, Cell, Comparison
from sfumato.comparison.names import group_by
from sfumato.comparison.sweeps import SweepAxis, sweep_axes
from sfumato.protocols import Loss, Quantity
from sfumato.report.columns import UNVERIFIED, loss_table, loss_text
from sfumato.report.style import (
    MARKERS,
    WIDTH,
    MechanismColours,
    figure_class,
    finite_values,
    is_wide,
    set_logarithmic,
    use_style,
)
from sfumato.report.sweeps import (
    MOST_LINES,
    NAME_HEIGHT,
    Series,
    draw_sweep,
    series_of,
)
from sfumato.report.words import scenario_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PANELS = 12
"""Of one part; the last says how many more quantities are in its table."""
MOST_ROWS = 40
"""Of losses one below the other."""


@attrs.frozen
class Panel:
    """The cells of one quantity in one part: lines along a sweep's axis, else a row for each.

    `left_out` is how many further panels of its part are not drawn.
    """

    quantity: Quantity
    cells: tuple[Cell, ...]
    axis: SweepAxis | None
    left_out: int = 0
    lines: Sequence[Series] = attrs.field(init=False)

    @lines.default
    def _lines(self) -> Sequence[Series]:
        return series_of(self.cells, self.axis) if self.axis is not None else ()

    @property
    def height(self) -> float:
        """How tall it is, in inches."""
        if self.axis is None:
            return 0.9 + 0.27 * min(len(self.cells), MOST_ROWS)
        return max(2.7, 0.9 + NAME_HEIGHT * min(len(self.lines), MOST_LINES))

    @property
    def title(self) -> str:
        """The quantity, which way is worse, and how much of it is drawn."""
        drawn = self.lines or self.cells
        what, most = ("lines", MOST_LINES) if self.lines else ("losses", MOST_ROWS)
        title = f"{self.quantity}, {self.quantity.worse} is worse"
        if len(drawn) > most:
            title += f" (the first {most} of {len(drawn)} {what})"
        if self.left_out:
            title += f" ({self.left_out} more quantities are in the table only)"
        return title


def panels_of(comparison: Comparison) -> list[Panel]:
    """Return a panel for each quantity, of all measures that count it.

    All panels have the longest sweep for their axis where they can, else their own longest.
    """
    longest = next(iter(sweep_axes(comparison.measured)), None)
    panels = []
    for family, cells in _by_family(comparison.measured, longest).items():
        if longest is None or longest in sweep_axes(cells):
            panels.append(Panel(family, tuple(cells), longest))
            continue
        # The family is not swept here, and quantities are never mixed.
        for quantity, some in _by_family(cells, None).items():
            panels.append(Panel(quantity, tuple(some), next(iter(sweep_axes(some)), None)))
    drawn = panels[:MOST_PANELS]
    if len(panels) > MOST_PANELS:
        drawn[-1] = attrs.evolve(drawn[-1], left_out=len(panels) - MOST_PANELS)
    return drawn


def _by_family(cells: Sequence[Cell], axis: SweepAxis | None) -> dict[Quantity, list[Cell]]:
    """Group by quantity, without the parameter of its own along which it is swept."""

    def family(cell: Cell) -> Quantity:
        quantity: Quantity = cell.loss.quantity
        if axis is None or axis.kind != "measure":
            return quantity
        others = tuple(item for item in quantity.parameters if item[0] != axis.parameter)
        return attrs.evolve(quantity, parameters=others)

    return group_by(cells, family)


def loss_figure(comparisons: Sequence[Comparison]) -> Figure:
    """Return one figure with a panel for each quantity of each comparison."""
    parts = [(_heading(comparison), panels_of(comparison)) for comparison in comparisons]
    return panels_figure(parts, MechanismColours.of_all(comparisons))


def _heading(comparison: Comparison) -> str:
    """Return the title and what all scenarios share, in lines that fit."""
    lines = textwrap.wrap(comparison.title, 78)
    if comparison.measured:
        lines += textwrap.wrap("; ".join(loss_table(comparison.measured).shared), 86)
    return "\n".join(lines)


def panels_figure(
    parts: Sequence[tuple[str, Sequence[Panel]]], colours: MechanismColours
) -> Figure:
    """Draw the panels of each part, one below the other, under the part's heading."""
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    with use_style():
        drawn = [(heading, panels) for heading, panels in parts if panels]
        heights = [
            0.2 * len(heading.splitlines()) + 0.15 + sum(panel.height for panel in panels)
            for heading, panels in drawn
        ]
        size = (WIDTH, sum(heights) or 1.0)
        figure = figure_class()(figsize=size, layout=ConstrainedLayoutEngine(h_pad=0.09))
        if not drawn:
            figure.text(0.5, 0.5, "nothing was measured", ha="center")
            return figure
        subfigures = figure.subfigures(len(drawn), 1, squeeze=False, height_ratios=heights)[:, 0]
        for subfigure, (heading, panels) in zip(subfigures, drawn, strict=True):
            if heading:
                subfigure.suptitle(heading, x=0.01, ha="left", fontsize=10, weight="bold")
            rows = _rows(subfigure, panels)
            for axes, panel in zip(rows, panels, strict=True):
                _draw_panel(axes, panel, colours)
            _explain_marks(rows[-1], [c for panel in panels if not panel.axis for c in panel.cells])
    return figure


def _explain_marks(axes: Axes, cells: Sequence[Cell]) -> None:
    """Write below the last axes what the mark of unverified values means, where there are any."""
    if any(cell.loss.unverified for cell in cells):
        axes.set_xlabel(f"{axes.get_xlabel()}   {UNVERIFIED} unverified".strip())


def _rows(figure: Any, panels: Sequence[Any], **options: Any) -> list[Axes]:
    heights = [panel.height for panel in panels]
    grid = figure.subplots(len(panels), 1, squeeze=False, height_ratios=heights, **options)
    return list(grid[:, 0])


def _draw_panel(axes: Axes, panel: Panel, colours: MechanismColours) -> None:
    axes.set_title(panel.title)
    if panel.axis is not None:
        axes.set_ylabel(panel.quantity.unit)
        draw_sweep(axes, panel.lines, panel.axis, colours, panel.height)
        return
    cells = panel.cells[:MOST_ROWS]
    _draw_rows(axes, cells, scenario_names(cells, KINDS), cells, colours)


def _draw_rows(
    axes: Axes,
    cells: Sequence[Cell],
    names: Sequence[str],
    beside: Sequence[Cell],
    colours: MechanismColours,
) -> None:
    """Draw each loss in a row of its own, on an axis on which all losses `beside` have a place.

    Infinity stands at the edge of any axis; minus infinity has no place on a logarithmic one.
    """
    values = [cell.loss.value for cell in beside if cell.loss.value < math.inf]
    if values and is_wide(min(values), max(values)):
        set_logarithmic(axes, "x", values)
    edge = 1.6 * max(finite_values(beside), default=0.625)
    for place, cell in enumerate(cells):
        _draw_loss(axes, place, cell.loss, colours[cell], edge)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.margins(x=0.14)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")


def _draw_loss(axes: Axes, y: float, loss: Loss, colour: str, edge: float) -> None:
    """Draw a marker, filled where exact, a bar for an interval, and the number beside them."""
    ends = (loss.interval if loss.bound == "estimate" else None) or ()
    x, *span = (
        value if math.isfinite(value) else math.copysign(edge, value)
        for value in (loss.value, *ends)
    )
    if span:
        axes.plot(span, [y, y], color=colour, linewidth=1.2)
    axes.plot(
        [x], [y], MARKERS[loss.bound][1], color=colour, markersize=6, markeredgewidth=1.5,
        markerfacecolor=colour if loss.bound == "exact" else "white", clip_on=False, zorder=4,
    )  # fmt: skip
    axes.annotate(
        loss_text(loss), (max([x, *span]), y), xytext=(8, 0), textcoords="offset points",
        va="center", fontsize=8.5,
    )  # fmt: skip
