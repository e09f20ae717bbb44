"""What the charts of a page share: their look, their rows and the two signals that link them.

Every chart of a part has the parameters ``shown``, the mechanism that stands out ("" for none),
and ``at``, a place along the sweep; the page sets both in all of them. Rows carry their names
above them instead of beside them, so that a chart is as wide as its window, also on a phone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from sfumato.comparison.cells import KINDS, Cell, Comparison
from sfumato.comparison.names import NounNames, noun_names, value_text
from sfumato.comparison.sweeps import SweepAxis, sweep_axes
from sfumato.protocols import Prior
from sfumato.report.columns import MEANINGS, loss_text
from sfumato.report.style import MechanismColours

Data = list[dict[str, Any]]
Spec = dict[str, Any]

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


@attrs.frozen
class Figure:
    """A chart with its caption; `size` is a class of the page's style sheet."""

    caption: str
    spec: Spec
    size: str = ""


def encode(**channels: Any) -> dict[str, Any]:
    """Return the channels; what does not stand out is pale, and the pointer is told the rest."""
    import altair as alt

    chosen = alt.condition(STANDS_OUT, alt.value(1.0), alt.value(0.12))
    told = [alt.Tooltip(f"{field}:N", title=title) for field, title in TOOLTIP.items()]
    return {"opacity": chosen, "tooltip": told, **channels}


def inline_data(rows: Data) -> Any:
    """Return rows as the data of a chart."""
    import altair as alt

    return alt.InlineData(values=rows)


def finish(chart: Any, caption: str, height: int, *, width: Any = "container") -> Spec:
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


@attrs.frozen
class ChartedPart:
    """What all charts of one part share: names, colours and the stops of the sweep."""

    part: Comparison
    axis: SweepAxis | None
    stops: tuple[float, ...]
    names: Mapping[str, NounNames]
    keys: NounNames
    colours: Mapping[str, str]

    @classmethod
    def of(cls, part: Comparison, colours: MechanismColours) -> ChartedPart:
        """Name what the part has measured."""
        cells = part.measured
        axis = next(iter(sweep_axes(cells)), None)
        keys = mechanism_keys(cells)
        by_key: dict[str, str] = {}
        for cell in cells:
            by_key.setdefault(mechanism_key(keys, cell), colours[cell])
        values = (axis.value(cell) for cell in cells) if axis else ()
        stops = sorted({value for value in values if value is not None})
        names = {kind: noun_names(cells, kind) for kind in KINDS}
        return cls(part, axis, tuple(stops), names, keys, by_key)

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
        ends = loss.interval or (math.nan, math.nan)
        class_of_priors = loss.worst is not None and not isinstance(cell.prior, Prior)
        return {
            "mechanism": mechanism_key(self.keys, cell),
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
    import altair as alt

    return alt.Y(f"{height}:Q", axis=None, scale=alt.Scale(domain=[rows, 0], nice=False))


def row_words(base: Any, rows: int, room: int) -> Any:
    """Write each row's name above it, cut where there is no room for it beside `room` pixels."""
    import altair as alt

    limit = alt.ExprRef(f"width - {room}")
    return base.mark_text(align="left", limit=limit, fontSize=12).encode(
        x=alt.value(0), y=row_height("above", rows), text="name:N", color=INK
    )


def mechanism_keys(cells: Sequence[Cell]) -> NounNames:
    """Return the names that link what is shown of one mechanism: without what is swept of it."""
    axis = next(iter(sweep_axes(cells)), None)
    own = axis.parameter if axis and axis.kind == "mechanism" else ""
    return noun_names(cells, "mechanism", own)


def mechanism_key(keys: NounNames, cell: Cell) -> str:
    """Return the name that links a cell's mechanism, never empty."""
    return str(keys.of(cell, "mechanism")) or str(cell.mechanism.name)


def finite_or_none(value: float) -> float | None:
    """Return what a chart can place; JSON has no infinities."""
    return value if math.isfinite(value) else None
