"""The sandwich: attack ≤ exact ≤ bounds, for each scenario that several measures answer for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import attrs

from sfumato.report.figure_style import (
    FAINT,
    WIDTH,
    draw_row,
    scenario_names,
    styled,
)
from sfumato.report.loss_figure import drawn_values, finite_values, use_logarithm
from sfumato.report.mechanism_colours import MechanismColours
from sfumato.report.noun_names import noun_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from sfumato.comparison import Cell, Comparison
    from sfumato.protocols.quantity import Quantity

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
