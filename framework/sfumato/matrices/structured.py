"""Matrices of one known structure: diagonal, low rank, Toeplitz."""

from __future__ import annotations

import functools
import math
from typing import Any

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.errors import OutsideHypotheses, ParameterError
from sfumato.matrices.dense import Dense, is_semidefinite
from sfumato.matrices.matrix import (
    MAX_DENSE,
    ROUNDOFF,
    Arithmetic,
    Array,
    Indices,
    Matrix,
    Positions,
    as_permutation,
    finite_array,
    refuse_overflow,
    rounded_up,
    some_or_all,
)


def _variances(value: ArrayLike) -> Array:
    variances = finite_array(value, "diagonal.variances", 1)
    if np.any(variances < 0):
        raise ParameterError(f"diagonal.variances must be at least 0; got {variances.min()}.")
    refuse_overflow(variances, "diagonal.variances")
    return variances


@attrs.frozen(eq=False, repr=False)
class Diagonal(Matrix):
    """The diagonal matrix of `variances`.

    >>> Diagonal([1.0, 4.0]).dense()
    array([[1., 0.],
           [0., 4.]])
    """

    variances: Array = attrs.field(converter=_variances)

    @classmethod
    def constant(cls, variance: float, size: int) -> Diagonal:
        """Return variance · I."""
        return cls(np.full(size, variance, dtype=np.float64))

    @property
    def size(self) -> int:
        return int(self.variances.size)

    def diagonal(self) -> Array:
        return self.variances

    def _apply(self, x: Array) -> Array:
        return (self.variances * x.T).T

    def _block(self, rows: Positions, columns: Positions) -> Array:
        same = rows[:, None] == columns[None, :]
        return np.where(same, self.variances[rows][:, None], 0.0)

    def _draw(self, rng: np.random.Generator, count: int) -> Array:
        return np.sqrt(self.variances) * rng.standard_normal((count, self.size))

    def error_bound(self) -> float:
        """Bound the error of the square roots."""
        return 4 * ROUNDOFF * self.norm_bound()

    def smallest_eigenvalue(self) -> float:
        """Return the smallest variance."""
        return float(self.variances.min())

    def norm_bound(self) -> float:
        """Return the largest variance."""
        return float(self.variances.max())

    def permuted(self, order: Indices) -> Diagonal:
        return Diagonal(self.variances[as_permutation(order, self.size)])


def _factor(value: ArrayLike) -> Array:
    array = np.asarray(value)
    factor = finite_array(array[:, None] if array.ndim == 1 else array, "low_rank.factor", 2)
    if not np.isfinite(np.vdot(factor, factor)):
        raise ParameterError("low_rank.factor must have finite squares; got an overflow.")
    return factor


@attrs.frozen(eq=False, repr=False)
class LowRank(Matrix):
    """A = Q Qᵀ for an (n, k) factor Q; a vector counts as one column.

    >>> LowRank([1.0, 2.0]).dense()
    array([[1., 2.],
           [2., 4.]])
    """

    factor: Array = attrs.field(converter=_factor)

    @property
    def size(self) -> int:
        return int(self.factor.shape[0])

    def diagonal(self) -> Array:
        return np.asarray(np.einsum("ij,ij->i", self.factor, self.factor))

    def _apply(self, x: Array) -> Array:
        return np.asarray(self.factor @ (self.factor.T @ x))

    def _block(self, rows: Positions, columns: Positions) -> Array:
        return np.asarray(self.factor[rows] @ self.factor[columns].T)

    def _draw(self, rng: np.random.Generator, count: int) -> Array:
        return np.asarray(rng.standard_normal((count, self.factor.shape[1])) @ self.factor.T)

    def _exactly(self, numbers: Arithmetic, chosen: Positions, sampled: bool) -> Any:  # noqa: ARG002
        factor = numbers.matrix(self.factor[chosen])
        return factor * factor.transpose()

    def error_bound(self) -> float:
        """Bound the rounding of Q Qᵀ: an inner product of k terms in each entry."""
        return float(self.factor.shape[1] + 2) * ROUNDOFF * self.norm_bound()

    def rank_bound(self, entries: Indices | None = None) -> int:
        """Return the smaller number of nonzero rows and nonzero columns of Q."""
        rows = self.factor[some_or_all(entries, self.size)]
        return int(min(np.count_nonzero(np.any(rows, axis=axis)) for axis in (0, 1)))

    def permuted(self, order: Indices) -> LowRank:
        return LowRank(self.factor[as_permutation(order, self.size)])


SMALL = 1_000
"""Up to this size, definiteness is checked and draws are made with the dense matrix."""


def _first_column(value: ArrayLike) -> Array:
    column = finite_array(value, "toeplitz.first_column", 1)
    variance = float(column[0])
    if variance < 0:
        raise ParameterError(f"toeplitz.first_column must start with a variance; got {variance}.")
    if not math.isfinite(variance * column.size):
        raise ParameterError("toeplitz.first_column must give a finite trace; got inf.")
    if np.max(np.abs(column)) > variance or _is_indefinite(column):
        raise ParameterError(
            "toeplitz.first_column must give a positive semidefinite matrix up to rounding; "
            "got an indefinite one."
        )
    return column


