"""Losses as figures for papers: a panel for each quantity, of lines along a sweep or of rows."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import attrs

from sfumato.comparison.cells import KINDS, Cell, Comparison
from sfumato.comparison.names import group_by, noun_names
from sfumato.comparison.sweeps import SweepAxis, is_geometric, sweep_axes
from sfumato.protocols import Loss, Quantity
from sfumato.report.style import (
    MARKERS,
    WIDTH,
    MechanismColours,
    darken_to_read,
    figure_class,
    finite_values,
    is_wide,
    set_logarithmic,
    use_style,
)
from sfumato.report.tables import UNVERIFIED, loss_table, loss_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Point = tuple[float, Loss]

MOST_LINES = 24
"""Of one panel."""
STROKES = ("-", "--", ":", "-.")
LEVEL_WIDTH = 1.0
"""Of the line of a loss that the sweep does not touch."""
NAME_HEIGHT = 0.19
"""Of the name of a line, in inches."""
LONGEST = 46
"""Characters of a name beside a panel."""
BETWEEN = " · "
MOST_ROWS = 40
"""Of losses one below the other."""


# Names and lines ----------------------------------------------------------------------------------


def scenario_names(cells: Sequence[Cell], kinds: Sequence[str]) -> list[str]:
    """Return, for each cell, the names of the nouns in which the cells differ, cut to fit."""
    names = {kind: noun_names(cells, kind) for kind in kinds}
    varying = [kind for kind in kinds if len(names[kind].names) > 1]
    return short_names([tuple(names[kind].of(cell, kind) for kind in varying) for cell in cells])


def short_names(names: Sequence[tuple[str, ...]], longest: int = LONGEST) -> list[str]:
    """Join the words of each name, cutting the longest words until the names fit.

    >>> from sfumato.report.figures import short_names
    >>> short_names([("rbf length_scale=1", "x"), ("rbf length_scale=3", "x")], longest=15)
    ['rbf…scale=1 · x', 'rbf…scale=3 · x']
    """
    if not any(map(any, names)):  # nothing varies, so there is nothing to tell apart
        return [""] * len(names)
    columns = list(zip(*names, strict=True))
    widths = [max(map(len, words)) for words in columns]
    room = longest - len(BETWEEN) * (sum(width > 0 for width in widths) - 1)
    while sum(widths) > room and max(widths) > 6:
        widths[widths.index(max(widths))] -= 1
    cut = [_cut(words, width) for words, width in zip(columns, widths, strict=True)]
    return [BETWEEN.join(filter(None, words)) for words in zip(*cut, strict=True)]


def _cut(words: Sequence[str], width: int) -> list[str]:
    """Return the words at a width; cut ones that became equal are numbered."""
    known: dict[str, dict[str, int]] = {}
    cut = []
    for word in words:
        short = word if len(word) <= width else _elide(word, width)
        number = known.setdefault(short, {}).setdefault(word, len(known[short]) + 1)
        cut.append(short if number == 1 else f"{_elide(word, width - 2)}#{number}")
    return cut


def _elide(word: str, width: int) -> str:
    """Leave out the middle: names begin with what they are and end with what tells them apart."""
    beginning = width // 3
    return f"{word[:beginning].rstrip()}…{word[beginning + 1 - width :].lstrip()}"


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


# Panels -------------------------------------------------------------------------------------------


@attrs.frozen
class Panel:
    """The cells of one quantity in one part: lines along a sweep's axis, else a row for each."""

    quantity: Quantity
    cells: tuple[Cell, ...]
    axis: SweepAxis | None
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
    return panels


def _by_family(cells: Sequence[Cell], axis: SweepAxis | None) -> dict[Quantity, list[Cell]]:
    """Group by quantity, without the parameter of its own along which it is swept."""

    def family(cell: Cell) -> Quantity:
        quantity: Quantity = cell.loss.quantity
        if axis is None or axis.kind != "measure":
            return quantity
        others = tuple(item for item in quantity.parameters if item[0] != axis.parameter)
        return attrs.evolve(quantity, parameters=others)

    return group_by(cells, family)


