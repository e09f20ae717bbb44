"""Leak matrices as a picture: released time across, secret time down, darker where more leaks."""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sfumato.comparison.risk_maps import RiskMap, RiskRow, finite_losses
from sfumato.report.style import INK, WIDTH, colour_bar, risk_colours, styled
from sfumato.report.words import short_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.figure import Figure


ACROSS = 3
"""Matrices side by side."""
FARTHEST = 30.0
"""How far, as a factor, the darkest colour lies beyond the worst loss of the mildest mechanism."""
DECADES = 1e3
"""The widest span of losses that colours tell apart."""


def leak_figure(risk: RiskMap) -> Figure:
    """Draw a matrix for each row of the map that has one; the strip beside it is all together."""
    from matplotlib.figure import Figure

    rows = [row for row in risk.rows if row.alone]
    across = 2 if len(rows) == 4 else min(ACROSS, len(rows))
    down = math.ceil(len(rows) / across)
    with styled():
        side = (WIDTH - 0.8) / ACROSS
        figure = Figure(figsize=(side * across + 0.8, (side + 0.12) * down), layout="constrained")
        low, high = _range(rows, risk)
        colours = risk_colours(risk.quantity, low, high)
        grid = figure.subplots(down, across, squeeze=False)
        for place, (row, axes) in enumerate(zip(rows, grid.flat, strict=False)):
            _draw(axes, row, risk.marked, colours)
            axes.set_title(_title(row, rows), fontsize=8)
            if place % across == 0:
                axes.set_ylabel("secret at time")
            if place + across >= len(rows):
                axes.set_xlabel("released at time, alone")
        for axes in grid.flat[len(rows) :]:
            axes.set_visible(False)
        colour_bar(figure, colours, risk.quantity, grid, _extend(rows, low, high), lines=down)
    return figure


def _title(row: RiskRow, rows: Sequence[RiskRow]) -> str:
    several = len({other.asked for other in rows}) > 1
    name = f"{row.mechanism} · {row.asked}" if several else row.mechanism
    return "\n".join(textwrap.wrap(name, 24))


def _losses(row: RiskRow) -> list[float]:
    """Return every finite loss that a matrix and its strip show."""
    together = [row.losses[secret] for secret in _sides(row)]
    return [loss for loss in (*row.alone.values(), *together) if math.isfinite(loss)]


def _sides(row: RiskRow) -> list[int]:
    """Return the times on both sides of a matrix."""
    return sorted({secret for secret, _ in row.alone})


def _range(rows: Sequence[RiskRow], risk: RiskMap) -> tuple[float, float]:
    """Return the ends of the colours: one mechanism that hides nothing must not pale the rest."""
    everything = [loss for row in rows for loss in _losses(row)] or [0.0, 1.0]
    low, high = min(everything), max(everything)
    if low < 0 or risk.quantity.worse == "smaller" or risk.quantity.unit == "probability":
        return low, high
    mildest = min(max(_losses(row), default=high) for row in rows)
    high = min(high, FARTHEST * mildest) or 1.0
    return max(low, high / DECADES), high


def _extend(
    rows: Sequence[RiskRow], low: float, high: float
) -> Literal["neither", "min", "max", "both"]:
    everything = [loss for row in rows for loss in _losses(row)]
    below, above = min(everything, default=low) < low, max(everything, default=high) > high
    if below and above:
        return "both"
    return "min" if below else "max" if above else "neither"


def _draw(axes: Axes, row: RiskRow, marked: Iterable[int], colours: ScalarMappable) -> None:
    """Draw the matrix and, on its right, a strip: the loss of each secret from all releases."""
    times = _sides(row)
    edges = _edges(times)
    whole = edges[-1] - edges[0]
    strip = [edges[-1] + 0.04 * whole, edges[-1] + 0.12 * whole]
    for sides, released in ((edges, times), (strip, None)):
        table = [_from(row, secret, released) for secret in times]
        axes.pcolormesh(sides, edges, _coloured(table, colours), edgecolors="face", linewidth=0.3)
    axes.set_aspect("equal")
    axes.set_ylim(edges[-1], edges[0])
    axes.grid(visible=False)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    ticks = _ticks(times, edges[-1] - 0.06 * whole)
    axes.set_yticks(ticks)
    axes.set_xticks([*ticks, sum(strip) / 2], [*map(str, ticks), "all"])
    for time in set(marked) & set(times):
        axes.annotate(
            "▸", (edges[0], time), ha="right", va="center", color=INK, annotation_clip=False
        )


