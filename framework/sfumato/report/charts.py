"""The charts of a page: losses as lines or rows, and risk maps, a band for each mechanism.

Every chart of a part has the parameters ``shown``, the mechanism that stands out ("" for none),
and ``at``, a place along the sweep; the page sets both in all of them. Rows carry their names
above them instead of beside them, so that a chart is as wide as its window, also on a phone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import altair as alt
import attrs

from sfumato.comparison.cells import FACTORS, KINDS, Cell, Comparison
from sfumato.comparison.findings import known_scenarios
from sfumato.comparison.names import NounNames, group_by, noun_names, value_text
from sfumato.comparison.risk_maps import RiskMap
from sfumato.comparison.sweeps import SweepAxis, is_geometric, sweep_axes
from sfumato.protocols import Prior, Quantity
from sfumato.quantities import round_outwards
from sfumato.report.figures import MOST_LINES, MOST_ROWS, STROKES, Panel, scenario_names
from sfumato.report.style import MechanismColours, finite_values, is_wide
from sfumato.report.tables import MEANINGS, loss_text

Data = list[dict[str, Any]]
Spec = dict[str, Any]
"""A chart as Vega-Lite; its description is its caption."""

FARTHEST = 1e4
"""The widest span of losses that colours tell apart, as a factor."""
NUMBER = 190
"""The room that a number with its interval takes, in pixels."""
DASHES = ([1, 0], [7, 4], [2, 3], [7, 3, 2, 3])
SHAPES = {
    "exact": "circle", "upper": "triangle-down", "lower": "triangle-up", "estimate": "diamond",
}  # fmt: skip

ROW = 36
"""The height of a row with its name, in pixels."""
PLAIN = ".6~g"
"""How numbers beside axes are written."""
INK = {"value": "currentColor"}
STANDS_OUT = "shown == '' || datum.mechanism == shown"
TOOLTIP = {
    "mechanism": "mechanism", "scenario": "scenario", "loss": "loss", "meaning": "which is",
    "how": "how", "worst": "worst belief", "witness": "witness",
}  # fmt: skip


def encode(**channels: Any) -> dict[str, Any]:
    """Return the channels; what does not stand out is pale, and the pointer is told the rest."""
    chosen = alt.condition(STANDS_OUT, alt.value(1.0), alt.value(0.12))
    told = [alt.Tooltip(f"{field}:N", title=title) for field, title in TOOLTIP.items()]
    return {"opacity": chosen, "tooltip": told, **channels}


def finish(chart: Any, caption: str, height: int) -> Spec:
    """Return the chart as wide as its window, in the colours of the page that it stands in."""
    autosize = alt.AutoSizeParams(type="fit-x", contains="padding")
    chart = chart.properties(
        width="container", height=height, description=caption, autosize=autosize
    )
    chart = chart.add_params(alt.param(name="shown", value=""), alt.param(name="at", value=0))
    ink, faint = "currentColor", "rgba(128,128,128,0.28)"
    spec: Spec = (
        chart.configure(background="transparent", font="inherit")
        .configure_axis(
            labelColor=ink, titleColor=ink, gridColor=faint, domainColor=faint, tickColor=faint,
            titleFontWeight="normal", titleFontSize=12, labelFontSize=11, labelOverlap=True,
            tickCount=6,
        )
        .configure_legend(labelColor=ink, titleColor=ink, titleFontWeight="normal", labelLimit=260)
        .configure_view(stroke=None)
        .configure_text(color=ink, fontSize=12)
        .to_dict()
    )  # fmt: skip
    return spec


@attrs.frozen
class ChartedPart:
    """What all charts of one part share: names, colours and the stops of the sweep."""

    part: Comparison
    hues: MechanismColours
    axis: SweepAxis | None
    names: Mapping[str, NounNames]
    keys: NounNames

    @classmethod
    def of(cls, part: Comparison, hues: MechanismColours) -> ChartedPart:
        """Name what the part has measured."""
        cells = part.measured
        axis = next(iter(sweep_axes(cells)), None)
        own = axis.parameter if axis and axis.kind == "mechanism" else ""
        names = {kind: noun_names(cells, kind) for kind in KINDS}
        return cls(part, hues, axis, names, noun_names(cells, "mechanism", own))

    def key(self, cell: Cell) -> str:
        """Return the name that links a cell's mechanism, without what is swept, never empty."""
        return str(self.keys.of(cell, "mechanism")) or str(cell.mechanism.name)

    @cached_property
    def colours(self) -> dict[str, str]:
        """The colour of each mechanism, by its key."""
        found: dict[str, str] = {}
        for cell in self.part.measured:
            found.setdefault(self.key(cell), self.hues[cell])
        return found

    @cached_property
    def stops(self) -> list[float]:
        """The places along the sweep."""
        values = (self.axis.value(cell) for cell in self.part.measured) if self.axis else ()
        return sorted({value for value in values if value is not None})

    def colour(self, legend: Any = None) -> Any:
        """Return the colour of each mechanism."""
        scale = alt.Scale(domain=list(self.colours), range=list(self.colours.values()))
        return alt.Color("mechanism:N", scale=scale, legend=legend)

    def datum(self, cell: Cell, **more: Any) -> dict[str, Any]:
        """Return one loss as charts and their tooltips need it; what is infinite has no value."""
        loss = cell.loss
        varying = [kind for kind in KINDS if self.names[kind].several and kind != "mechanism"]
        ends = loss.interval or (math.nan, math.nan)
        class_of_priors = loss.worst is not None and not isinstance(cell.prior, Prior)
        return {
            "mechanism": self.key(cell),
            "scenario": " · ".join(self.names[kind].of(cell, kind) for kind in varying),
            "value": finite_or_none(loss.value),
            "infinite": math.isinf(loss.value),
            "number": loss_text(loss),
            "loss": f"{loss_text(loss)} {loss.quantity.unit}".strip(),
            "bound": loss.bound,
            "meaning": MEANINGS.get(loss.bound, "exact").partition(" [")[0],
            "low": finite_or_none(ends[0]),
            "high": finite_or_none(ends[1]),
            "how": loss.how,
            "worst": value_text(loss.worst) if class_of_priors else "",
            "witness": str(loss.witness or "")[:120],
            **more,
        }  # fmt: skip

    def stop(self, cell: Cell | None) -> int | None:
        """Return the cell's place along the sweep; None where it is at all of them."""
        value = self.axis.value(cell) if self.axis and cell else None
        return None if value is None else self.stops.index(value)


