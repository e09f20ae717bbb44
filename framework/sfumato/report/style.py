"""How figures look: one style, a colour for each mechanism, axes that suit their values."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import attrs

from sfumato.comparison.cells import Cell, Comparison
from sfumato.comparison.names import group_by, noun_key

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK = "#22272e"
FAINT = "#d9dde3"
WIDTH = 7.6
"""Of a figure, in inches."""
# Distinguishable also with colour-blind eyes and in grey (Okabe and Ito, 2008).
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#6E6E6E", "#8B6F00")
PALEST = 0.55
"""How far towards white the last shade of a hue lies."""
CONTRAST = 4.5
"""Of words on white, as a ratio of luminances."""
WIDE = 30.0
"""A wider span of positive values is shown by the logarithm."""
MARKERS = {"exact": "oo", "upper": "v<", "lower": "^>", "estimate": "DD"}
"""On an upright and on a level axis, pointing to where the truth lies: an upper bound down."""


def use_style() -> AbstractContextManager[None]:
    """Draw as ``figures.mplstyle`` says, without touching the caller's style."""
    from matplotlib import style

    return style.context(["default", str(Path(__file__).with_name("figures.mplstyle"))])


@cache
def figure_class() -> type[Figure]:
    """Return matplotlib's figure, which notebooks also show where pyplot is not used."""
    from matplotlib.figure import Figure as Plain

    class Figure(Plain):
        def _repr_svg_(self) -> str:
            target = io.StringIO()
            save_figure(self, target, format="svg", metadata={"Date": None, "Creator": None})
            drawing = target.getvalue()
            return drawing[drawing.index("<svg") :]

        def __reduce__(self) -> Any:
            return _empty_figure, (), self.__getstate__()

    return Figure


def _empty_figure() -> Figure:
    """Return what a pickled figure is read into."""
    cls = figure_class()
    return cls.__new__(cls)


def save_figure(figure: Figure, target: Any, **options: Any) -> None:
    """Save with the options of this style, so that the same figure is the same file."""
    _take_words_literally(figure)
    with use_style():
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


@attrs.frozen
class MechanismColours:
    """The colour of every mechanism of a study."""

    colours: dict[Any, str]

    @classmethod
    def of_all(cls, comparisons: Iterable[Comparison]) -> MechanismColours:
        """Give hues to names and shades to what bears a name, in the order of the study."""
        cells = [cell for comparison in comparisons for cell in comparison.measured]
        settings = dict.fromkeys(noun_key(cell, "mechanism") for cell in cells)
        by_name = group_by(settings, lambda key: str(getattr(key[1], "name", key[1])))
        colours = {}
        for place, shades in enumerate(by_name.values()):
            for step, setting in enumerate(shades):
                share = PALEST * step / max(1, len(shades) - 1)
                colours[setting] = mix(PALETTE[place % len(PALETTE)], 255, share)
        return cls(colours)

    def __getitem__(self, cell: Cell) -> str:
        return self.colours[noun_key(cell, "mechanism")]


def _channels(colour: str) -> list[int]:
    return [int(colour[place : place + 2], 16) for place in (1, 3, 5)]


def mix(colour: str, grey: int, share: float) -> str:
    """Return a colour mixed with a share of a grey, 0 being black and 255 white.

    >>> from sfumato.report.style import mix
    >>> mix("#0072B2", 255, 0.5)
    '#80b8d8'
    """
    parts = _channels(colour)
    return "#" + "".join(f"{round(part + (grey - part) * share):02x}" for part in parts)


def darken_to_read(colour: str) -> str:
    """Return the colour, darkened until words in it can be read on white.

    >>> from sfumato.report.style import darken_to_read
    >>> darken_to_read("#0072B2"), darken_to_read("#ffffff")
    ('#0072B2', '#737373')
    """
    step = 0
    while 1.05 / (_luminance(mix(colour, 0, step / 20)) + 0.05) < CONTRAST:
        step += 1
    return mix(colour, 0, step / 20) if step else colour


def _luminance(colour: str) -> float:
    """Return the relative luminance of a colour, from 0 (black) to 1 (white)."""
    parts = [part / 255 for part in _channels(colour)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def finite_values(cells: Sequence[Cell]) -> list[float]:
    """Return the finite values among the cells' losses."""
    return [cell.loss.value for cell in cells if math.isfinite(cell.loss.value)]


def is_wide(low: float, high: float) -> bool:
    """Whether values from low to high are better shown by their logarithm."""
    return low > 0 and high / low > WIDE


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
