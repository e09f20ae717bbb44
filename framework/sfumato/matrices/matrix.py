"""What every covariance matrix can do, whatever its structure."""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.errors import OutsideHypotheses, ParameterError
from sfumato.randomness import generator_or_secure
from sfumato.values import ByContent, read_only

Array: TypeAlias = NDArray[np.float64]
Positions: TypeAlias = NDArray[np.intp]
Indices: TypeAlias = Sequence[int] | Positions

MAX_DENSE = 4_000  # largest number of rows for which an n x n array is formed (3.2 GB)
ROUNDOFF = 2.0**-53  # relative error of one float64 operation, rounded to nearest


class Arithmetic(Protocol):
    """Numbers that hold float64 values exactly, and matrices of them: rationals, or real balls.

    Matrices add, multiply by one another and by numbers, and have `transpose()`.
    """

    def number(self, value: float) -> Any:
        """Return a float64 number, exactly."""

    def matrix(self, rows: Any) -> Any:
        """Return a matrix from a float64 array, or from rows of numbers."""

    def entrywise(self, one: Any, other: Any) -> Any:
        """Return the entrywise product of two matrices."""

    def block(self, matrix: Any, rows: Indices, columns: Indices) -> Any:
        """Return the entries at `rows` and `columns`."""

    def of_times(
        self, covariance: Callable[[Any, Any], Any], times: Sequence[float], *, by_lag: bool
    ) -> Any:
        """Return the covariances of all pairs of times; `by_lag`, from those with the first."""


class Matrix(ByContent, abc.ABC):
    """A symmetric positive semidefinite matrix A; equal to another of its class by content."""

    __slots__ = ()

    @property
    @abc.abstractmethod
    def size(self) -> int:
        """Number of rows."""

    @abc.abstractmethod
    def diagonal(self) -> Array:
        """Return the diagonal."""

    @abc.abstractmethod
    def error_bound(self) -> float:
        """Bound the 2-norm of (covariance of what `sample` draws) − (entries of `dense`)."""

    @abc.abstractmethod
    def _apply(self, x: Array) -> Array: ...

    @abc.abstractmethod
    def _block(self, rows: Positions, columns: Positions) -> Array: ...

    @abc.abstractmethod
    def _draw(self, rng: np.random.Generator, count: int) -> Array: ...

    def apply(self, x: ArrayLike) -> Array:
        """Return A x for x of shape (n,) or (n, k)."""
        array = np.asarray(x, dtype=np.float64)
        if array.ndim not in (1, 2) or array.shape[0] != self.size:
            raise ParameterError(
                f"apply() must get an array of shape ({self.size},) or ({self.size}, k); got "
                f"{array.shape}."
            )
        return self._apply(array)

    def block(self, rows: Indices, columns: Indices) -> Array:
        """Return the entries A[rows][:, columns]."""
        return self._block(as_indices(rows, self.size), as_indices(columns, self.size))

    def sample(self, rng: np.random.Generator | None = None, size: int | None = None) -> Array:
        """Draw from N(0, A): shape (n,), or (size, n); no generator means the secure source."""
        draws = self._draw(generator_or_secure(rng), 1 if size is None else size)
        return draws[0] if size is None else draws

    def formula(
        self, numbers: Arithmetic, entries: Indices | None = None, *, sampled: bool = False
    ) -> Any:
        """Return A, or its block at `entries`, in exact numbers, the stored ones being exact.

        With `sampled`, the covariance of what `sample` draws: the product of its float64 factors.
        """
        return self._exactly(numbers, some_or_all(entries, self.size), sampled)

    def _exactly(self, numbers: Arithmetic, chosen: Positions, sampled: bool) -> Any:  # noqa: ARG002
        """Return the block at `chosen`: the stored entries, unless a structure says otherwise."""
        return numbers.matrix(self.block(chosen, chosen))

    def dense(self) -> Array:
        """Return the n x n array, where that is reasonable."""
        refuse_dense(self.size)
        every = np.arange(self.size)
        return self.block(every, every)

    def columns(self, indices: Indices) -> Array:
        """Return the columns at `indices`, shape (n, k)."""
        return self.block(np.arange(self.size), indices)

    def trace(self) -> float:
        """Return the sum of the diagonal."""
        return float(np.sum(self.diagonal()))

    def smallest_eigenvalue(self) -> float:
        """Return a certified lower bound of the smallest eigenvalue; 0.0 if none is known."""
        return 0.0

    def norm_bound(self) -> float:
        """Return an upper bound of the 2-norm, which never exceeds the trace."""
        return rounded_up(self.trace(), self.size)

    def rank_bound(self, entries: Indices | None = None) -> int:
        """Bound the rank of A, or of its block at `entries`, from the structure alone."""
        return int(np.count_nonzero(self.diagonal()[some_or_all(entries, self.size)]))

    def keeps_apart(self, width: int) -> bool:
        """Whether the structure shows that entries i ≢ j modulo `width` are independent.

        They belong to different coordinates of a trace of that many.
        """
        return width == 1

    def scaled(self, factor: float) -> Matrix:
        """Return factor · A."""
        from sfumato.matrices.combinations import Scaled

        return Scaled(self, factor)

    def permuted(self, order: Indices) -> Matrix:
        """Return the matrix whose entry (i, j) is A[order[i], order[j]]."""
        from sfumato.matrices.structured import Dense

        order = as_permutation(order, self.size)
        return Dense(self.block(order, order))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} matrix, {self.size} x {self.size}>"


