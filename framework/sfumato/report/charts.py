"""The figures of a page: Vega-Lite charts of losses and risk maps, linked by two signals.

Every chart of a part has the parameters ``shown``, the mechanism that stands out ("" for none),
and ``at``, a place along the sweep; the page sets both in all of them. Rows carry their names
above them instead of beside them, so that a chart is as wide as its window, also on a phone.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from sfumato.comparison.cells import FACTORS, KINDS, Cell, Comparison
from sfumato.comparison.findings import known_scenarios
from sfumato.comparison.names import NounNames, group_by, noun_names, value_text
from sfumato.comparison.risk_maps import RiskMap, RiskRow
from sfumato.comparison.sweeps import SweepAxis, is_geometric, sweep_axes
from sfumato.protocols import Prior, Quantity
from sfumato.quantities import round_outwards
from sfumato.report.columns import MEANINGS, loss_text
from sfumato.report.figures import MOST_ROWS, Panel, panels_of
from sfumato.report.style import MechanismColours, finite_values, is_wide
from sfumato.report.sweeps import MOST_LINES, STROKES
from sfumato.report.words import scenario_names

if TYPE_CHECKING:
    import altair as alt

Data = list[dict[str, Any]]
Spec = dict[str, Any]

ROW = 42
"""The height of a row with its name, in pixels."""
SQUARE = 215
"""The side of a matrix, in pixels."""
NUMBER = 190
"""The room that a number with its interval takes, in pixels."""
DASHES = ([1, 0], [7, 4], [2, 3], [7, 3, 2, 3])
SHAPES = {
    "exact": "circle",
    "upper": "triangle-down",
    "lower": "triangle-up",
    "estimate": "diamond",
}
PLAIN = ".3~g"
"""How numbers beside axes are written."""
INK = {"value": "currentColor"}
STANDS_OUT = "shown == '' || datum.mechanism == shown"
FARTHEST, DECADES = 1e4, 1e3
"""The widest spans of losses that the colours of a map and of a matrix tell apart, as factors."""
TOOLTIP = {
    "mechanism": "mechanism", "scenario": "scenario", "loss": "loss", "meaning": "which is",
    "how": "how", "worst": "worst belief", "witness": "witness",
}  # fmt: skip


@attrs.frozen
class Figure:
    """A chart with its caption; `size` is a class of the page's style sheet."""

    caption: str
    spec: Spec
    size: str = ""


@attrs.frozen
class PartCharts:
    """The figures of one part, and what is common to them."""

    losses: tuple[Figure, ...]
    maps: tuple[tuple[str, tuple[RiskMap, ...], tuple[Figure, ...]], ...]
    mechanisms: Mapping[str, str]
    sweep: str
    stops: tuple[str, ...]


def part_charts(part: Comparison, colours: MechanismColours) -> PartCharts:
    """Draw a part: a figure for each quantity, a map for each prior and secret."""
    drawn = _Part.of(part, colours)
    axis = drawn.axis
    return PartCharts(
        losses=tuple(drawn.panel(panel) for panel in panels_of(part)),
        maps=tuple(drawn.maps()),
        mechanisms=drawn.colours,
        sweep=f"{axis.parameter} of the {axis.kind}".replace("_", " ") if axis else "",
        stops=tuple(map(value_text, drawn.stops)),
    )


def _encode(**channels: Any) -> dict[str, Any]:
    """Return the channels; what does not stand out is pale, and the pointer is told the rest."""
    import altair as alt

    chosen = alt.condition(STANDS_OUT, alt.value(1.0), alt.value(0.12))
    told = [alt.Tooltip(f"{field}:N", title=title) for field, title in TOOLTIP.items()]
    return {"opacity": chosen, "tooltip": told, **channels}


def _data(rows: Data) -> Any:
    import altair as alt

    return alt.Data(values=rows)


def _finished(chart: Any, caption: str, height: int, *, width: Any = "container") -> Spec:
    """Return the chart as plain values, in the colours of the page that it stands in."""
    import altair as alt

    chart = chart.properties(width=width, height=height, description=caption)
    if width == "container":
        chart = chart.properties(autosize=alt.AutoSizeParams(type="fit-x", contains="padding"))
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


def _scale(values: Sequence[float]) -> alt.Scale:
    """Return a logarithmic scale for what is wide, else one that need not begin at zero."""
    import altair as alt

    wide = bool(values) and is_wide(min(values), max(values))
    return alt.Scale(type="log") if wide else alt.Scale(type="linear", zero=False)