def _heading(comparison: Comparison) -> str:
    """Return the title and what all scenarios share, in lines that fit."""
    shared = "; ".join(loss_table(comparison.measured).shared)
    return "\n".join([*textwrap.wrap(comparison.title, 78), *textwrap.wrap(shared, 86)])


def loss_figure(comparisons: Sequence[Comparison]) -> Figure:
    """Draw a panel for each quantity of each comparison, below each other under its heading."""
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    colours = MechanismColours.of_all(comparisons)
    with use_style():
        drawn = [(_heading(own), panels_of(own)) for own in comparisons if own.measured]
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
            ratios = [panel.height for panel in panels]
            rows = subfigure.subplots(len(panels), 1, squeeze=False, height_ratios=ratios)[:, 0]
            for axes, panel in zip(rows, panels, strict=True):
                _draw_panel(axes, panel, colours)
            in_rows = (cell for panel in panels if not panel.axis for cell in panel.cells)
            if any(cell.loss.unverified for cell in in_rows):
                words = f"{rows[-1].get_xlabel()}   {UNVERIFIED} unverified"
                rows[-1].set_xlabel(words.strip())
    return figure


def _draw_panel(axes: Axes, panel: Panel, colours: MechanismColours) -> None:
    """Draw lines along a sweep, else each loss in a row of its own."""
    axes.set_title(panel.title, wrap=True)
    if panel.axis is not None:
        axes.set_ylabel(panel.quantity.unit)
        draw_sweep(axes, panel, panel.axis, colours)
        return
    # Infinity stands at the edge of any axis; minus infinity has no place on a logarithmic one.
    cells = panel.cells[:MOST_ROWS]
    names = scenario_names(cells, KINDS)
    values = [cell.loss.value for cell in cells if cell.loss.value < math.inf]
    if values and is_wide(min(values), max(values)):
        set_logarithmic(axes, "x", values)
    edge = 1.6 * max(finite_values(cells), default=0.625)
    for place, cell in enumerate(cells):
        _draw_loss(axes, place, cell.loss, colours[cell], edge)
    _reach_round_ends(axes, "x", values, panel.quantity)
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


def _reach_round_ends(
    axes: Axes, which: Literal["x", "y"], values: Sequence[float], quantity: Quantity
) -> None:
    """Show zero, and of probabilities one, so that no linear axis makes much of little."""
    ends = [0.0, 1.0] if quantity.unit == "probability" and max(values, default=0) <= 1 else [0.0]
    limits = axes.dataLim
    if which == "x" and axes.get_xscale() == "linear":
        axes.update_datalim([(end, limits.y0) for end in ends])
    elif which == "y" and axes.get_yscale() == "linear":
        axes.update_datalim([(limits.x0, end) for end in ends])


# Lines along a sweep ------------------------------------------------------------------------------


def draw_sweep(axes: Axes, panel: Panel, axis: SweepAxis, colours: MechanismColours) -> None:
    """Draw the first lines; an infinite value interrupts its line and stands at the edge.

    A loss without a value of the swept parameter is a thin line from side to side, dashed where
    it would hide another. Each name stands at the end of its line.
    """
    cells = [cell for series in panel.lines for cell in series.cells]
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
    for series in panel.lines[:MOST_LINES]:
        points = series.points(axis, (min(xs), max(xs)))
        colour, end = colours[series.cells[0]], _last_finite(points)
        hidden = series.is_level and f"{end:.6g}" in levels
        _draw_line(axes, points, attrs.evolve(series, stroke="--") if hidden else series, colour)
        levels |= {f"{end:.6g}"} if series.is_level else set()
        ends.append((series.name, darken_to_read(colour), end))
    _reach_round_ends(axes, "y", values, panel.quantity)
    axes.margins(x=0.03)
    axes.set_xlabel(axis.words)
    _write_names(axes, ends, NAME_HEIGHT / panel.height)


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
    """Return rising heights at least a step apart, none above the panel if they can fit."""
    places: list[float] = []
    for height in heights:
        places.append(max(height, places[-1] + step) if places else height)
    last = len(places) - 1
    ceiling = max(1.0, step * last)
    return [min(place, ceiling - step * (last - number)) for number, place in enumerate(places)]
