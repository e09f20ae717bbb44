"""Arrays: vectors, tables, probability vectors, stochastic matrices and covariances."""
# ruff: noqa: D102 - what every domain can do is documented on Domain

from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.domains.domain import Domain, Rejected, Sizes, evaluate_size, split_size
from sfumato.errors import OutsideHypotheses, ParameterError
from sfumato.values import read_only

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

# Rows of published transition matrices are rounded to about ten digits.
ROW_SUM_TOLERANCE = 1e-9

# A trace of more points does not fit in the memory of most machines.
MOST_POINTS = 100_000_000


def _numbers(value: Any, words: str) -> NDArray[np.float64]:
    """Return a float array, rejecting text, booleans, complex numbers, NaN and infinities."""
    try:
        raw = np.asarray(value)
    except ValueError:  # ragged nested lists
        raise Rejected(f"{words} with rows of equal length") from None
    if raw.dtype.kind not in "iuf":
        raise Rejected(f"{words} of real numbers")
    with np.errstate(over="ignore"):  # a wider number that overflows is not finite, as said below
        array = raw.astype(np.float64)
    if not np.isfinite(array).all():
        raise Rejected(f"{words} of finite numbers")
    return array


@attrs.frozen
class Array(Domain):
    """A real array whose axes have named sizes."""

    words: str
    dims: tuple[str, ...]

    @property
    def sentence(self) -> str:
        return f"{self.words} of shape ({', '.join(self.dims)})"

    def size_names(self) -> frozenset[str]:
        return frozenset(split_size(dim)[0] for dim in self.dims)

    def convert(self, value: Any, sizes: Sizes) -> NDArray[np.float64]:
        array = self._shaped_if_empty(_numbers(value, self.words), sizes)
        if array.size == 0 and not self._may_be_empty(array):
            raise Rejected(f"{self.words}, not an empty one")
        wanted = ", ".join(sizes.wanted(dim) for dim in self.dims)
        if array.ndim != len(self.dims) or not all(
            sizes.agree(dim, length) for dim, length in zip(self.dims, array.shape, strict=True)
        ):
            raise Rejected(f"{self.words} of shape ({wanted}), not {array.shape}")
        self.check(array)
        array.setflags(write=False)
        return array

    def _shaped_if_empty(self, array: NDArray[np.float64], sizes: Sizes) -> NDArray[np.float64]:
        """Give [] the shape that it had before it was written, where the sizes are known."""
        rest = self.dims[1:]
        if array.shape != (0,) or not rest or split_size(self.dims[0])[1] >= 0:
            return array
        if any(split_size(dim)[0] not in sizes for dim in rest):
            return array
        return np.zeros((0, *(evaluate_size(dim, sizes) for dim in rest)))

    def _may_be_empty(self, array: NDArray[np.float64]) -> bool:
        """Whether only an axis of size such as T-1 is empty: a trace of one step has no moves."""
        return array.ndim == len(self.dims) and all(
            length > 0 or split_size(dim)[1] < 0
            for dim, length in zip(self.dims, array.shape, strict=True)
        )

    def check(self, array: NDArray[np.float64]) -> None:
        """Reject contents outside the domain; any real numbers will do here."""

    def plain(self, value: Any) -> Any:
        return np.asarray(value).tolist()

    def strategy(self, sizes: Mapping[str, int]) -> SearchStrategy[Any]:
        return self._entries(sizes, -4.0, 4.0)

    def _entries(self, sizes: Mapping[str, int], low: float, high: float) -> SearchStrategy[Any]:
        from hypothesis import strategies as st

        return self._array_of(sizes, st.floats(low, high, allow_nan=False, allow_subnormal=False))

    def _array_of(
        self, sizes: Mapping[str, int], entry: SearchStrategy[Any]
    ) -> SearchStrategy[Any]:
        from hypothesis import strategies as st

        shape = tuple(evaluate_size(dim, sizes) for dim in self.dims)
        count = int(np.prod(shape))
        return st.lists(entry, min_size=count, max_size=count).map(
            lambda entries: np.reshape(np.array(entries, dtype=float), shape)
        )

    def _moderate(self, sizes: Mapping[str, int]) -> SearchStrategy[Any]:
        """Draw multiples of a twelfth from 0 to 1: floats alone are mostly extreme or tiny."""
        from hypothesis import strategies as st

        return self._array_of(sizes, st.integers(0, 12)).map(lambda array: array / 12.0)


@attrs.frozen
class Table(Array):
    """Entries between 0 and 1."""

    def check(self, array: NDArray[np.float64]) -> None:
        if (array < 0).any() or (array > 1).any():
            raise Rejected(f"{self.words}, each between 0 and 1")

    def strategy(self, sizes: Mapping[str, int]) -> SearchStrategy[Any]:
        """Draw entries, 0 and 1 often."""
        extreme = self._entries(sizes, -0.25, 1.25).map(lambda array: np.clip(array, 0.0, 1.0))
        return self._moderate(sizes) | extreme


