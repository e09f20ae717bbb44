"""The risk maps of a page as charts: bands of single times, and what each release gives away."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sfumato.comparison.cells import FACTORS, Cell
from sfumato.comparison.names import group_by
from sfumato.comparison.risk_maps import RiskMap, RiskRow
from sfumato.protocols import Quantity
from sfumato.quantities import round_outwards
from sfumato.report.charts import (
    PLAIN,
    ROW,
    ChartedPart,
    Data,
    Figure,
    at_row,
    encode,
    finish,
    finite_or_none,
    inline_data,
    mechanism_key,
    row_height,
    row_words,
)
from sfumato.report.style import is_wide

if TYPE_CHECKING:
    import altair as alt

SQUARE = 215
"""The side of a matrix, in pixels."""
FARTHEST, DECADES = 1e4, 1e3
"""The widest spans of losses that the colours of a map and of a matrix tell apart, as factors."""
HIDES_NOTHING = 30.0
"""How far, as a factor, colours reach beyond the worst loss of the mildest mechanism."""


def map_charts(
    charted: ChartedPart,
) -> Iterable[tuple[str, tuple[RiskMap, ...], tuple[Figure, ...]]]:
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
        figures = [_bands(charted, shown, places)] if shown else []
        for risk in shown:
            figures += _squares(charted, risk, places, risk.prior if moving else "")
        yield heading, tuple(group), tuple(figures)


def _bands(charted: ChartedPart, maps: Sequence[RiskMap], places: Mapping[Any, Cell]) -> Figure:
    import altair as alt

    rows: Data = []
    deepest = 0
    for stop, own in _by_stop(charted, maps, places).items():
        deepest = max(deepest, len(own))
        for place, (risk, row, cell) in enumerate(own):
            name = f"{row.mechanism} · {row.asked}" if _several(risk) else row.mechanism
            told = {"mechanism": mechanism_key(charted.keys, cell), "name": name, "at": stop}
            rows += [
                {**told, **at_row(place), "time": time, "from": time - 0.5, "to": time + 0.5,
                 "value": finite_or_none(loss), "loss": _value(loss, risk.quantity),
                 "marked": time in risk.marked}
                for time, loss in row.losses.items()
            ]  # fmt: skip
    quantity = maps[0].quantity
    finite = [row["value"] for row in rows if row["value"] is not None]
    worst = max(finite, default=1.0) if quantity.worse == "larger" else min(finite, default=0.0)
    for datum in rows:
        datum["painted"] = worst if datum["value"] is None else datum["value"]
    here = alt.Chart(inline_data(rows)).transform_filter("datum.at == null || datum.at == at")
    fields = [alt.Tooltip(f"{field}:N") for field in ("mechanism", "time", "loss")]
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
    base = here.encode(**encode(tooltip=fields))
    sign = (
        base.transform_filter("datum.value == null")
        .mark_text(color="white")
        .encode(x="time:Q", y=row_height("middle", deepest), text=alt.value("∞"))
    )
    endless = [sign] if len(finite) < len(rows) else []
    layers = [
        base.mark_rect(strokeWidth=0).encode(
            x=x, x2="to:Q", y=row_height("top", deepest), y2="foot:Q",
            color=alt.Color("painted:Q", scale=scale, legend=legend),
        ),
        *endless,
        base.transform_filter("datum.marked").mark_text(baseline="bottom", dy=3).encode(
            x="time:Q", y=row_height("top", deepest), text=alt.value("▾")
        ),
        row_words(base.transform_filter(f"datum.time == {times[0]}"), deepest, 0),
    ]  # fmt: skip
    caption = f"{quantity.name} of each single time"
    return Figure(caption, finish(alt.layer(*layers), caption, ROW * deepest))


def _by_stop(
    charted: ChartedPart, maps: Sequence[RiskMap], places: Mapping[Any, Cell]
) -> dict[int | None, list[tuple[RiskMap, RiskRow, Cell]]]:
    found: list[tuple[int | None, tuple[RiskMap, RiskRow, Cell]]] = []
    for risk in maps:
        for row in risk.rows:
            cell = places[risk.prior, risk.secret, row.mechanism]
            found.append((charted.stop(cell), (risk, row, cell)))
    groups = group_by(found, lambda item: item[0])
    return {stop: [item for _, item in own] for stop, own in groups.items()}


def _squares(
    charted: ChartedPart, risk: RiskMap, places: Mapping[Any, Cell], prior: str
) -> Iterable[Figure]:
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
        key = mechanism_key(charted.keys, places[risk.prior, risk.secret, row.mechanism])
        for datum in data:
            datum["mechanism"] = key
        legend = alt.Legend(
            title=risk.quantity.unit or None, orient="bottom", gradientLength=150,
            gradientThickness=8, format=PLAIN, tickCount=3,
        )  # fmt: skip
        low, high = times
        axis = alt.Axis(grid=False, values=_ticks(low, high))
        chart = alt.Chart(inline_data(data)).mark_rect(strokeWidth=0).encode(
            x=alt.X("left:Q", title="released at time, alone; the strip: all", axis=axis,
                    scale=alt.Scale(domain=[low, end], nice=False)),
            x2="right:Q",
            y=alt.Y("top:Q", title="secret at time", axis=axis,
                    scale=alt.Scale(domain=[low, high], nice=False, reverse=True)),
            y2="bottom:Q",
            color=alt.Color("painted:Q", scale=scale, legend=legend),
            **encode(tooltip=told),
        )  # fmt: skip
        spec = finish(chart, f"{caption}: each secret from each release", SQUARE, width=SQUARE)
        yield Figure(caption, spec, "square")


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
    return HIDES_NOTHING * min(worst) or math.inf


def _several(risk: RiskMap) -> bool:
    return len({row.asked for row in risk.rows}) > 1


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


def _ticks(low: float, high: float) -> list[int]:
    """Return a few round times of a trace.

    >>> _ticks(-0.5, 49.5), _ticks(-0.5, 5.5)
    ([0, 10, 20, 30, 40], [0, 1, 2, 3, 4, 5])
    """
    steps = (digit * 10**power for power in range(10) for digit in (1, 2, 5))
    step = next(step for step in steps if high - low <= 6 * step)
    return list(range(math.ceil(low / step) * step, math.floor(high) + 1, step))


def _edges(times: Sequence[int]) -> list[float]:
    """Return where one time's cell ends and the next one's begins."""
    middles = [(a + b) / 2 for a, b in itertools.pairwise(times)]
    before = middles[0] - times[0] if middles else 0.5
    after = times[-1] - middles[-1] if middles else 0.5
    return [times[0] - before, *middles, times[-1] + after]
