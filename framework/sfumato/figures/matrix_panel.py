"""A matrix shown as a picture."""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.content import read_only


@attrs.frozen(kw_only=True, eq=False)
class MatrixPanel:
    """A matrix as a map of colours, from its smallest to its largest entry."""

    title: str
    matrix: NDArray[np.float64] = attrs.field(converter=read_only)

    def rows(self) -> list[list[object]]:
        """Return (panel, row, column, entry) of every entry."""
        return [
            [self.title, f"row {row}", column, entry]
            for row, entries in enumerate(self.matrix.tolist())
            for column, entry in enumerate(entries)
        ]
