"""Reading traces for fitting: one real series for every coordinate of every trace."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError

Array = NDArray[np.float64]

LARGEST = 1e140
"""Values beyond it, or below its inverse throughout, have no usable squares in float64."""


@attrs.frozen(eq=False)
class Series:
    """One coordinate of one trace.

    Attributes
    ----------
    values
        The numbers.
    stamps
        Their times from the first, in sampling periods.
    period
        The sampling period: the median step between stamps.
    """

    trace: int
    coordinate: int
    values: Array
    stamps: Array
    period: float

    def lags(self) -> Array:
        """Return the table of lags, in sampling periods."""
        return np.asarray(np.abs(self.stamps[:, None] - self.stamps[None, :]))


def read_series(name: str, traces: Any, times: Any, *, normalise: bool) -> list[Series]:
    """Return the series of all traces; refuse what cannot be fitted, naming the trace.

    >>> one, = read_series("rbf", [[1.0, 3.0]], None, normalise=True)
    >>> one.values, one.period
    (array([-1.,  1.]), 1.0)
    """
    if isinstance(traces, (str, bytes)) or not hasattr(traces, "__len__") or len(traces) == 0:
        raise ParameterError(f"{name}.fit must get one or more traces; got {traces!r}.")
    if not isinstance(normalise, (bool, np.bool_)):
        raise ParameterError(f"{name}.fit normalise must be True or False; got {normalise!r}.")
    found = []
    for position, given in enumerate(traces):
        where = f"{name}.fit trace {position}"
        table = _table(given, where)
        stamps = _stamps(times, position, len(traces), len(table), where)
        period = float(np.median(np.diff(stamps)))
        relative = (stamps - stamps[0]) / period
        for coordinate, column in enumerate(table.T):
            values = _normalised(column, where) if normalise else _as_given(column, where)
            found.append(Series(position, coordinate, values, relative, period))
    return found


def check_noise(name: str, noise: Any) -> None:
    """Refuse a measurement error that is not a positive number.

    >>> check_noise("rbf", 0.01)
    """
    number = isinstance(noise, Real) and not isinstance(noise, bool)
    if not (number and math.isfinite(noise) and noise > 0):
        raise ParameterError(f"{name}.fit noise must be finite and positive; got {noise!r}.")


def check_quantiles(quantiles: Any) -> None:
    """Refuse what is no pair of ordered quantiles.

    >>> check_quantiles((0.25, 0.75))
    """
    try:
        low, high = quantiles
        valid = bool(0 <= low <= high <= 1)
    except (TypeError, ValueError):
        valid = False
    if not valid:
        raise ParameterError(f"quantiles must be 0 <= low <= high <= 1; got {quantiles!r}.")


def common_length(lengths: NDArray[np.intp]) -> int:
    """Return the one number of points that all traces have, or refuse.

    >>> common_length(np.array([5, 5]))
    5
    """
    if np.unique(lengths).size > 1:
        raise ParameterError(
            f"prior_class must get times, as traces have from {lengths.min()} to "
            f"{lengths.max()} points; got none."
        )
    return int(lengths[0])


def _table(given: Any, where: str) -> Array:
    """Return a trace as (times, coordinates)."""
    try:
        array = np.asarray(given)
    except ValueError:
        raise ParameterError(f"{where} must have rows of equal length; got others.") from None
    if array.dtype.kind not in "iuf" or array.ndim not in (1, 2):
        raise ParameterError(
            f"{where} must be an array (times,) or (times, d) of real numbers; got "
            f"{array.dtype} of shape {array.shape}."
        )
    table = array.astype(np.float64)[:, None] if array.ndim == 1 else array.astype(np.float64)
    if len(table) < 2 or table.shape[1] == 0 or not np.all(np.isfinite(table)):
        raise ParameterError(
            f"{where} must have two or more finite values; got shape {array.shape}."
        )
    return table


def _stamps(times: Any, position: int, count: int, length: int, where: str) -> Array:
    if times is None:
        return np.arange(length, dtype=np.float64)
    own = times
    if isinstance(times, Sequence) or np.ndim(times) == 2:
        nested = len(times) > 0 and np.ndim(times[0]) == 1
        if nested and len(times) != count:
            raise ParameterError(
                f"{where} must have its own times; got {len(times)} lists of them."
            )
        own = times[position] if nested else times
    try:
        stamps = np.asarray(own, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(f"{where} must have {length} numbers as times; got others.") from None
    if stamps.shape != (length,) or not np.all(np.isfinite(stamps)):
        raise ParameterError(f"{where} must have {length} finite times; got shape {stamps.shape}.")
    if not np.all(np.diff(stamps) > 0):
        raise ParameterError(f"{where} must have increasing times; got others.")
    return stamps


def _normalised(column: Array, where: str) -> Array:
    """Return the values with mean zero and variance one, whatever their unit."""
    largest = float(np.max(np.abs(column)))
    scaled = column / largest if largest > 0 else column
    centred = scaled - scaled.mean()
    deviation = float(centred.std())
    if not deviation > 1e-12:
        raise ParameterError(f"{where} must not be constant; got one value throughout.")
    return np.asarray(centred / deviation)


def _as_given(column: Array, where: str) -> Array:
    """Return the values, if their squares fit float64 and a variance can be fitted to them."""
    largest = float(np.max(np.abs(column)))
    if not 1 / LARGEST <= largest <= LARGEST:
        raise ParameterError(
            f"{where} must have a largest value between {1 / LARGEST:.0e} and {LARGEST:.0e} where "
            f"it is not normalised; got {largest:.3g}: use other units, or normalise=True."
        )
    return np.array(column)
