"""Risk maps as a picture: time across, mechanisms down, darker where more leaks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.report.figure_style import INK, WIDTH, styled
from sfumato.report.risk_map import RiskMap, finite_losses

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def risk_figure(risk: RiskMap) -> Figure:
    """Draw one map; times that the secret names are marked above it."""
    from matplotlib.figure import Figure

    with styled():
        height = 1.15 + 0.3 * len(risk.rows)
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        axes = figure.subplots()
        image = axes.imshow(
            _table(risk),
            aspect="auto",
            interpolation="nearest",
            cmap=_colour_map(risk),
            norm=_norm(risk),
        )
        bar = figure.colorbar(image, ax=axes, pad=0.015, aspect=12)
        bar.outline.set_visible(False)
        bar.set_label(risk.quantity.unit or risk.quantity.name)
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


def _colour_map(risk: RiskMap) -> str:
    """Dark is worse, whichever way that is."""
    return "YlOrRd" if risk.quantity.worse == "larger" else "YlOrRd_r"


def _norm(risk: RiskMap) -> Any:
    from matplotlib.colors import LogNorm, Normalize

    finite = finite_losses(risk) or [0.0, 1.0]
    low, high = min(finite), max(finite)
    if low > 0 and high / low > 30:
        return LogNorm(low, high)
    return Normalize(min(low, 0.0), high if high > low else low + 1.0)


def _write(axes: Axes, risk: RiskMap) -> None:
    from matplotlib.ticker import MaxNLocator

    several = len({row.asked for row in risk.rows}) > 1
    names = [f"{row.mechanism} · {row.asked}" if several else row.mechanism for row in risk.rows]
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
        for time, loss in row.losses.items():
            if math.isinf(loss):
                axes.text(time, place, "∞", ha="center", va="center", color="white", fontsize=7)
