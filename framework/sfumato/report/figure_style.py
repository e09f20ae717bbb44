"""How figures look: one style, and markers that say the direction."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sfumato.report.loss_columns import number
from sfumato.report.noun_names import noun_names
from sfumato.report.short_names import short_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from sfumato.comparison import Cell
    from sfumato.protocols.loss import Reading

INK = "#22272e"
FAINT = "#d9dde3"
WIDTH = 7.6

# Pointing to where the truth lies: an upper bound points down, or to the left.
MARKERS = {"exact": "o", "upper": "v", "lower": "^", "estimate": "D"}
MARKERS_ACROSS = {"exact": "o", "upper": "<", "lower": ">", "estimate": "D"}

STYLE: Any = {
    "font.family": "sans-serif",
    "font.size": 9.0,
    "axes.edgecolor": "#8a929c",
    "axes.labelcolor": INK,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlecolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e8ebef",
    "grid.linewidth": 0.7,
    "xtick.color": "#59616b",
    "ytick.color": "#59616b",
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "text.color": INK,
    "lines.linewidth": 1.7,
    "lines.markersize": 4.5,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "savefig.dpi": 200,
    "svg.hashsalt": "sfumato",  # the same figure is the same file
    "pdf.fonttype": 42,
}


@contextmanager
def styled() -> Iterator[None]:
    """Draw in this style, without touching the caller's."""
    import matplotlib as mpl

    defaults: Any = mpl.rcParamsDefault
    with mpl.rc_context({**defaults, **STYLE, "backend": mpl.rcParams["backend"]}):
        yield


def scenario_names(cells: Sequence[Cell], kinds: Sequence[str]) -> list[str]:
    """Return, for each cell, the names of the nouns in which the cells differ, cut to fit."""
    names = {kind: noun_names(cells, kind) for kind in kinds}
    varying = [kind for kind in kinds if len(names[kind].names) > 1]
    return short_names([tuple(names[kind].of(cell, kind) for kind in varying) for cell in cells])


def draw_row(axes: Axes, y: float, reading: Reading, colour: str, edge: float) -> None:
    """Draw a value on a horizontal axis: filled where exact, open where it is not.

    The interval of an estimate is a bar, and the number stands to the right of all;
    what is infinite is drawn at the edge.
    """
    face = colour if reading.bound == "exact" else "white"
    x = within(reading.value, edge)
    right = x
    if reading.bound == "estimate" and reading.interval is not None:
        ends = [within(end, edge) for end in reading.interval]
        axes.plot(ends, [y, y], color=colour, linewidth=1.2)
        right = max(x, *ends)
    axes.plot(
        [x], [y], MARKERS_ACROSS[reading.bound], color=colour, markerfacecolor=face, markersize=6,
        markeredgewidth=1.5, clip_on=False, zorder=4,
    )  # fmt: skip
    axes.annotate(
        number(reading), (right, y), xytext=(8, 0), textcoords="offset points", va="center",
        fontsize=8.5,
    )  # fmt: skip


def within(value: float, edge: float) -> float:
    """Return a value, or the edge on its side in place of an infinite one."""
    return value if math.isfinite(value) else math.copysign(edge, value)


def save_figure(figure: Figure, target: Any, **options: Any) -> None:
    """Save with the options of this style, so that the same figure is the same file."""
    _take_words_literally(figure)
    with styled():
        figure.savefig(target, **options)


def _take_words_literally(figure: Figure) -> None:
    """Draw a dollar sign in a title or a label as it is, not as the beginning of a formula.

    Labels of logarithmic ticks are formulas of the plotting library itself.
    """
    from matplotlib.text import Text

    formulas = {
        id(label)
        for axes in figure.axes
        for axis in (axes.xaxis, axes.yaxis)
        if axis.get_scale() == "log"
        for label in (*axis.get_ticklabels(), *axis.get_ticklabels(minor=True))
    }
    for text in figure.findobj(Text):
        if id(text) not in formulas and isinstance(text, Text):
            text.set_parse_math(False)
