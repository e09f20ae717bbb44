"""One plot of a figure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import attrs

from sfumato.figures.curve import Curve


def _listed(curves: Iterable[Curve]) -> tuple[Curve, ...]:
    return tuple(curves)


@attrs.frozen(kw_only=True, eq=False)
class Panel:
    """Curves over one pair of axes.

    Attributes
    ----------
    band
        An interval of x that is shaded, such as the quartiles of fitted length scales.
    mark
        A value of x with a vertical line, such as their median.
    band_name, mark_name
        What the legend calls them; nothing where they have no name.
    names
        Words below the places x = 0, 1, ... where x counts things.
    log
        Which axis is logarithmic: "", "x" or "y".
    """

    title: str
    x: str
    y: str
    curves: tuple[Curve, ...] = attrs.field(converter=_listed)
    band: tuple[float, float] | None = None
    mark: float | None = None
    band_name: str | None = None
    mark_name: str | None = None
    names: tuple[str, ...] = ()
    log: Literal["", "x", "y"] = ""

    def rows(self) -> list[list[object]]:
        """Return (panel, curve, x, y) of every value."""
        return [
            [self.title, curve.label, x, y]
            for curve in self.curves
            for x, y in zip(curve.x.tolist(), curve.y.tolist(), strict=True)
        ]
