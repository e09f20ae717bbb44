"""A stationary kernel on a regular grid."""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.errors import OutsideHypotheses, ParameterError
from sfumato.matrices.dense import Dense, is_semidefinite
from sfumato.matrices.matrix import (
    MAX_DENSE,
    ROUNDOFF,
    Array,
    Indices,
    Matrix,
    as_indices,
    finite_array,
    in_fractions,
    operand,
    rounded_up,
)
from sfumato.randomness import generator_or_secure

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
        """Number of rows."""
        return int(self.first_column.size)

    def diagonal(self) -> Array:
        """Return the diagonal."""
        return np.full(self.size, self.first_column[0])

    def apply(self, x: ArrayLike) -> Array:
        """Return A x for x of shape (n,) or (n, k), by fast Fourier transforms."""
        from scipy.fft import irfft, rfft

        array = operand(x, self.size)
        spectrum, length = self._ring
        # Transforms are fastest along contiguous rows.
        rows = np.ascontiguousarray(array.T)
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

    def block(self, rows: Indices, columns: Indices) -> Array:
        """Return the entries A[rows][:, columns]."""
        rows, columns = as_indices(rows, self.size), as_indices(columns, self.size)
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

    def sample(self, rng: np.random.Generator | None = None, size: int | None = None) -> Array:
        """Draw from N(0, A)."""
        if self.size <= SMALL:
            return self._small.sample(rng, size)
        spectrum = self._spectrum
        if spectrum.min() < -self._spectrum_error():
            raise OutsideHypotheses(
                f"toeplitz.sample must find a circulant matrix that is positive semidefinite; got "
                f"the eigenvalue {spectrum.min():.3g}: release a shorter trace or other noise."
            )
        return self._draw(generator_or_secure(rng), np.sqrt(np.maximum(spectrum, 0.0)), size)

    def _draw(self, rng: np.random.Generator, root: Array, size: int | None) -> Array:
        """Colour white noise on the ring, one draw at a time, and keep the first n entries."""
        from scipy.fft import irfft, rfft

        half = root[: root.size // 2 + 1]
        draws = [
            irfft(half * rfft(rng.standard_normal(root.size)), root.size)[: self.size]
            for _ in range(1 if size is None else size)
        ]
        return np.asarray(draws[0] if size is None else np.stack(draws))

    def in_balls(self, *, sampled: bool = False) -> Any:
        """Return A, or what is sampled, as a flint `arb_mat`, up to 1,000 rows."""
        self._refuse_large()
        return self._small.in_balls(sampled=sampled)

    def rational(self, entries: Indices, *, sampled: bool = False) -> list[list[Fraction]]:
        """Return the block at `entries` in rational numbers."""
        if not sampled:
            return in_fractions(self.block(entries, entries))
        self._refuse_large()
        return self._small.rational(entries, sampled=True)

    def _refuse_large(self) -> None:
        if self.size > SMALL:
            raise OutsideHypotheses(
                f"exact arithmetic on a Toeplitz matrix takes at most {SMALL} rows; got "
                f"{self.size}."
            )

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
