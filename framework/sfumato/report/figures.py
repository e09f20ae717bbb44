"""Loss by loss: one row for each measure of each scenario."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import attrs

from sfumato.report.columns import loss_table
from sfumato.report.style import (
    FAINT,
    WIDTH,
    MechanismColours,
    draw_row,
    finite_values,
    scenario_names,
    styled,
    use_logarithm,
)
from sfumato.report.sweep_figures import Series, series_of
from sfumato.report.sweeps import KINDS, SweepAxis, sweep_axes
from sfumato.report.words import noun_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from sfumato.comparison.cells import Cell, Comparison
    from sfumato.protocols import Quantity


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
    from sfumato.report.sweep_figures import draw_sweep

    ratios = [panel.height for panel in panels]
    rows = subfigure.subplots(len(panels), 1, squeeze=False, height_ratios=ratios)[:, 0]
    for axes, panel in zip(rows, panels, strict=True):
        draw = draw_dots if panel.axis is None else draw_sweep
        draw(axes, panel, colours)
        axes.set_title(panel.title)


def drawn_values(cells: Sequence[Cell]) -> list[float]:
    """Return the values for which an axis must have a place; minus infinity has none in logarithm.

    Infinity stands at the edge of any axis.
    """
    return [cell.reading.value for cell in cells if cell.reading.value < math.inf]


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


MOST_SCENARIOS = 6
ORDER = {"lower": 0, "estimate": 1, "exact": 2, "upper": 3}


@attrs.frozen
class Sandwich:
    """What several measures say about one quantity of one scenario."""

    name: str
    cells: tuple[Cell, ...]

    @property
    def floor(self) -> float:
        """The largest floor: the truth is not below it."""
        return max(cell.reading.floor for cell in self.cells)

    @property
    def ceiling(self) -> float:
        """The smallest ceiling: the truth is not above it."""
        return min(cell.reading.ceiling for cell in self.cells)


def sandwiches(comparison: Comparison) -> dict[Quantity, list[Sandwich]]:
    """Return, by quantity, the scenarios for which two or more measures have an answer."""
    cells = comparison.measured
    groups: dict[Any, list[Cell]] = {}
    names = dict(
        zip(map(id, cells), scenario_names(cells, ("prior", "secret", "mechanism")), strict=True)
    )
    for cell in cells:
        key = (cell.quantity, cell.prior, cell.secret, cell.mechanism)
        groups.setdefault(key, []).append(cell)
    found: dict[Quantity, list[Sandwich]] = {}
    for (quantity, *_), members in groups.items():
        if len(members) > 1:
            ordered = sorted(members, key=_rank)
            found.setdefault(quantity, []).append(Sandwich(names[id(members[0])], tuple(ordered)))
    return found


def _rank(cell: Cell) -> tuple[int, float]:
    return ORDER[cell.reading.bound], cell.reading.value


def sandwich_figure(
    quantity: Quantity, found: Sequence[Sandwich], colours: MechanismColours
) -> Figure:
    """Draw up to six scenarios; the shaded span is where the truth must lie."""
    from matplotlib.figure import Figure

    shown = _spread(found)
    with styled():
        heights = [0.55 + 0.26 * len(one.cells) for one in shown]
        figure = Figure(figsize=(WIDTH, sum(heights) + 0.6), layout="constrained")
        rows = figure.subplots(len(shown), 1, squeeze=False, sharex=True, height_ratios=heights)[
            :, 0
        ]
        everything = [cell for one in shown for cell in one.cells]
        values = finite_values(everything)
        use_logarithm(rows[0], "x", drawn_values(everything))
        edge = max(values, default=1.0)
        for axes, one in zip(rows, shown, strict=True):
            _draw(axes, one, everything, edge, colours)
        rows[-1].set_xlabel(f"{quantity}, {quantity.worse} is worse")
    return figure


def _spread(found: Sequence[Sandwich]) -> list[Sandwich]:
    if len(found) <= MOST_SCENARIOS:
        return list(found)
    last = len(found) - 1
    return [found[round(place * last / (MOST_SCENARIOS - 1))] for place in range(MOST_SCENARIOS)]


def _draw(
    axes: Axes, one: Sandwich, everything: Sequence[Cell], edge: float, colours: MechanismColours
) -> None:
    names = noun_names(everything, "measure")
    labels = []
    low, high = one.floor, one.ceiling
    if math.isfinite(low) and math.isfinite(high):
        axes.axvspan(min(low, high), max(low, high), color=FAINT, zorder=0, linewidth=2)
    for place, cell in enumerate(one.cells):
        draw_row(axes, place, cell.reading, colours[cell], edge)
        labels.append(names.of(cell, "measure"))
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.margins(x=0.14)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
    axes.set_title(one.name)
