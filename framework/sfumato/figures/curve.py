"""One line, set of dots or row of bars of a panel."""

from __future__ import annotations

from typing import Any, Literal

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.content import read_only

Style = Literal["line", "dashed", "dots", "bars", "level"]


def _numbers(values: Any) -> NDArray[np.float64]:
    return read_only(np.atleast_1d(np.asarray(values, dtype=np.float64)))


@attrs.frozen(eq=False)
class Curve:
    """Values y at x; infinite values are kept in the table and left out of the picture.

    ``"level"`` is a horizontal line at y[0], for a value that does not depend on x.
    NaN is rejected. Curves of one family have one colour; by default the label is the family.

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