def _axis(values: Sequence[float]) -> alt.Axis:
    """Return an axis with few numbers: of a logarithmic one, the decades, or 1, 2, 5 of each."""
    import altair as alt

    if not values or not is_wide(min(values), max(values)):
        return alt.Axis(format=PLAIN)
    ends = (math.floor(math.log10(min(values))), math.ceil(math.log10(max(values))))
    digits = (1, 2, 5) if ends[1] - ends[0] <= 3 else (1,)
    marks = [digit * 10.0**power for power in range(ends[0], ends[1] + 1) for digit in digits]
    return alt.Axis(format=PLAIN, values=marks[:: max(1, len(marks) // 12)])


def _colour_scale(
    losses: Sequence[float], quantity: Quantity, farthest: float = math.inf
) -> alt.Scale:
    """Return the colours of a map: one for all that is beyond `farthest`, or far from the rest.

    Probabilities are never logarithmic.
    """
    import altair as alt

    low, high = (min(losses), max(losses)) if losses else (0.0, 1.0)
    larger = quantity.worse == "larger"
    if larger and quantity.unit != "probability" and low >= 0:
        high = min(high, farthest) or 1.0
        positive = [loss for loss in losses if loss > 0]
        near = max(min(positive), high / DECADES) if farthest < math.inf and positive else low
        low, high = near, min(high, near * FARTHEST) if near > 0 else high
    wide = is_wide(low, high) and quantity.unit != "probability"
    if not wide:
        low, high = min(low, 0.0), high if high > low else low + 1.0
    return alt.Scale(
        type="log" if wide else "linear", domain=[low, high], clamp=True, nice=False,
        scheme="yelloworangered", reverse=not larger,
    )  # fmt: skip


def _mildest(rows: Sequence[RiskRow], quantity: Quantity) -> float:
    """Return where the colours of matrices end: one that hides nothing must not pale the rest."""
    if quantity.worse == "smaller" or not rows:
        return math.inf
    worst = (max(filter(math.isfinite, row.alone.values()), default=0.0) for row in rows)
    return 30.0 * min(worst) or math.inf


@attrs.frozen
class _Part:
    """What all charts of one part share: names, colours and the stops of the sweep."""

    part: Comparison
    axis: SweepAxis | None
    stops: tuple[float, ...]
    names: Mapping[str, NounNames]
    keys: NounNames
    colours: Mapping[str, str]

    @classmethod
    def of(cls, part: Comparison, colours: MechanismColours) -> _Part:
        cells = part.measured
        axis = next(iter(sweep_axes(cells)), None)
        keys = mechanism_keys(cells)
        by_key: dict[str, str] = {}
        for cell in cells:
            by_key.setdefault(mechanism_key(keys, cell), colours[cell])
        stops = {axis.value(cell) for cell in cells} - {None} if axis else set()
        names = {kind: noun_names(cells, kind) for kind in KINDS}
        return cls(part, axis, tuple(sorted(filter(None.__ne__, stops))), names, keys, by_key)

    def colour(self, legend: Any = None) -> Any:
        """Return the colour of each mechanism."""
        import altair as alt

        return alt.Color("mechanism:N", scale=self._colour_scale(), legend=legend)

    def _colour_scale(self) -> Any:
        import altair as alt

        return alt.Scale(domain=list(self.colours), range=list(self.colours.values()))

    def datum(self, cell: Cell, **more: Any) -> dict[str, Any]:
        """Return one loss as charts and their tooltips need it; what is infinite has no value."""
        loss = cell.loss
        varying = [kind for kind in KINDS if self.names[kind].several and kind != "mechanism"]
        ends = (loss.interval if loss.bound == "estimate" else None) or (math.nan, math.nan)
        class_of_priors = loss.worst is not None and not isinstance(cell.prior, Prior)
        return {
            "mechanism": mechanism_key(self.keys, cell),
            "scenario": " · ".join(self.names[kind].of(cell, kind) for kind in varying),
            "value": _finite(loss.value),
            "infinite": math.isinf(loss.value),
            "loss": f"{loss_text(loss)} {loss.quantity.unit}".strip(),
            "bound": loss.bound,
            "meaning": MEANINGS.get(loss.bound, "exact").partition(" [")[0],
            "low": _finite(ends[0]),
            "high": _finite(ends[1]),
            "how": loss.how,
            "worst": value_text(loss.worst) if class_of_priors else "",
            "witness": str(loss.witness or "")[:120],
            **more,
        }  # fmt: skip

    def panel(self, panel: Panel) -> Figure:
        """Draw one quantity: lines along the sweep, else a row for each loss."""
        if panel.axis is not None and finite_values(panel.cells):
            return self._lines(panel, panel.axis)
        return self._rows(panel)

    # Lines along a sweep ----------------------------------------------------------------------

    def _lines(self, panel: Panel, axis: SweepAxis) -> Figure:
        import altair as alt

        cells = [cell for series in panel.lines[:MOST_LINES] for cell in series.cells]
        xs = sorted({x for x in map(axis.value, cells) if x is not None})
        rows = [
            self.datum(cell, x=place, line=series.name, stroke=series.beside, dash=series.stroke)
            for series in panel.lines[:MOST_LINES]
            for cell in series.cells
            for place in ([axis.value(cell)] if axis.value(cell) is not None else [xs[0], xs[-1]])
        ]
        title = f"{axis.parameter} of the {axis.kind}".replace("_", " ")
        kind: Any = {"type": "log"} if is_geometric(xs) else {"type": "linear", "zero": False}
        x = alt.X(
            "x:Q",
            title=title,
            axis=_axis(xs if is_geometric(xs) else ()),
            scale=alt.Scale(**kind, nice=False, padding=8),
        )
        values = finite_values(cells)
        y = alt.Y(
            "value:Q", title=panel.quantity.unit or None, scale=_scale(values), axis=_axis(values)
        )
        base = alt.Chart(_data(rows)).encode(
            x=x, **_encode(color=self.colour(alt.Legend(orient="top", title=None, columns=2)))
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
        if axis == self.axis:
            stops = [{"x": value, "at": place} for place, value in enumerate(self.stops)]
            here = alt.Chart(_data(stops)).transform_filter("datum.at == at")
            layers.insert(0, here.mark_rule(strokeWidth=7, opacity=0.18).encode(x="x:Q"))
        return Figure(panel.title, _finished(alt.layer(*layers), panel.title, 250))

    # A row for each loss ------------------------------------------------------------------------

    def _rows(self, panel: Panel) -> Figure:
        import altair as alt

        cells = panel.cells[:MOST_ROWS]
        named = zip(cells, scenario_names(cells, KINDS), strict=True)
        rows = [
            self.datum(cell, name=name, **_at_row(row)) for row, (cell, name) in enumerate(named)
        ]
        values = finite_values(cells)
        x = alt.X(
            "value:Q", title=panel.quantity.unit or None, scale=_scale(values), axis=_axis(values)
        )
        base = alt.Chart(_data(rows)).encode(**_encode(color=self.colour()))
        spans, middle = self._spans(cells), _y("middle", len(rows))
        layers = [
            *spans,
            *_bars(base, rows, x="low:Q", x2="high:Q", y=middle),
            *_points(base, cells, x=x, y=middle),
            *_infinities(base, cells, x=alt.value("width"), y=middle),
            _row_words(base, len(rows), NUMBER),
            base.mark_text(align="right").encode(
                x=alt.value("width"), y=_y("above", len(rows)), text="loss:N", color=INK
            ),
        ]
        caption = panel.title
        if spans:
            caption += "; where several measures answer, the truth lies in the shaded span"
        return Figure(caption, _finished(alt.layer(*layers), caption, ROW * len(rows)))

    def _spans(self, cells: Sequence[Cell]) -> list[Any]:
        """Shade, behind the rows of one scenario, what all of its measures leave possible."""
        import altair as alt

        places = {id(cell.loss): place for place, cell in enumerate(cells)}
        spans = []
        for known in known_scenarios(cells):
            rows = [places[id(loss)] for loss in known.losses]
            low, high = known.span
            if len(rows) > 1 and math.isfinite(low) and math.isfinite(high):
                ends = {"low": min(low, high), "high": max(low, high)}
                spans += [{**ends, **_at_row(row)} for row in rows]
        if not spans:
            return []
        shade = alt.Chart(_data(spans)).mark_rect(opacity=0.18, color="gray", stroke="gray")
        return [shade.encode(x="low:Q", x2="high:Q", y=_y("row", len(cells)), y2="below:Q")]

    # Maps ---------------------------------------------------------------------------------------

    def maps(self) -> Iterable[tuple[str, tuple[RiskMap, ...], tuple[Figure, ...]]]:
        """Yield a map for each prior and secret, those along the sweep as one that moves."""
        maps = self.part.maps or ()
        places = {
            tuple(self.names[kind].of(cell, kind) for kind in FACTORS): cell
            for cell in self.part.measured
        }
        moving = bool(self.axis and self.axis.kind == "prior")
        groups = group_by(maps, lambda risk: ("" if moving else risk.prior, risk.secret))
        for (prior, secret), group in groups.items():
            shown = [risk for risk in group if risk.rows]
            heading = f"Secret: {secret}."
            heading = f"Prior: {prior}. {heading}" if prior else heading
            figures = [self._bands(shown, places)] if shown else []
            for risk in shown:
                figures += self._squares(risk, places, risk.prior if moving else "")
            yield heading, tuple(group), tuple(figures)

    def _stop(self, cell: Cell | None) -> int | None:
        """Return the cell's place along the sweep; None where it is at all of them."""
        value = self.axis.value(cell) if self.axis and cell else None
        return None if value is None else self.stops.index(value)

    def _bands(self, maps: Sequence[RiskMap], places: Mapping[Any, Cell]) -> Figure:
        import altair as alt

        rows: Data = []
        deepest = 0
        for stop, own in self._by_stop(maps, places).items():
            deepest = max(deepest, len(own))
            for place, (risk, row, cell) in enumerate(own):
                name = f"{row.mechanism} · {row.asked}" if _several(risk) else row.mechanism
                told = {"mechanism": mechanism_key(self.keys, cell), "name": name, "at": stop}
                rows += [
                    {**told, **_at_row(place), "time": time, "from": time - 0.5, "to": time + 0.5,
                     "value": _finite(loss), "loss": _value(loss, risk.quantity),
                     "marked": time in risk.marked}
                    for time, loss in row.losses.items()
                ]  # fmt: skip
        quantity = maps[0].quantity
        finite = [row["value"] for row in rows if row["value"] is not None]
        worst = max(finite, default=1.0) if quantity.worse == "larger" else min(finite, default=0.0)
        for row in rows:
            row["painted"] = worst if row["value"] is None else row["value"]
        here = alt.Chart(_data(rows)).transform_filter("datum.at == null || datum.at == at")
        told = [alt.Tooltip(f"{field}:N") for field in ("mechanism", "time", "loss")]
        times = maps[0].times
        x = alt.X(
            "from:Q", title="time", axis=alt.Axis(grid=False, tickMinStep=1),
            scale=alt.Scale(domain=[times[0] - 0.5, times[-1] + 0.5], nice=False),
        )  # fmt: skip
        scale = _colour_scale(finite, quantity)
        legend = alt.Legend(
            title=quantity.unit or quantity.name,
            orient="top",
            gradientLength=180,
            format=PLAIN,
            tickCount=4,
        )
        base = here.encode(**_encode(tooltip=told))
        sign = (
            base.transform_filter("datum.value == null")
            .mark_text(color="white")
            .encode(x="time:Q", y=_y("middle", deepest), text=alt.value("∞"))
        )
        endless = [sign] if len(finite) < len(rows) else []
        layers = [
            base.mark_rect(strokeWidth=0).encode(
                x=x, x2="to:Q", y=_y("top", deepest), y2="foot:Q",
                color=alt.Color("painted:Q", scale=scale, legend=legend),
            ),
            *endless,
            base.transform_filter("datum.marked").mark_text(baseline="bottom", dy=3).encode(
                x="time:Q", y=_y("top", deepest), text=alt.value("▾")
            ),
            _row_words(base.transform_filter(f"datum.time == {times[0]}"), deepest, 0),
        ]  # fmt: skip
        caption = f"{quantity.name} of each single time"
        return Figure(caption, _finished(alt.layer(*layers), caption, ROW * deepest))

    def _by_stop(
        self, maps: Sequence[RiskMap], places: Mapping[Any, Cell]
    ) -> dict[int | None, list[tuple[RiskMap, RiskRow, Cell]]]:
        found: list[tuple[int | None, tuple[RiskMap, RiskRow, Cell]]] = []
        for risk in maps:
            for row in risk.rows:
                cell = places[risk.prior, risk.secret, row.mechanism]
                found.append((self._stop(cell), (risk, row, cell)))
        groups = group_by(found, lambda item: item[0])
        return {stop: [item for _, item in own] for stop, own in groups.items()}

    def _squares(self, risk: RiskMap, places: Mapping[Any, Cell], prior: str) -> Iterable[Figure]:
        """Draw a matrix for each row that has one: released time across, secret time down."""
        import altair as alt

        rows = [row for row in risk.rows if row.alone]
        losses = [loss for row in rows for loss in (*row.alone.values(), *row.losses.values())]
        finite = [loss for loss in losses if math.isfinite(loss)]
        scale = _colour_scale(finite, risk.quantity, _mildest(rows, risk.quantity))
        for row in rows:
            data, times, end = _matrix(row, risk.quantity)
            told = [alt.Tooltip(f"{field}:N") for field in ("secret at", "released at", "loss")]
            name = f"{row.mechanism} · {row.asked}" if _several(risk) else row.mechanism
            caption = f"{name} ({prior})" if prior else name
            key = mechanism_key(self.keys, places[risk.prior, risk.secret, row.mechanism])
            for datum in data:
                datum["mechanism"] = key
            legend = alt.Legend(
                title=risk.quantity.unit or None, orient="bottom", gradientLength=150,
                gradientThickness=8, format=PLAIN, tickCount=3,
            )  # fmt: skip
            axis = alt.Axis(grid=False, tickCount=5, tickMinStep=1)
            low, high = times
            chart = alt.Chart(_data(data)).mark_rect(strokeWidth=0).encode(
                x=alt.X("left:Q", title="released at time, alone; the strip: all", axis=axis,
                        scale=alt.Scale(domain=[low, end], nice=False)),
                x2="right:Q",
                y=alt.Y("top:Q", title="secret at time", axis=axis,
                        scale=alt.Scale(domain=[high, low], nice=False)),
                y2="bottom:Q",
                color=alt.Color("painted:Q", scale=scale, legend=legend),
                **_encode(tooltip=told),
            )  # fmt: skip
            spec = _finished(
                chart, f"{caption}: each secret from each release", SQUARE, width=SQUARE
            )
            yield Figure(caption, spec, "square")


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
    """Draw the intervals of estimates, where there are any."""
    if all(row["low"] is None or row["high"] is None for row in rows):
        return []
    return [base.mark_rule(strokeWidth=1.5).encode(**channels)]


def _at_row(row: int) -> dict[str, float]:
    """Return the heights inside a row: its name, the top, middle and foot of what it shows."""
    heights = {"row": 0.0, "above": 0.24, "top": 0.42, "middle": 0.7, "foot": 0.95, "below": 1.0}
    return {name: row + height for name, height in heights.items()}


def _y(height: str, rows: int) -> Any:
    """Return a height inside a row as a place, the first row on top."""
    import altair as alt

    return alt.Y(f"{height}:Q", axis=None, scale=alt.Scale(domain=[rows, 0], nice=False))


def _row_words(base: Any, rows: int, room: int) -> Any:
    """Write each row's name above it, cut where there is no room for it beside `room` pixels."""
    import altair as alt

    limit = alt.ExprRef(f"width - {room}")
    return base.mark_text(align="left", limit=limit, fontSize=12).encode(
        x=alt.value(0), y=_y("above", rows), text="name:N", color=INK
    )


def _several(risk: RiskMap) -> bool:
    return len({row.asked for row in risk.rows}) > 1


def mechanism_keys(cells: Sequence[Cell]) -> NounNames:
    """Return the names that link what is shown of one mechanism: without what is swept of it."""
    axis = next(iter(sweep_axes(cells)), None)
    own = axis.parameter if axis and axis.kind == "mechanism" else ""
    return noun_names(cells, "mechanism", own)


def mechanism_key(keys: NounNames, cell: Cell) -> str:
    """Return the name that links a cell's mechanism, never empty."""
    return str(keys.of(cell, "mechanism")) or str(cell.mechanism.name)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _value(loss: float, quantity: Quantity) -> str:
    return f"{round_outwards(loss, 'estimate')} {quantity.unit}".strip()


def _matrix(row: RiskRow, quantity: Quantity) -> tuple[Data, tuple[float, float], float]:
    """Return the cells of a matrix and the strip beside it, its ends and where the strip ends."""
    times = sorted({secret for secret, _ in row.alone})
    edges = dict(zip(times, itertools.pairwise(_edges(times)), strict=True))
    low, high = edges[times[0]][0], edges[times[-1]][1]
    strip = (high + 0.04 * (high - low), high + 0.13 * (high - low))
    cells = [(s, str(r), edges[r], loss) for (s, r), loss in row.alone.items()]
    cells += [(s, "all times", strip, row.losses[s]) for s in times]
    finite = [loss for *_, loss in cells if math.isfinite(loss)]
    worst = max(finite, default=1.0) if quantity.worse == "larger" else min(finite, default=0.0)
    data = [
        {"secret at": secret, "released at": released, "left": left, "right": right,
         "top": edges[secret][0], "bottom": edges[secret][1], "loss": _value(loss, quantity),
         "painted": loss if math.isfinite(loss) else worst}
        for secret, released, (left, right), loss in cells
    ]  # fmt: skip
    return data, (low, high), strip[1]


def _edges(times: Sequence[int]) -> list[float]:
    """Return where one time's cell ends and the next one's begins."""
    middles = [(a + b) / 2 for a, b in itertools.pairwise(times)]
    before = middles[0] - times[0] if middles else 0.5
    after = times[-1] - middles[-1] if middles else 0.5
    return [times[0] - before, *middles, times[-1] + after]