def _from(row: RiskRow, secret: int, released: Iterable[int] | None) -> list[float]:
    """Return the losses of a secret from each release alone, or from all of them together."""
    if released is None:
        return [row.losses[secret]]
    return [row.alone[secret, time] for time in released]


def _ticks(times: Sequence[int], latest: float) -> list[int]:
    """Return a few round times, none so late that it would touch the word below the strip."""
    from matplotlib.ticker import MaxNLocator

    found = MaxNLocator(integer=True, nbins=5).tick_values(times[0], times[-1])
    return [int(tick) for tick in found if times[0] <= tick <= min(times[-1], latest)]


def _coloured(table: list[list[float]], colours: ScalarMappable) -> np.ndarray:
    """Return colours; what is infinite has that of the worst."""
    values = np.array(table, dtype=np.float64)
    return np.asarray(colours.to_rgba(np.clip(values, *colours.get_clim())))


def _edges(times: Sequence[int]) -> list[float]:
    """Return where one time's cell ends and the next one's begins."""
    middles = [(a + b) / 2 for a, b in itertools.pairwise(times)]
    before = middles[0] - times[0] if middles else 0.5
    after = times[-1] - middles[-1] if middles else 0.5
    return [times[0] - before, *middles, times[-1] + after]


MAP_DECADES = 1e4
"""The widest span of losses that colours tell apart."""


def risk_figure(risk: RiskMap) -> Figure:
    """Draw one map; times that the secret names are marked above it."""
    from matplotlib.figure import Figure

    with styled():
        height = 1.15 + 0.3 * len(risk.rows)
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        axes = figure.subplots()
        colours = risk_colours(risk.quantity, *_range_of_map(risk))
        axes.imshow(colours.to_rgba(_table(risk)), aspect="auto", interpolation="nearest")
        colour_bar(figure, colours, risk.quantity, axes, _extend_of_map(risk))
        _write(axes, risk)
    return figure


def _table(risk: RiskMap) -> Any:
    """Return rows by times; infinities as the largest colour, times that are not asked empty."""
    finite = finite_losses(risk)
    table = np.full((len(risk.rows), len(risk.times)), np.nan)
    for place, row in enumerate(risk.rows):
        for time, loss in row.losses.items():
            table[place, time] = loss if math.isfinite(loss) else max(finite, default=1.0)
    return np.ma.masked_invalid(table)


def _range_of_map(risk: RiskMap) -> tuple[float, float]:
    """Return the ends of the colours: of what is far worse than the rest, one does for all."""
    finite = finite_losses(risk) or [0.0, 1.0]
    low, high = min(finite), max(finite)
    if low <= 0 or high / low <= MAP_DECADES or risk.quantity.worse == "smaller":
        return low, high
    return low, low * MAP_DECADES


def _extend_of_map(risk: RiskMap) -> Literal["neither", "max"]:
    return "max" if _range_of_map(risk)[1] < max(finite_losses(risk), default=0.0) else "neither"


def _write(axes: Axes, risk: RiskMap) -> None:
    from matplotlib.ticker import MaxNLocator

    several = len({row.asked for row in risk.rows}) > 1
    names = short_names([(row.mechanism, row.asked if several else "") for row in risk.rows])
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_xlabel("time")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_title(f"{risk.quantity.name} of each single time", pad=14 if risk.marked else 6)
    for time in risk.marked:
        axes.annotate("▾", (time, -0.5), ha="center", va="bottom", color=INK, annotation_clip=False)
    for place, row in enumerate(risk.rows):
        endless = [time for time, loss in row.losses.items() if math.isinf(loss)]
        for run in _runs(endless):
            middle = (run[0] + run[-1]) / 2
            axes.text(middle, place, "∞", ha="center", va="center", color="white", weight="bold")


def _runs(times: Sequence[int]) -> list[list[int]]:
    """Split times into runs without gaps."""
    runs: list[list[int]] = []
    for time in times:
        if runs and runs[-1][-1] == time - 1:
            runs[-1].append(time)
        else:
            runs.append([time])
    return runs