def _is_indefinite(column: Array) -> bool:
    """Whether the matrix is indefinite; above SMALL only what Fourier vectors prove.

    The quotients f*Af / f*f for the n Fourier vectors f are one transform of (1 − j/n) c_j.
    """
    if column[0] == 0:
        return False
    correlation, size = column / column[0], column.size
    if size <= SMALL:
        lags = np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
        return not is_semidefinite(correlation[lags])
    weighted = (1 - np.arange(size) / size) * correlation
    quotients = 2 * np.fft.fft(weighted).real - 1
    return bool(quotients.min() < -64 * size * ROUNDOFF)


@attrs.frozen(eq=False, repr=False, slots=False)
class Toeplitz(Matrix):
    """A[i, j] = first_column[|i − j|], kept and multiplied in O(n) memory.

    Draws use the dense factor up to 1,000 rows, above that a circulant matrix of 2n − 2 rows that
    contains A; they are refused if that matrix is indefinite, as no such draw would be honest.

    >>> Toeplitz([1.0, 0.5]).apply([1.0, 0.0])
    array([1. , 0.5])
    """

    first_column: Array = attrs.field(converter=_first_column)

    @property
    def size(self) -> int:
        return int(self.first_column.size)

    def diagonal(self) -> Array:
        return np.full(self.size, self.first_column[0])

    def _apply(self, x: Array) -> Array:
        from scipy.fft import irfft, rfft

        spectrum, length = self._ring
        # Transforms are fastest along contiguous rows.
        rows = np.ascontiguousarray(x.T)
        product = irfft(spectrum * rfft(rows, length), length)[..., : self.size]
        return np.asarray(product.T)

    @functools.cached_property
    def _ring(self) -> tuple[NDArray[np.complex128], int]:
        """Transform of the first column wrapped onto a ring that is long enough, and its length."""
        from scipy.fft import next_fast_len, rfft

        length = next_fast_len(2 * self.size - 1, real=True)
        ring = np.zeros(length)
        ring[: self.size] = self.first_column
        if self.size > 1:
            ring[-(self.size - 1) :] = self.first_column[:0:-1]
        return rfft(ring), length

    def _block(self, rows: Positions, columns: Positions) -> Array:
        return np.asarray(self.first_column[np.abs(rows[:, None] - columns[None, :])])

    def dense(self) -> Array:
        """Return the n x n array, where that is reasonable: row i is a window of one vector."""
        if self.size > MAX_DENSE:
            return super().dense()  # which refuses
        ring = np.concatenate([self.first_column[:0:-1], self.first_column])
        return np.array(np.lib.stride_tricks.sliding_window_view(ring, self.size)[::-1])

    @functools.cached_property
    def _small(self) -> Dense:
        return Dense(self.dense())

    @functools.cached_property
    def _spectrum(self) -> Array:
        """Eigenvalues of the circulant matrix of 2n − 2 rows whose leading block is A."""
        ring = np.concatenate([self.first_column, self.first_column[-2:0:-1]])
        return np.fft.fft(ring).real

    def _spectrum_error(self) -> float:
        # Each eigenvalue is a sum of the ring; a fast transform errs by a multiple of log(length).
        total = float(np.sum(np.abs(self.first_column))) * 2
        return 8 * math.log2(2 * self.size) * ROUNDOFF * total

    def _draw(self, rng: np.random.Generator, count: int) -> Array:
        """Colour white noise on the ring, one draw at a time, and keep the first n entries."""
        from scipy.fft import irfft, rfft

        if self.size <= SMALL:
            return self._small.sample(rng, count)
        spectrum = self._spectrum
        if spectrum.min() < -self._spectrum_error():
            raise OutsideHypotheses(
                f"toeplitz.sample must find a circulant matrix that is positive semidefinite; got "
                f"the eigenvalue {spectrum.min():.3g}: release a shorter trace or other noise."
            )
        length = spectrum.size
        half = np.sqrt(np.maximum(spectrum[: length // 2 + 1], 0.0))
        draws = [
            irfft(half * rfft(rng.standard_normal(length)), length)[: self.size]
            for _ in range(count)
        ]
        return np.array(draws).reshape(count, self.size)

    def _exactly(self, numbers: Arithmetic, chosen: Positions, sampled: bool) -> Any:
        if not sampled:
            return super()._exactly(numbers, chosen, sampled)
        if self.size > SMALL:
            raise OutsideHypotheses(
                f"exact arithmetic on a sampled Toeplitz matrix takes at most {SMALL} rows; got "
                f"{self.size}."
            )
        return self._small.formula(numbers, chosen, sampled=True)

    def error_bound(self) -> float:
        """Bound the covariance error of what is sampled."""
        if self.size <= SMALL:
            return self._small.error_bound()
        return 2 * self._spectrum_error()

    def smallest_eigenvalue(self) -> float:
        """Return the smallest eigenvalue's bound: A is a block of the circulant matrix."""
        if self.size <= SMALL:
            return self._small.smallest_eigenvalue()
        return float(max(0.0, self._spectrum.min() - 3 * self._spectrum_error()))

    def norm_bound(self) -> float:
        """Return the smaller of the trace and a bound of the absolute row sums."""
        rows = 2 * float(np.sum(np.abs(self.first_column)))
        return rounded_up(min(self.trace(), rows), self.size)