def refuse_dense(size: int) -> None:
    """Refuse what would need n x n numbers, before any of them is made."""
    if size > MAX_DENSE:
        raise OutsideHypotheses(
            f"this needs a dense covariance, of at most {MAX_DENSE} entries; got {size}: use a "
            "shorter trace, or one secret time of a prior on a regular grid."
        )


def is_matrix(_: object, attribute: attrs.Attribute[Any], value: object) -> None:
    """Refuse, as an attrs validator, anything that is not a Matrix."""
    if not isinstance(value, Matrix):
        raise ParameterError(
            f"{attribute.name} must be a Matrix, such as Dense or Diagonal; got "
            f"{type(value).__name__}."
        )


def rounded_up(total: float, terms: int) -> float:
    """Return an upper bound of a sum of `terms` non-negative numbers that rounded to `total`."""
    return total * (1.0 + 2.0 * terms * ROUNDOFF)


def norms(columns: Array) -> Array:
    """Return the length of every column."""
    return np.asarray(np.linalg.norm(columns, axis=0))


def finite_array(value: ArrayLike, name: str, ndim: int) -> Array:
    """Return a read-only float64 array; refuse what is empty, misshapen, complex or not finite."""
    given = np.asarray(value)
    if given.dtype.kind not in "iuf":
        raise ParameterError(f"{name} must hold real numbers; got dtype {given.dtype}.")
    if given.ndim != ndim or given.size == 0:
        raise ParameterError(
            f"{name} must be a non-empty array of {ndim} dimension(s); got shape {given.shape}."
        )
    array = read_only(value)
    if not np.all(np.isfinite(array)):
        position = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise ParameterError(f"{name} must be finite; got {array[position]} at {position}.")
    return array


def refuse_overflow(variances: Array, name: str) -> None:
    """Refuse variances so large that sums over the entries would overflow."""
    largest = float(variances.max())
    if largest * variances.size > np.finfo(np.float64).max:
        raise ParameterError(f"{name} must have a finite sum of variances; got up to {largest}.")


def as_indices(indices: Indices, size: int) -> Positions:
    """Return `indices` as an index array after checking that each lies in 0..size − 1."""
    array = np.asarray(indices)
    if array.size == 0:
        return np.zeros(0, dtype=np.intp)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ParameterError(
            f"indices must be a list of integers; got {array.dtype} of shape {array.shape}."
        )
    if array.min() < 0 or array.max() >= size:
        raise ParameterError(
            f"indices must lie in 0..{size - 1}; got {array.min()} to {array.max()}."
        )
    return array.astype(np.intp)


def some_or_all(indices: Indices | None, size: int) -> Positions:
    """Return `indices`, checked; every index where there are none."""
    return np.arange(size) if indices is None else as_indices(indices, size)


def as_permutation(order: Indices, size: int) -> Positions:
    """Return `order` as an index array after checking that it is a permutation."""
    array = np.asarray(order)
    if array.dtype.kind not in "iu" or not np.array_equal(np.sort(array), np.arange(size)):
        raise ParameterError(
            f"order must list each of 0..{size - 1} once; got an array of shape {array.shape}."
        )
    return array.astype(np.intp)