def at_row(row: int) -> dict[str, float]:
    """Return the heights inside a row: its name, the top, middle and foot of what it shows."""
    heights = {"row": 0.0, "above": 0.26, "top": 0.46, "middle": 0.7, "foot": 0.95, "below": 1.0}
    return {name: row + height for name, height in heights.items()}


def row_height(height: str, rows: int) -> Any:
    """Return a height inside a row as a place, the first row on top."""
    return alt.Y(f"{height}:Q", axis=None, scale=alt.Scale(domain=[rows, 0], nice=False))


def row_words(base: Any, rows: int, room: int) -> Any:
    """Write each row's name above it, cut where there is no room for it beside `room` pixels."""
    limit = alt.ExprRef(f"width - {room}")
    return base.mark_text(align="left", limit=limit, fontSize=12).encode(
        x=alt.value(0), y=row_height("above", rows), text="name:N", color=INK
    )


def finite_or_none(value: float) -> float | None:
    """Return what a chart can place; JSON has no infinities."""
    return value if math.isfinite(value) else None


# Losses -------------------------------------------------------------------------------------------


def loss_chart(charted: ChartedPart, panel: Panel) -> Spec:
    """Draw one quantity: lines along the sweep, else a row for each loss."""
    if panel.axis is not None and finite_values(panel.cells):
        return _lines(charted, panel, panel.axis)
    return _rows(charted, panel)


