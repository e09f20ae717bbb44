"""A figure that has been computed: panels, and what is to be said about them."""

from __future__ import annotations

import inspect
from collections.abc import Iterable

import attrs

from sfumato.figures.matrix_panel import MatrixPanel
from sfumato.figures.panel import Panel


def _listed(panels: Iterable[Panel | MatrixPanel]) -> tuple[Panel | MatrixPanel, ...]:
    return tuple(panels)


@attrs.frozen(kw_only=True, eq=False)
class Drawing:
    """The panels of a figure, row by row, and an honest account.

    Attributes
    ----------
    account
        What was reproduced exactly, what differs from the published figure, and why.
    columns
        Panels in a row of the picture.
    """

    panels: tuple[Panel | MatrixPanel, ...] = attrs.field(converter=_listed)
    account: str = attrs.field(default="", converter=inspect.cleandoc)
    columns: int = 2
