"""Risk maps as a picture: time across, mechanisms down, darker where more leaks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sfumato.report.figure_style import INK, WIDTH, styled
from sfumato.report.risk_colours import colour_bar, risk_colours
from sfumato.report.risk_map import RiskMap, finite_losses
from sfumato.report.short_names import short_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DECADES = 1e4
"""The widest span of losses that colours tell apart."""


def risk_figure(risk: RiskMap) -> Figure:
    """Draw one map; times that the secret names are marked above it."""
    from matplotlib.figure import Figure

    with styled():
        height = 1.15 + 0.3 * len(risk.rows)
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        axes = figure.subplots()
        colours = risk_colours(risk.quantity, *_range(risk))
        axes.imshow(colours.to_rgba(_table(risk)), aspect="auto", interpolation="nearest")
        colour_bar(figure, colours, risk.quantity, axes, _extend(risk))
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


def _range(risk: RiskMap) -> tuple[float, float]:
    """Return the ends of the colours: of what is far worse than the rest, one does for all."""
    finite = finite_losses(risk) or [0.0, 1.0]
    low, high = min(finite), max(finite)
    if low <= 0 or high / low <= DECADES or risk.quantity.worse == "smaller":
        return low, high
    return low, low * DECADES


def _extend(risk: RiskMap) -> Literal["neither", "max"]:
    return "max" if _range(risk)[1] < max(finite_losses(risk), default=0.0) else "neither"


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