def _lines(charted: ChartedPart, panel: Panel, axis: SweepAxis) -> Spec:
    cells = [cell for series in panel.lines[:MOST_LINES] for cell in series.cells]
    xs = sorted({x for x in map(axis.value, cells) if x is not None})
    rows = [
        charted.datum(cell, x=place, line=series.name, stroke=series.beside, dash=series.stroke)
        for series in panel.lines[:MOST_LINES]
        for cell in series.cells
        for place in ([axis.value(cell)] if axis.value(cell) is not None else [xs[0], xs[-1]])
    ]
    kind: Any = {"type": "log"} if is_geometric(xs) else {"type": "linear", "zero": False}
    x = alt.X(
        "x:Q",
        title=axis.words,
        axis=_axis(xs if is_geometric(xs) else ()),
        scale=alt.Scale(**kind, nice=False, padding=8),
    )
    y = alt.Y("value:Q", **_value_axis(cells, panel.quantity))
    base = alt.Chart(alt.InlineData(values=rows)).encode(
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
        here = alt.Chart(alt.InlineData(values=stops)).transform_filter("datum.at == at")
        layers.insert(0, here.mark_rule(strokeWidth=7, opacity=0.3, color="gray").encode(x="x:Q"))
    return finish(alt.layer(*layers), panel.title, 250)


def _rows(charted: ChartedPart, panel: Panel) -> Spec:
    cells = panel.cells[:MOST_ROWS]
    named = zip(cells, scenario_names(cells, KINDS), strict=True)
    rows = [charted.datum(cell, name=name, **at_row(row)) for row, (cell, name) in enumerate(named)]
    x = alt.X("value:Q", **_value_axis(cells, panel.quantity))
    base = alt.Chart(alt.InlineData(values=rows)).encode(**encode(color=charted.colour()))
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
    return finish(alt.layer(*layers), caption, ROW * len(rows))


def _spans(cells: Sequence[Cell]) -> list[Any]:
    """Shade, behind the rows of one scenario, what all of its measures leave possible."""
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
    shade = alt.Chart(alt.InlineData(values=spans)).mark_rect(
        opacity=0.18, color="gray", stroke="gray"
    )
    return [shade.encode(x="low:Q", x2="high:Q", y=row_height("row", len(cells)), y2="below:Q")]


def _value_axis(cells: Sequence[Cell], quantity: Quantity) -> dict[str, Any]:
    """Return a logarithmic axis for what is wide, else one from zero, of probabilities to one."""
    values = finite_values(cells)
    scale = alt.Scale(type="linear", zero=True)
    if values and is_wide(min(values), max(values)):
        scale = alt.Scale(type="log")
    elif quantity.unit == "probability" and max(values, default=0.0) <= 1.0:
        scale = alt.Scale(domain=[0, 1])
    return {"title": quantity.unit or None, "scale": scale, "axis": _axis(values)}


def _axis(values: Sequence[float]) -> alt.Axis:
    """Return an axis with few numbers: of a logarithmic one, the decades, or 1, 2, 5 of each."""
    if not values or not is_wide(min(values), max(values)):
        return alt.Axis(format=PLAIN)
    ends = (math.floor(math.log10(min(values))), math.ceil(math.log10(max(values))))
    digits = (1, 2, 5) if ends[1] - ends[0] <= 3 else (1,)
    marks = [digit * 10.0**power for power in range(ends[0], ends[1] + 1) for digit in digits]
    return alt.Axis(format=PLAIN, values=marks[:: max(1, len(marks) // 12)])


def _points(base: Any, cells: Sequence[Cell], **channels: Any) -> list[Any]:
    """Draw a marker for each loss, filled where exact, pointing to where the truth lies."""
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
    if all(math.isfinite(cell.loss.value) for cell in cells):
        return []
    sign = base.transform_filter("datum.infinite").mark_text(fontSize=16, fontWeight="bold")
    return [sign.encode(text=alt.value("∞"), **channels)]


def _bars(base: Any, rows: Data, **channels: Any) -> list[Any]:
    """Draw the intervals of estimates and of bounds with two ends, where there are any."""
    if all(row["low"] is None or row["high"] is None for row in rows):
        return []
    return [base.mark_rule(strokeWidth=1.5).encode(**channels)]


# Risk maps ---------------------------------------------------------------------------------------


def map_charts(
    charted: ChartedPart,
) -> Iterable[tuple[str, tuple[RiskMap, ...], Spec | None]]:
    """Yield a map for each prior and secret, those along the sweep as one that moves."""
    maps = charted.part.maps or ()
    places = {
        tuple(charted.names[kind].of(cell, kind) for kind in FACTORS): cell
        for cell in charted.part.measured
    }
    moving = bool(charted.axis and charted.axis.kind == "prior")
    groups = group_by(maps, lambda risk: ("" if moving else risk.prior, risk.secret))
    for (prior, secret), group in groups.items():
        shown = [risk for risk in group if risk.rows]
        heading = f"Secret: {secret}."
        heading = f"Prior: {prior}. {heading}" if prior else heading
        yield heading, tuple(group), _bands(charted, shown, places) if shown else None


def _bands(charted: ChartedPart, maps: Sequence[RiskMap], places: Mapping[Any, Cell]) -> Spec:
    drawn = (
        (risk, row, places[risk.prior, risk.secret, row.mechanism])
        for risk in maps
        for row in risk.rows
    )
    by_stop = group_by(drawn, lambda one: charted.stop(one[2]))
    deepest = max(map(len, by_stop.values()))
    rows: Data = []
    for stop, own in by_stop.items():
        for place, (risk, row, cell) in enumerate(own):
            several = len({other.asked for other in risk.rows}) > 1
            name = f"{row.mechanism} · {row.asked}" if several else row.mechanism
            told = {"mechanism": charted.key(cell), "name": name, "at": stop}
            rows += [
                {**told, **at_row(place), "time": time, "from": time - 0.5, "to": time + 0.5,
                 "value": finite_or_none(loss), "marked": time in risk.marked,
                 "loss": f"{round_outwards(loss, 'estimate')} {risk.quantity.unit}".strip()}
                for time, loss in row.losses.items()
            ]  # fmt: skip
    quantity = maps[0].quantity
    finite = [row["value"] for row in rows if row["value"] is not None]
    worst = max(finite, default=1.0) if quantity.worse == "larger" else min(finite, default=0.0)
    for datum in rows:
        datum["painted"] = worst if datum["value"] is None else datum["value"]
    here = alt.Chart(alt.InlineData(values=rows)).transform_filter(
        "datum.at == null || datum.at == at"
    )
    fields = [alt.Tooltip(f"{field}:N") for field in ("mechanism", "time", "loss")]
    times = maps[0].times
    x = alt.X(
        "from:Q", title="time", axis=alt.Axis(grid=False, tickMinStep=1),
        scale=alt.Scale(domain=[times[0] - 0.5, times[-1] + 0.5], nice=False),
    )  # fmt: skip
    scale = _colour_scale(finite, quantity)
    legend = alt.Legend(
        title=quantity.unit or quantity.name, orient="top", gradientLength=180, format=PLAIN,
        tickCount=4,
    )  # fmt: skip
    base = here.encode(**encode(tooltip=fields))
    layers = [
        base.mark_rect(strokeWidth=0).encode(
            x=x, x2="to:Q", y=row_height("top", deepest), y2="foot:Q",
            color=alt.Color("painted:Q", scale=scale, legend=legend),
        ),
        base.transform_filter("datum.value == null").mark_text(color="white").encode(
            x="time:Q", y=row_height("middle", deepest), text=alt.value("∞")
        ),
        base.transform_filter("datum.marked").mark_text(baseline="bottom", dy=3).encode(
            x="time:Q", y=row_height("top", deepest), text=alt.value("▾")
        ),
        row_words(base.transform_filter(f"datum.time == {times[0]}"), deepest, 0),
    ]  # fmt: skip
    return finish(alt.layer(*layers), f"{quantity.name} of each single time", ROW * deepest)


def _colour_scale(losses: Sequence[float], quantity: Quantity) -> alt.Scale:
    """Return the colours of a map: one for all that is far from the rest.

    Probabilities are never logarithmic.
    """
    low, high = (min(losses), max(losses)) if losses else (0.0, 1.0)
    larger = quantity.worse == "larger"
    if larger and quantity.unit != "probability" and low > 0:
        high = min(high, low * FARTHEST)
    wide = is_wide(low, high) and quantity.unit != "probability"
    if not wide:
        low, high = min(low, 0.0), high if high > low else low + 1.0
    return alt.Scale(
        type="log" if wide else "linear", domain=[low, high], clamp=True, nice=False,
        scheme="yelloworangered", reverse=not larger,
    )  # fmt: skip
