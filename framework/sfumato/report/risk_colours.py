"""The colours of risk: dark is worse, whichever way that is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from sfumato.protocols.quantity import Quantity

if TYPE_CHECKING:
    from matplotlib.cm import ScalarMappable
    from matplotlib.figure import Figure

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
