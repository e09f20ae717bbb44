"""The losses of a page as charts: lines along a sweep, else a row for each loss."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sfumato.comparison.cells import KINDS, Cell
from sfumato.comparison.findings import known_scenarios
from sfumato.comparison.sweeps import SweepAxis, is_geometric
from sfumato.report.charts import (
    INK,
    PLAIN,
    ROW,
    ChartedPart,
    Data,
    Figure,
    at_row,
    encode,
    finish,
    inline_data,
    row_height,
    row_words,
)
from sfumato.report.figures import MOST_ROWS, Panel
from sfumato.report.style import finite_values, is_wide
from sfumato.report.sweeps import MOST_LINES, STROKES
from sfumato.report.words import scenario_names

if TYPE_CHECKING:
    import altair as alt

NUMBER = 190
"""The room that a number with its interval takes, in pixels."""
DASHES = ([1, 0], [7, 4], [2, 3], [7, 3, 2, 3])
SHAPES = {
    "exact": "circle", "upper": "triangle-down", "lower": "triangle-up", "estimate": "diamond",
}  # fmt: skip


def loss_chart(charted: ChartedPart, panel: Panel) -> Figure:
    """Draw one quantity: lines along the sweep, else a row for each loss."""
    if panel.axis is not None and finite_values(panel.cells):
        return _lines(charted, panel, panel.axis)
    return _rows(charted, panel)


def _lines(charted: ChartedPart, panel: Panel, axis: SweepAxis) -> Figure:
    import altair as alt

    cells = [cell for series in panel.lines[:MOST_LINES] for cell in series.cells]
    xs = sorted({x for x in map(axis.value, cells) if x is not None})
    rows = [
        charted.datum(cell, x=place, line=series.name, stroke=series.beside, dash=series.stroke)
        for series in panel.lines[:MOST_LINES]
        for cell in series.cells
        for place in ([axis.value(cell)] if axis.value(cell) is not None else [xs[0], xs[-1]])
    ]
    title = axis.words
    kind: Any = {"type": "log"} if is_geometric(xs) else {"type": "linear", "zero": False}
    x = alt.X(
        "x:Q",
        title=title,
        axis=_axis(xs if is_geometric(xs) else ()),
        scale=alt.Scale(**kind, nice=False, padding=8),
    )
    values = finite_values(cells)
    y = alt.Y(
        "value:Q",
        title=panel.quantity.unit or None,
        scale=_scale(values, panel),
        axis=_axis(values),
    )
    base = alt.Chart(inline_data(rows)).encode(
        x=x, **encode(color=charted.colour(alt.Legend(orient="top", title=None, columns=2)))
    )
    strokes = {row["stroke"]: DASHES[STROKES.index(row["dash"])] for row in rows}
    dash = alt.StrokeDash(
        "stroke:N",
        scale=alt.Scale(domain=list(strokes), range=list(strokes.values())),
        legend=alt.Legend(orient="top", title=None, columns=1) if len(strokes) > 1 else None,
    )
    layers = [
        *_bars(base, rows, y="low:Q", y2="high:Q"),
        base.mark_line(strokeWidth=2).encode(y=y, strokeDash=dash, detail="line:N"),
        *_points(base, cells, y=y),
        *_infinities(base, cells, y=alt.value(7)),
    ]
    if axis == charted.axis:
        stops = [{"x": value, "at": place} for place, value in enumerate(charted.stops)]
        here = alt.Chart(inline_data(stops)).transform_filter("datum.at == at")
        layers.insert(0, here.mark_rule(strokeWidth=7, opacity=0.3, color="gray").encode(x="x:Q"))
    return Figure(panel.title, finish(alt.layer(*layers), panel.title, 250))


def _rows(charted: ChartedPart, panel: Panel) -> Figure:
    import altair as alt

    cells = panel.cells[:MOST_ROWS]
    named = zip(cells, scenario_names(cells, KINDS), strict=True)
    rows = [charted.datum(cell, name=name, **at_row(row)) for row, (cell, name) in enumerate(named)]
    values = finite_values(cells)
    x = alt.X(
        "value:Q",
        title=panel.quantity.unit or None,
        scale=_scale(values, panel),
        axis=_axis(values),
    )
    base = alt.Chart(inline_data(rows)).encode(**encode(color=charted.colour()))
    spans, middle = _spans(cells), row_height("middle", len(rows))
    layers = [
        *spans,
        *_bars(base, rows, x="low:Q", x2="high:Q", y=middle),
        *_points(base, cells, x=x, y=middle),
        *_infinities(base, cells, x=alt.value("width"), y=middle),
        row_words(base, len(rows), NUMBER),
        base.mark_text(align="right").encode(
            x=alt.value("width"), y=row_height("above", len(rows)), text="number:N", color=INK
        ),
    ]
    caption = panel.title
    if spans:
        caption += "; where several measures answer, the truth lies in the shaded span"
    return Figure(caption, finish(alt.layer(*layers), caption, ROW * len(rows)))


def _spans(cells: Sequence[Cell]) -> list[Any]:
    """Shade, behind the rows of one scenario, what all of its measures leave possible."""
    import altair as alt

    places = {id(cell.loss): place for place, cell in enumerate(cells)}
    spans = []
    for known in known_scenarios(cells):
        rows = [places[id(loss)] for loss in known.losses]
        low, high = known.span
        if len(rows) > 1 and math.isfinite(low) and math.isfinite(high):
            ends = {"low": min(low, high), "high": max(low, high)}
            spans += [{**ends, **at_row(row)} for row in rows]
    if not spans:
        return []
    shade = alt.Chart(inline_data(spans)).mark_rect(opacity=0.18, color="gray", stroke="gray")
    return [shade.encode(x="low:Q", x2="high:Q", y=row_height("row", len(cells)), y2="below:Q")]


def _scale(values: Sequence[float], panel: Panel) -> alt.Scale:
    """Return a logarithmic scale for what is wide, else one from zero, of probabilities to one."""
    import altair as alt

    if values and is_wide(min(values), max(values)):
        return alt.Scale(type="log")
    whole = panel.quantity.unit == "probability" and max(values, default=0.0) <= 1.0
    return alt.Scale(domain=[0, 1]) if whole else alt.Scale(type="linear", zero=True)


def _axis(values: Sequence[float]) -> alt.Axis:
    """Return an axis with few numbers: of a logarithmic one, the decades, or 1, 2, 5 of each."""
    import altair as alt

    if not values or not is_wide(min(values), max(values)):
        return alt.Axis(format=PLAIN)
    ends = (math.floor(math.log10(min(values))), math.ceil(math.log10(max(values))))
    digits = (1, 2, 5) if ends[1] - ends[0] <= 3 else (1,)
    marks = [digit * 10.0**power for power in range(ends[0], ends[1] + 1) for digit in digits]
    return alt.Axis(format=PLAIN, values=marks[:: max(1, len(marks) // 12)])


def _points(base: Any, cells: Sequence[Cell], **channels: Any) -> list[Any]:
    """Draw a marker for each loss, filled where exact, pointing to where the truth lies."""
    import altair as alt

    shape = alt.Shape(
        "bound:N", scale=alt.Scale(domain=list(SHAPES), range=list(SHAPES.values())), legend=None
    )
    layers = []
    for exact in {cell.loss.bound == "exact" for cell in cells if math.isfinite(cell.loss.value)}:
        own = f"isValid(datum.value) && {'' if exact else '!'}(datum.bound == 'exact')"
        marker = base.transform_filter(own).mark_point(size=60, strokeWidth=1.7, filled=exact)
        layers.append(marker.encode(shape=shape, **channels))
    return layers


def _infinities(base: Any, cells: Sequence[Cell], **channels: Any) -> list[Any]:
    """Write the sign where an infinite loss would be, if there is one."""
    import altair as alt

    if all(math.isfinite(cell.loss.value) for cell in cells):
        return []
    sign = base.transform_filter("datum.infinite").mark_text(fontSize=16, fontWeight="bold")
    return [sign.encode(text=alt.value("∞"), **channels)]


def _bars(base: Any, rows: Data, **channels: Any) -> list[Any]:
    """Draw the intervals of estimates and of bounds with two ends, where there are any."""
    if all(row["low"] is None or row["high"] is None for row in rows):
        return []
    return [base.mark_rule(strokeWidth=1.5).encode(**channels)]
