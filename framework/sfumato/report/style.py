"""How figures look: one style, and markers that say the direction."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import attrs

from sfumato.protocols import Quantity
from sfumato.report.columns import number
from sfumato.report.words import noun_names, short_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.figure import Figure

    from sfumato.comparison.cells import Cell, Comparison
    from sfumato.protocols import Reading


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


# Distinguishable also with colour-blind eyes and in grey (Okabe and Ito, 2008).
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#6E6E6E", "#8B6F00")
PALEST = 0.55
"""How far towards white the last shade of a hue lies."""
CONTRAST = 4.5
"""Of words on white, as a ratio of luminances."""


@attrs.frozen
class MechanismColours:
    """The colour of every mechanism of a study."""

    colours: dict[Any, str]

    @classmethod
    def of_all(cls, comparisons: Iterable[Comparison]) -> MechanismColours:
        """Give hues to names and shades to what bears a name, in the order of the study."""
        settings: dict[str, dict[Any, None]] = {}
        for comparison in comparisons:
            for cell in comparison.measured:
                name = str(getattr(cell.mechanism, "name", cell.mechanism))
                settings.setdefault(name, {})[_setting(cell)] = None
        colours = {}
        for place, shades in enumerate(settings.values()):
            hue = PALETTE[place % len(PALETTE)]
            for step, setting in enumerate(shades):
                share = PALEST * step / max(1, len(shades) - 1)
                colours[setting] = mixed(hue, 255, share)
        return cls(colours)

    def __getitem__(self, cell: Cell) -> str:
        return self.colours[_setting(cell)]


def _setting(cell: Cell) -> Any:
    return cell.labels.get("mechanism", ""), cell.mechanism


def mixed(colour: str, grey: int, share: float) -> str:
    """Return a colour mixed with a share of a grey, 0 being black and 255 white.

    >>> mixed("#0072B2", 255, 0.5)
    '#80b8d8'
    """
    parts = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return "#" + "".join(f"{round(part + (grey - part) * share):02x}" for part in parts)


def readable(colour: str) -> str:
    """Return the colour, darkened until words in it can be read on white.

    >>> readable("#0072B2"), readable("#ffffff")
    ('#0072B2', '#737373')
    """
    step = 0
    while 1.05 / (_luminance(mixed(colour, 0, step / 20)) + 0.05) < CONTRAST:
        step += 1
    return mixed(colour, 0, step / 20) if step else colour


def _luminance(colour: str) -> float:
    """Return the relative luminance of a colour, from 0 (black) to 1 (white)."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


WIDE = 30.0
"""A wider span of positive losses is coloured by the logarithm."""


def risk_colours(quantity: Quantity, low: float, high: float) -> ScalarMappable:
    """Return the colours from `low` to `high`; probabilities are never logarithmic."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LogNorm, Normalize

    name = "YlOrRd" if quantity.worse == "larger" else "YlOrRd_r"
    if low > 0 and high / low > WIDE and quantity.unit != "probability":
        return ScalarMappable(LogNorm(low, high), name)
    return ScalarMappable(Normalize(min(low, 0.0), high if high > low else low + 1.0), name)


def colour_bar(
    figure: Figure,
    colours: ScalarMappable,
    quantity: Quantity,
    axes: Any,
    extend: Literal["neither", "min", "max", "both"],
    *,
    lines: int = 1,
) -> None:
    """Draw the scale of the colours beside `axes`, which stand in some lines."""
    from matplotlib.ticker import FuncFormatter

    bar = figure.colorbar(colours, ax=axes, pad=0.015, aspect=14 * lines, extend=extend)
    bar.outline.set_visible(False)
    bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _place: f"{value:g}"))
    bar.minorticks_off()
    bar.set_label(quantity.unit or quantity.name)


def finite_values(cells: Sequence[Cell]) -> list[float]:
    """Return the finite values among the cells' losses."""
    return [cell.reading.value for cell in cells if math.isfinite(cell.reading.value)]


def use_logarithm(axes: Axes, which: Literal["x", "y"], values: Sequence[float]) -> None:
    """Make an axis logarithmic where positive values span more than a factor of thirty."""
    if values and min(values) > 0 and max(values) / min(values) > 30:
        set_logarithmic(axes, which, values)


def set_logarithmic(
    axes: Axes, which: Literal["x", "y"], values: Sequence[float] | None = None
) -> None:
    """Make an axis logarithmic, with plain numbers: 100, not 10²."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.set(**{f"{which}scale": "log"})
    axis = axes.xaxis if which == "x" else axes.yaxis
    ends = list(axis.get_data_interval()) if values is None else values
    few_decades = max(ends) < 1000 * min(ends)
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if few_decades else (1.0,), numticks=8))
    axis.set_major_formatter(FuncFormatter(lambda value, _place: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def draw_nothing(axes: Axes) -> None:
    """Say that all values are infinite."""
    axes.text(0.5, 0.5, "all values are infinite", ha="center", transform=axes.transAxes)
