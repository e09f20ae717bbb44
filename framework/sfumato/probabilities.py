"""Arrays of probabilities: checked when they enter, drawn from without bias."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.content import read_only
from sfumato.errors import ParameterError

SUM_TOLERANCE = 1e-9
"""How far a law's probabilities may be from summing to one."""

FloatArray = NDArray[np.float64]


def checked_probabilities(values: ArrayLike, name: str) -> FloatArray:
    """Return a read-only array of numbers in [0, 1].

    >>> checked_probabilities([0.0, 1.5], "start")
    Traceback (most recent call last):
    sfumato.errors.ParameterError: start must lie in [0, 1]; got 1.5.
    """
    array = _as_real(values, name)
    outside = ~((array >= 0.0) & (array <= 1.0))  # written so that NaN is outside
    if outside.any():
        raise ParameterError(f"{name} must lie in [0, 1]; got {array[outside].flat[0]}.")
    return array


def checked_laws(values: ArrayLike, name: str) -> FloatArray:
    """Return a read-only array whose last axis holds probability laws.

    Sums may differ from one by `SUM_TOLERANCE`. A law that differs by more than rounding is
    divided by its sum, so that long chains do not drift; one that does not is kept bit for bit.

    >>> checked_laws([0.5, 0.4], "initial")
    Traceback (most recent call last):
    sfumato.errors.ParameterError: initial must sum to one within 1e-09; got a sum of 0.9.
    """
    array = _as_real(values, name)
    negative = ~(array >= 0.0)  # written so that NaN is negative
    if negative.any():
        raise ParameterError(f"{name} must lie in [0, 1]; got {array[negative].flat[0]}.")
    sums = array.sum(axis=-1)
    wrong = ~(np.abs(sums - 1.0) <= SUM_TOLERANCE)
    if wrong.any():
        culprit = float(sums[wrong].flat[0])
        raise ParameterError(
            f"{name} must sum to one within {SUM_TOLERANCE}; got a sum of {culprit:.12g}."
        )
    inexact = np.abs(sums - 1.0) > array.shape[-1] * np.finfo(np.float64).eps
    if not inexact.any():
        return array
    return read_only(np.where(inexact[..., None], array / sums[..., None], array))


def cumulative(laws: FloatArray) -> FloatArray:
    """Return cumulative laws that end in exactly one at the last possible outcome.

    >>> cumulative(np.array([0.5, 0.5, 0.0])).tolist()
    [0.5, 1.0, 1.0]
    """
    sums = np.cumsum(laws, axis=-1)
    return np.asarray(sums / sums[..., -1:])


def drawn(cumulative_laws: FloatArray, uniforms: FloatArray) -> NDArray[np.intp]:
    """Return one outcome per row by inversion; an outcome of probability zero is never drawn.

    >>> drawn(np.array([[0.0, 1.0], [0.25, 1.0]]), np.array([0.0, 0.1])).tolist()
    [1, 0]
    """
    return np.asarray((cumulative_laws <= uniforms[..., None]).sum(axis=-1), dtype=np.intp)


def _as_real(values: ArrayLike, name: str) -> FloatArray:
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "iuf":
            raise ParameterError(f"{name} must be an array of real numbers; got {array.dtype}.")
        return read_only(values if array is values else array)
    except (TypeError, ValueError) as error:
        if isinstance(error, ParameterError):
            raise
        raise ParameterError(f"{name} must be an array of real numbers; {error}.") from error