@attrs.frozen
class Stochastic(Array):
    """Rows along the last axis are probability vectors."""

    def check(self, array: NDArray[np.float64]) -> None:
        if (array < 0).any():
            raise Rejected(f"{self.words} without negative entries")
        sums = array.sum(axis=-1)
        if sums.size == 0:
            return
        worst = sums.flat[int(np.argmax(np.abs(sums - 1)))]
        if abs(worst - 1) > ROW_SUM_TOLERANCE:
            raise Rejected(f"{self.words} (each row sums to one; one sums to {worst:.10g})")

    def strategy(self, sizes: Mapping[str, int]) -> SearchStrategy[Any]:
        """Draw rows with exact zeros now and then, and uniform ones."""
        from hypothesis import strategies as st

        def normalise(array: NDArray[np.float64]) -> NDArray[np.float64]:
            weights = np.maximum(array, 0.0)
            weights[..., 0] += np.where(weights.sum(axis=-1) == 0, 1.0, 0.0)
            result: NDArray[np.float64] = weights / weights.sum(axis=-1, keepdims=True)
            return result

        alike = self._array_of(sizes, st.just(1.0))  # every row uniform
        return (self._moderate(sizes) | alike | self._entries(sizes, -0.5, 1.0)).map(normalise)


@attrs.frozen
class Covariance(Array):
    """A symmetric positive semidefinite matrix."""

    def check(self, array: NDArray[np.float64]) -> None:
        """Reject what a dense matrix rejects: asymmetry, or indefiniteness beyond rounding."""
        from sfumato.matrices.structured import Dense

        try:
            Dense(array)
        except (ParameterError, OutsideHypotheses) as error:
            reason = str(error).removeprefix("dense.entries must be ").rstrip(".")
            raise Rejected(f"{self.words} ({reason})") from None

    def strategy(self, sizes: Mapping[str, int]) -> SearchStrategy[Any]:
        """Draw F Fᵀ plus a little of the identity."""
        return self._entries(sizes, -1.0, 1.0).map(
            lambda factor: factor @ factor.T + 0.1 * np.eye(len(factor))
        )


def VECTOR(size: str) -> Array:  # noqa: N802 - domains are written in capitals
    """Return the domain of real vectors of length `size`."""
    return Array("a vector", (size,))


def MATRIX(rows: str, columns: str) -> Array:  # noqa: N802 - domains are written in capitals
    """Return the domain of real matrices."""
    return Array("a table of numbers", (rows, columns))


def TABLE(*dims: str) -> Table:  # noqa: N802 - domains are written in capitals
    """Return the domain of arrays with entries between 0 and 1."""
    return Table("probabilities", dims)


def SIMPLEX(size: str) -> Stochastic:  # noqa: N802 - domains are written in capitals
    """Return the domain of probability vectors of length `size`."""
    return Stochastic("a probability vector", (size,))


def STOCHASTIC(*dims: str) -> Stochastic:  # noqa: N802 - domains are written in capitals
    """Return the domain of stochastic matrices, or stacks of them."""
    return Stochastic("stochastic matrices" if len(dims) > 2 else "a stochastic matrix", dims)


def COVARIANCE(size: str) -> Covariance:  # noqa: N802 - domains are written in capitals
    """Return the domain of covariance matrices of `size` rows."""
    return Covariance("a positive semidefinite matrix", (size, size))


@attrs.frozen
class Times(Domain):
    """Time stamps: a number n meaning 0, 1, ..., n-1, or strictly increasing stamps."""

    size: str
    sentence = "a number of points, or increasing time stamps"

    def size_names(self) -> frozenset[str]:
        return frozenset({split_size(self.size)[0]})

    def convert(self, value: Any, sizes: Sizes) -> int | NDArray[np.float64]:
        if isinstance(value, numbers.Integral) and not isinstance(value, bool):
            count = int(value)
            stamps: int | NDArray[np.float64] = count
            if not 1 <= count <= MOST_POINTS:
                raise Rejected(f"between 1 and {MOST_POINTS:,} points")
        else:
            array = _numbers(value, self.sentence)
            if array.ndim != 1 or array.size == 0 or (np.diff(array) <= 0).any():
                raise Rejected(self.sentence)
            count, stamps = len(array), read_only(array)
        if not sizes.agree(self.size, count):
            raise Rejected(f"{sizes.wanted(self.size)} points, as the other parameters have it")
        return stamps

    def plain(self, value: Any) -> Any:
        return value if isinstance(value, int) else np.asarray(value).tolist()

    def strategy(self, sizes: Mapping[str, int]) -> SearchStrategy[Any]:
        from hypothesis import strategies as st

        count = evaluate_size(self.size, sizes)
        gaps = st.lists(st.floats(0.25, 3.0), min_size=count, max_size=count)
        return st.just(count) | gaps.map(lambda steps: np.cumsum(np.array(steps)))


TIMES = Times


def stamps(times: int | NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the time stamps that a `Times` value stands for.

    >>> from sfumato.domains import stamps
    >>> stamps(3)
    array([0., 1., 2.])
    """
    return np.arange(times, dtype=np.float64) if isinstance(times, int) else times
