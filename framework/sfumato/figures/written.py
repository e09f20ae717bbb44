"""Writing a figure to a folder: the numbers as a table, the picture, and the account."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.figures.figure import Curve, Drawing, MatrixPanel, Panel
from sfumato.report.style import INK, PALETTE, save_figure, set_logarithmic, styled
from sfumato.values import write_whole

if TYPE_CHECKING:
    from collections.abc import Iterable

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

PANEL_SIZE = (3.9, 3.0)
LEGEND_ROW = 0.16
FEW_DOTS = 30
LINES = {"line": "-", "dashed": "--", "dots": ""}


def write_drawing(drawing: Drawing, folder: Path, name: str, title: str) -> list[Path]:
    """Write NAME.csv, NAME.txt and, where there are panels, NAME.svg and NAME.png."""
    folder.mkdir(parents=True, exist_ok=True)
    table, account = folder / f"{name}.csv", folder / f"{name}.txt"
    write_whole(table, _table(drawing))
    write_whole(account, account_text(drawing, title))
    return [table, account, *_pictures(drawing, folder, name, title)]


def account_text(drawing: Drawing, title: str) -> str:
    """Return what was reproduced exactly, what differs and why."""
    return f"{title}\n\n{drawing.account}\n"


def _table(drawing: Drawing) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["panel", "curve", "x", "y"])
    for panel in drawing.panels:
        writer.writerows(panel.rows())
    return stream.getvalue()


def _pictures(drawing: Drawing, folder: Path, name: str, title: str) -> list[Path]:
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    columns = min(drawing.columns, len(drawing.panels))
    rows = -(-len(drawing.panels) // columns)
    with styled():
        size = (PANEL_SIZE[0] * columns, PANEL_SIZE[1] * rows + 0.4)
        picture, grid = plt.subplots(
            rows, columns, figsize=size, squeeze=False, layout="constrained"
        )
        picture.suptitle(title, fontsize=10, x=0.01, ha="left")
        for axes in grid.flat[len(drawing.panels) :]:
            axes.set_visible(False)
        colours: dict[str, str] = {}
        for axes, panel in zip(grid.flat, drawing.panels, strict=False):
            axes.set_title(panel.title)
            if isinstance(panel, MatrixPanel):
                _draw_matrix(axes, panel)
            else:
                _draw_curves(axes, panel, colours)
        _name_curves(picture, grid.flat)
        paths = [folder / f"{name}.svg", folder / f"{name}.png"]
        for path in paths:
            save_figure(picture, path)
        plt.close(picture)
    return paths


def _name_curves(picture: Picture, grid: Iterable[Axes]) -> None:
    """Write one legend for all panels below them; the same name has the same colour in each."""
    named: dict[str, Any] = {}
    for axes in grid:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            named.setdefault(label, handle)
    if len(named) > 1:
        # A line, some space and the letters of the longest name, in inches.
        wide = 0.55 + 0.06 * max(map(len, named))
        columns = max(1, int(picture.get_figwidth() / wide))
        picture.legend(
            named.values(),
            named.keys(),
            loc="outside lower center",
            ncols=columns,
            frameon=False,
            fontsize=7.5,
        )
        # The panels keep their size, however many rows the legend has.
        rows = -(-len(named) // columns)
        picture.set_figheight(picture.get_figheight() + LEGEND_ROW * rows)


def _draw_matrix(axes: Axes, panel: MatrixPanel) -> None:
    axes.imshow(panel.matrix, cmap="inferno", interpolation="nearest")
    axes.grid(visible=False)
    axes.set_xticks([])
    axes.set_yticks([])


def _draw_curves(axes: Axes, panel: Panel, colours: dict[str, str]) -> None:
    from matplotlib.ticker import MaxNLocator

    if panel.band is not None:
        axes.axvspan(*panel.band, color="#9aa3ad", alpha=0.22, linewidth=0, label=panel.band_name)
    if panel.mark is not None:
        axes.axvline(panel.mark, color=INK, linestyle="--", linewidth=1, label=panel.mark_name)
    bars = [curve for curve in panel.curves if curve.style == "bars"]
    for curve in panel.curves:
        colour = colours.setdefault(curve.family, PALETTE[len(colours) % len(PALETTE)])
        if curve.style == "bars":
            _draw_bars(axes, curve, bars.index(curve), len(bars), colour)
        elif curve.style == "level":
            axes.axhline(curve.y[0], color=colour, linestyle=":", label=curve.label)
        else:
            _draw_line(axes, curve, colour)
    if panel.log:
        set_logarithmic(axes, panel.log)
    if panel.log != "x" and all((curve.x % 1 == 0).all() for curve in panel.curves):
        axes.xaxis.set_major_locator(MaxNLocator("auto", integer=True, steps=[1, 2, 5, 10]))
    if panel.names:
        axes.set_xticks(range(len(panel.names)), panel.names, fontsize=7)
        axes.set_xlim(-0.5, len(panel.names) - 0.5)
    axes.set_xlabel(panel.x)
    axes.set_ylabel(panel.y)


def _draw_line(axes: Axes, curve: Curve, colour: str) -> None:
    finite = np.isfinite(curve.y)
    style: dict[str, Any] = {"marker": "o", "markersize": 2.6, "linewidth": 1.3}
    if curve.style == "dots":
        few = len(curve.x) <= FEW_DOTS
        style = {"marker": "o", "markersize": 5.0 if few else 2.6, "alpha": 1.0 if few else 0.5}
    axes.plot(
        curve.x[finite],
        curve.y[finite],
        linestyle=LINES[curve.style] or "none",
        color=colour,
        label=curve.label,
        **style,
    )


def _short(value: float) -> str:
    """Return three digits, or all of a whole number.

    >>> _short(0.33333), _short(1080.0)
    ('0.333', '1080')
    """
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def _draw_bars(axes: Axes, curve: Curve, place: int, count: int, colour: str) -> None:
    width = 0.8 / count
    left = curve.x + (place - (count - 1) / 2) * width
    bars = axes.bar(left, curve.y, width=0.94 * width, color=colour, label=curve.label)
    axes.bar_label(bars, [_short(value) for value in curve.y], fontsize=6, padding=1)
