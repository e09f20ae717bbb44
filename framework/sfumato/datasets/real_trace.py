"""A recorded trace of numbers."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.content import ByContent, read_only
from sfumato.errors import DataError


def _columns(values: Any) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64)
    return read_only(array[:, None] if array.ndim == 1 else array)


@attrs.frozen(eq=False)
class RealTrace(ByContent):
    """Numbers recorded at times: N time stamps in seconds and an (N, d) array of values.

    Time stamps never decrease; NaN and infinities are rejected.

    >>> trace = RealTrace("ann", [0.0, 5.0], [[1.0, 2.0], [1.5, 2.5]])
    >>> len(trace), trace.dimensions
    (2, 2)
    """

    user: str
    times: NDArray[np.float64] = attrs.field(converter=read_only)
    values: NDArray[np.float64] = attrs.field(converter=_columns)
    name: str = ""

    def __attrs_post_init__(self) -> None:
        count = len(self.times)
        if self.times.shape != (count,) or self.values.shape[:1] != (count,) or count == 0:
            raise DataError(
                f"a trace must have as many rows of values as times, at least one; got "
                f"{self.values.shape} for {self.times.shape}."
            )
        if not (np.isfinite(self.times).all() and np.isfinite(self.values).all()):
            raise DataError(f"a trace must be finite; got NaN or infinity for {self.user!r}.")
        if (np.diff(self.times) < 0).any():
            raise DataError(f"times of a trace must not decrease; got a step back: {self.user!r}.")

    def __len__(self) -> int:
        return len(self.times)

    @property
    def dimensions(self) -> int:
        """The number of values at each time."""
        return int(self.values.shape[1])
