"""Published figures and tables, computed again: what a plugin declares, and how it is written."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.comparison.executors import results
from sfumato.values import read_only, write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

T = TypeVar("T")
Style = Literal["line", "dashed", "dots", "bars", "level"]
Row = tuple[str, str, float, float]

PANEL_SIZE = (3.9, 3.0)
LEGEND_ROW = 0.16
FEW_DOTS = 30


# What a plugin declares --------------------------------------------------------------------------


def _numbers(values: Any) -> NDArray[np.float64]:
    return read_only(np.atleast_1d(values))


def _all(items: Iterable[Any]) -> tuple[Any, ...]:  # typed, as `tuple` would not be
    return tuple(items)


@attrs.frozen(eq=False)
class Curve:
    """Values y at x; infinite values are kept in the table and left out of the picture.

    ``"level"`` is a horizontal line at y[0], for a value that does not depend on x.
    NaN is rejected. Curves of one family have one colour; by default the label is the family.

    >>> from sfumato.figures import Curve
    >>> Curve("uniform", [1, 2], [0.5, 0.25]).y
    array([0.5 , 0.25])
    """

    label: str
    x: NDArray[np.float64] = attrs.field(converter=_numbers)
    y: NDArray[np.float64] = attrs.field(converter=_numbers)
    style: Style = "line"
    family: str = attrs.field(default=attrs.Factory(lambda self: self.label, takes_self=True))

    def __attrs_post_init__(self) -> None:
        if self.x.shape != self.y.shape or np.isnan(self.x).any() or np.isnan(self.y).any():
            raise ValueError(
                f"the curve '{self.label}' must have a number y for each x; got {self.y!r}."
            )


@attrs.frozen(kw_only=True, eq=False)
class MatrixPanel:
    """A matrix as a map of colours, from its smallest to its largest entry."""

    title: str
    matrix: NDArray[np.float64] = attrs.field(converter=read_only)

    def rows(self) -> list[Row]:
        """Return (panel, row, column, entry) of every entry."""
        entries = np.ndenumerate(self.matrix)
        return [
            (self.title, f"row {row}", column, float(value)) for (row, column), value in entries
        ]


@attrs.frozen(kw_only=True, eq=False)
class Panel:
    """Curves over one pair of axes.

    `band` is an interval of x that is shaded, such as the quartiles of fitted length scales, and
    `mark` a value of x with a vertical line, such as their median; `band_name` and `mark_name` are
    for the legend. `names` are words below the places x = 0, 1, ... where x counts things, and
    `log` says which axis is logarithmic: "", "x" or "y".
    """

    title: str
    x: str
    y: str
    curves: tuple[Curve, ...] = attrs.field(converter=_all)
    band: tuple[float, float] | None = None
    mark: float | None = None
    band_name: str | None = None
    mark_name: str | None = None
    names: tuple[str, ...] = ()
    log: Literal["", "x", "y"] = ""

    def rows(self) -> list[Row]:
        """Return (panel, curve, x, y) of every value."""
        return [
            (self.title, curve.label, x, y)
            for curve in self.curves
            for x, y in zip(curve.x.tolist(), curve.y.tolist(), strict=True)
        ]


@attrs.frozen(kw_only=True, eq=False)
class Drawing:
    """The panels of a figure, in rows of some `columns`, and an honest account.

    The `account` says what was reproduced exactly, what differs from what was published, and why;
    `shows` is what must stand on the picture itself, such as that its people are made up.
    """

    panels: tuple[Panel | MatrixPanel, ...] = attrs.field(converter=_all)
    account: str = attrs.field(default="", converter=inspect.cleandoc)
    columns: int = 2
    shows: str = ""


@attrs.frozen(kw_only=True)
class FigureRequest:
    """How a figure is to be computed: with how many processes, and from which data.

    `data` are the user's own files, for figures of real data, and None for what stands in for
    them; `ours` leaves out the published programs and shows only baselines and ours.
    """

    data: Path | None = None
    ours: bool = False
    jobs: int = attrs.field(factory=lambda: os.cpu_count() or 1)

    def each(self, work: Callable[[Any], T], tasks: Iterable[Any], what: str) -> list[T]:
        """Return `work` of every task, in order; `work` is a function of a module.

        >>> from sfumato.figures import FigureRequest
        >>> FigureRequest(jobs=1).each(abs, [-1, 2], "counting")
        [1, 2]
        """
        chosen = list(tasks)
        jobs = min(self.jobs, len(chosen))
        return results(work, chosen, jobs=jobs, what=what, total=len(chosen))


@attrs.frozen
class Figure:
    """Where a figure was published (paper and number), and how it is computed.

    `compute` imports what it needs when it is called; `needs` says in words which data of one's
    own it can be given, "" for none.

    >>> from sfumato.figures import Drawing, Figure
    >>> Figure("Nobody (1999), Figure 1", lambda request: Drawing(panels=())).reference
    'Nobody (1999), Figure 1'
    """

    reference: str
    compute: Callable[[FigureRequest], Drawing]
    needs: str = ""


# How it is written -------------------------------------------------------------------------------


def account_text(drawing: Drawing, title: str) -> str:
    """Return what was reproduced exactly, what differs and why."""
    return f"{title}\n\n{drawing.account}\n"


def write_drawing(drawing: Drawing, folder: Path, name: str, title: str) -> list[Path]:
    """Write NAME.csv, NAME.txt and, where there are panels, NAME.svg and NAME.png."""
    import pandas as pd

    from sfumato.report.style import save_figure

    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.{kind}" for kind in ("csv", "txt", "svg", "png")]
    rows = [row for panel in drawing.panels for row in panel.rows()]
    table = pd.DataFrame(rows, columns=["panel", "curve", "x", "y"], dtype=object)
    write_whole(paths[0], table.to_csv(index=False, lineterminator="\n"))
    write_whole(paths[1], account_text(drawing, title))
    if not drawing.panels:
        return paths[:2]
    picture = draw(drawing, title)
    for path in paths[2:]:
        save_figure(picture, path)
    return paths


def draw(drawing: Drawing, title: str) -> Picture:
    """Return the picture: all panels, and one legend below them."""
    from matplotlib.figure import Figure as Picture

    from sfumato.report.style import use_style

    columns = min(drawing.columns, len(drawing.panels))
    rows = -(-len(drawing.panels) // columns)
    with use_style():
        size = (PANEL_SIZE[0] * columns, PANEL_SIZE[1] * rows + 0.4)
        picture = Picture(figsize=size, layout="constrained")
        grid = picture.subplots(rows, columns, squeeze=False).flat
        words = f"{title}\n{drawing.shows}" if drawing.shows else title
        picture.suptitle(words, fontsize=10, x=0.01, ha="left")
        for axes in grid[len(drawing.panels) :]:
            axes.set_visible(False)
        colours: dict[str, str] = {}
        for axes, panel in zip(grid, drawing.panels, strict=False):
            axes.set_title(panel.title)
            if isinstance(panel, MatrixPanel):
                axes.imshow(panel.matrix, cmap="inferno", interpolation="nearest")
                axes.grid(visible=False)
                axes.set(xticks=[], yticks=[])
            else:
                _draw_curves(axes, panel, colours)
        _draw_legend(picture)
    return picture


def _draw_legend(picture: Picture) -> None:
    """Write one legend for all panels below them; the same name has the same colour in each."""
    named: dict[str, Any] = {}
    for axes in picture.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            named.setdefault(label, handle)
    if len(named) < 2:
        return
    # A line, some space and the letters of the longest name, in inches.
    columns = max(1, int(picture.get_figwidth() / (0.55 + 0.06 * max(map(len, named)))))
    picture.legend(
        named.values(), named.keys(), loc="outside lower center", ncols=columns, frameon=False,
        fontsize=7.5,
    )  # fmt: skip
    # The panels keep their size, however many rows the legend has.
    picture.set_figheight(picture.get_figheight() + LEGEND_ROW * -(-len(named) // columns))


def _draw_curves(axes: Axes, panel: Panel, colours: dict[str, str]) -> None:
    from matplotlib.ticker import MaxNLocator

    from sfumato.report.style import INK, PALETTE, set_logarithmic

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
    axes.set(xlabel=panel.x, ylabel=panel.y)


def _draw_line(axes: Axes, curve: Curve, colour: str) -> None:
    dots, few = curve.style == "dots", len(curve.x) <= FEW_DOTS
    finite = np.isfinite(curve.y)
    axes.plot(
        curve.x[finite], curve.y[finite], marker="o", color=colour, label=curve.label,
        linestyle={"line": "-", "dashed": "--", "dots": ""}[curve.style], linewidth=1.3,
        markersize=5.0 if dots and few else 2.6, alpha=0.5 if dots and not few else 1.0,
    )  # fmt: skip


def _draw_bars(axes: Axes, curve: Curve, place: int, count: int, colour: str) -> None:
    """Draw bars beside those of the other curves, each below its number."""
    width = 0.8 / count
    left = curve.x + (place - (count - 1) / 2) * width
    bars = axes.bar(left, curve.y, width=0.94 * width, color=colour, label=curve.label)
    numbers = [f"{value:.3g}" if value < 1000 else f"{value:.0f}" for value in curve.y]
    axes.bar_label(bars, numbers, fontsize=6, padding=1, rotation=90 if count > 2 else 0)
