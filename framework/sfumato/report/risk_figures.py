"""Risk maps as pictures: the loss at each time, and of each time from each release alone."""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from sfumato.comparison.risk_maps import RiskMap, RiskRow
from sfumato.report.style import INK, WIDTH, is_wide, use_plain_numbers, use_style
from sfumato.report.words import short_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.figure import Figure

    from sfumato.protocols import Quantity

ACROSS = 3
"""Matrices side by side."""
FARTHEST = 30.0
"""How far, as a factor, the darkest colour lies beyond the worst loss of the mildest mechanism."""
MATRIX_DECADES, MAP_DECADES = 1e3, 1e4
"""The widest span of losses that colours tell apart."""


def _colours(quantity: Quantity, low: float, high: float) -> ScalarMappable:
    """Return the colours from `low` to `high`; probabilities are never logarithmic."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LogNorm, Normalize

    name = "YlOrRd" if quantity.worse == "larger" else "YlOrRd_r"
    if is_wide(low, high) and quantity.unit != "probability":
        return ScalarMappable(LogNorm(low, high), name)
    return ScalarMappable(Normalize(min(low, 0.0), high if high > low else low + 1.0), name)


def _paint(values: Any, colours: ScalarMappable) -> np.ndarray:
    """Return colours; what is infinite has that of the last loss there, what is not known none."""
    known = np.ma.masked_invalid(np.clip(np.asarray(values, np.float64), *colours.get_clim()))
    return np.asarray(colours.to_rgba(known))


def _draw_scale(
    axes: Sequence[Axes], colours: ScalarMappable, risk: RiskMap, losses: Iterable[float], down: int
) -> None:
    """Draw the scale beside `axes`, some lines tall, pointed where losses lie beyond its ends."""
    low, high = colours.get_clim()
    found = list(losses)
    below, above = min(found, default=low) < low, max(found, default=high) > high
    extend: Any = ("neither", "min", "max", "both")[below + 2 * above]
    figure: Any = axes[0].figure
    bar = figure.colorbar(colours, ax=axes, pad=0.015, aspect=14 * down, extend=extend)
    bar.outline.set_visible(False)
    use_plain_numbers(bar.ax.yaxis)
    bar.minorticks_off()
    bar.set_label(risk.quantity.unit or risk.quantity.name)


def _finite(losses: Any) -> list[float]:
    values = np.ravel(losses)
    return [float(value) for value in values[np.isfinite(values)]]


def _hide_frame(axes: Axes) -> None:
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)


def risk_figure(risk: RiskMap) -> Figure:
    """Draw a band for each mechanism; times that the secret names are marked above."""
    from matplotlib.figure import Figure

    table = pd.DataFrame([row.losses for row in risk.rows]).reindex(columns=risk.times)
    losses = _finite(table)
    colours = _colours(risk.quantity, *_map_ends(losses or [0.0, 1.0], risk.quantity))
    with use_style():
        size = (WIDTH, 1.15 + 0.3 * len(risk.rows))
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots()
        axes.imshow(_paint(table, colours), aspect="auto", interpolation="nearest")
        _draw_scale([axes], colours, risk, losses, down=1)
        _write_map(axes, risk)
    return figure


def _map_ends(losses: Sequence[float], quantity: Quantity) -> tuple[float, float]:
    """Return the ends of the colours: of what is far worse than the rest, one does for all."""
    low, high = min(losses), max(losses)
    if low <= 0 or quantity.worse == "smaller":
        return low, high
    return low, min(high, low * MAP_DECADES)


def _write_map(axes: Axes, risk: RiskMap) -> None:
    from matplotlib.ticker import MaxNLocator

    several = len({row.asked for row in risk.rows}) > 1
    names = short_names([(row.mechanism, row.asked if several else "") for row in risk.rows])
    _hide_frame(axes)
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("time")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_title(f"{risk.quantity.name} of each single time", pad=14 if risk.marked else 6)
    for time in risk.marked:
        axes.annotate("▾", (time, -0.5), ha="center", va="bottom", color=INK, annotation_clip=False)
    for place, row in enumerate(risk.rows):
        endless = sorted(time for time, loss in row.losses.items() if math.isinf(loss))
        # Times that follow one another are as far from their places in the list.
        for _, run in itertools.groupby(enumerate(endless), lambda item: item[1] - item[0]):
            times = [time for _, time in run]
            middle = (times[0] + times[-1]) / 2
            axes.text(middle, place, "∞", ha="center", va="center", color="white", weight="bold")


def leak_figure(risk: RiskMap) -> Figure:
    """Draw a matrix for each row of the map that has one: released time across, secret time down.

    The strip beside it is the loss from all releases together.
    """
    from matplotlib.figure import Figure

    rows = [row for row in risk.rows if row.alone]
    across = 2 if len(rows) == 4 else min(ACROSS, len(rows))
    down = math.ceil(len(rows) / across)
    matrices = [_matrix(row) for row in rows]
    losses = list(map(_finite, matrices))
    colours = _colours(risk.quantity, *_matrix_ends(losses, risk.quantity))
    several = len({row.asked for row in rows}) > 1
    with use_style():
        side = (WIDTH - 0.8) / ACROSS
        figure = Figure(figsize=(side * across + 0.8, (side + 0.12) * down), layout="constrained")
        grid = figure.subplots(down, across, squeeze=False)
        for place, (row, axes) in enumerate(zip(rows, grid.flat, strict=False)):
            _draw_matrix(axes, matrices[place], risk.marked, colours)
            name = f"{row.mechanism} · {row.asked}" if several else row.mechanism
            axes.set_title("\n".join(textwrap.wrap(name, 24)), fontsize=8)
            if place % across == 0:
                axes.set_ylabel("secret at time")
            if place + across >= len(rows):
                axes.set_xlabel("released at time, alone")
        for axes in grid.flat[len(rows) :]:
            axes.set_visible(False)
        _draw_scale(list(grid.flat), colours, risk, itertools.chain(*losses), down)
    return figure


def _matrix(row: RiskRow) -> pd.DataFrame:
    """Return the losses of each secret time from each release alone, and from `all` of them."""
    alone: pd.DataFrame = pd.Series(row.alone).unstack()  # noqa: PD010 - a series cannot pivot
    return alone.assign(all=pd.Series(row.losses))


def _matrix_ends(losses: Sequence[Sequence[float]], quantity: Quantity) -> tuple[float, float]:
    """Return the ends of the colours: one mechanism that hides nothing must not pale the rest."""
    everything = list(itertools.chain(*losses)) or [0.0, 1.0]
    low, high = min(everything), max(everything)
    if low < 0 or quantity.worse == "smaller" or quantity.unit == "probability":
        return low, high
    mildest = min(max(some, default=high) for some in losses)
    high = min(high, FARTHEST * mildest) or 1.0
    return max(low, high / MATRIX_DECADES), high


def _draw_matrix(
    axes: Axes, matrix: pd.DataFrame, marked: Iterable[int], colours: ScalarMappable
) -> None:
    """Draw the matrix and, on its right, a strip: the loss of each secret from all releases."""
    times = list(matrix.index)
    edges = _edges(times)
    whole = edges[-1] - edges[0]
    strip = [edges[-1] + 0.04 * whole, edges[-1] + 0.12 * whole]
    for sides, table in ((edges, matrix[times]), (strip, matrix[["all"]])):
        axes.pcolormesh(sides, edges, _paint(table, colours), edgecolors="face", linewidth=0.3)
    _hide_frame(axes)
    axes.set_aspect("equal")
    axes.set_ylim(edges[-1], edges[0])
    axes.tick_params(length=0)
    ticks = _ticks(times, edges[-1] - 0.06 * whole)
    axes.set_yticks(ticks)
    axes.set_xticks([*ticks, sum(strip) / 2], [*map(str, ticks), "all"])
    for time in set(marked) & set(times):
        axes.annotate(
            "▸", (edges[0], time), ha="right", va="center", color=INK, annotation_clip=False
        )


def _edges(times: Sequence[int]) -> list[float]:
    """Return where one time's cell ends and the next one's begins."""
    middles = [(a + b) / 2 for a, b in itertools.pairwise(times)]
    before = middles[0] - times[0] if middles else 0.5
    after = times[-1] - middles[-1] if middles else 0.5
    return [times[0] - before, *middles, times[-1] + after]


def _ticks(times: Sequence[int], latest: float) -> list[int]:
    """Return a few round times, none so late that it would touch the word below the strip."""
    from matplotlib.ticker import MaxNLocator

    found = MaxNLocator(integer=True, nbins=5).tick_values(times[0], times[-1])
    return [int(tick) for tick in found if times[0] <= tick <= min(times[-1], latest)]
