"""A published figure or table that can be computed again."""

from __future__ import annotations

from collections.abc import Callable

import attrs

from sfumato.figures.drawing import Drawing
from sfumato.figures.request import FigureRequest


@attrs.frozen
class Figure:
    """Where a figure was published, and how it is computed.

    Attributes
    ----------
    reference
        Paper and number.
    compute
        Returns the drawing; imports what it needs when it is called.
    needs
        The data of one's own that it can be given, in words; "" for none.

    >>> Figure("Nobody (1999), Figure 1", lambda request: Drawing(panels=())).reference
    'Nobody (1999), Figure 1'
    """

    reference: str
    compute: Callable[[FigureRequest], Drawing]
    needs: str = ""
