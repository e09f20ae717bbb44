"""Matrices given by numbers of their own: dense, diagonal, low rank, Toeplitz."""

from __future__ import annotations

import functools
import math
from typing import Any

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.errors import OutsideHypotheses, ParameterError
from sfumato.matrices.matrix import (
    ROUNDOFF,
    Arithmetic,
    Array,
    Indices,
    Matrix,
    Positions,
    as_permutation,
    finite_array,
    refuse_dense,
    refuse_overflow,
    rounded_up,
    some_or_all,
)
from sfumato.values import read_only

# Up to this size, a Toeplitz matrix is checked for definiteness and sampled as a dense one.
SMALL = 1_000
# Largest asymmetry, relative to the entries' standard deviations, that counts as rounding.
ASYMMETRY = 1e-12


def _entries(value: ArrayLike) -> Array:
    array = finite_array(value, "dense.entries", 2)
    rows, columns = array.shape
    if rows != columns:
        raise ParameterError(f"dense.entries must be square; got shape {array.shape}.")
    refuse_dense(rows)
    correlation = _correlation(array)
    if np.max(np.abs(correlation - correlation.T)) > ASYMMETRY or not is_semidefinite(correlation):
        raise ParameterError(
            "dense.entries must be symmetric and positive semidefinite up to rounding; got another "
            "matrix."
        )
    return array if np.array_equal(array, array.T) else read_only(array / 2 + array.T / 2)


def _correlation(entries: Array) -> Array:
    """Scale to unit diagonal, so that every later test is free of units."""
    variances = np.diagonal(entries)
    silent = variances == 0
    if np.any(variances < 0) or np.any(entries[silent]) or np.any(entries[:, silent]):
        raise ParameterError(
            "dense.entries must be positive semidefinite; got a negative variance, or a covariance "
            "with a variance of zero."
        )
    refuse_overflow(variances, "dense.entries")
    deviations = np.sqrt(np.where(silent, 1.0, variances))
    # Entry by entry in two steps: a product of deviations could overflow or underflow.
    return np.asarray(entries / deviations[:, None] / deviations[None, :])


def is_semidefinite(correlation: Array) -> bool:
    """Whether a matrix of diagonal 0 or 1 is positive semidefinite up to rounding of its entries.

    A Cholesky factorisation of A + 64 n u I succeeds if A is within that of semidefinite.
    """
    from scipy.linalg import LinAlgError, cholesky

    size = correlation.shape[0]
    shifted = correlation + 64 * size * ROUNDOFF * np.eye(size)
    try:
        cholesky(shifted, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return False
    return True


@attrs.frozen(eq=False, repr=False, slots=False)
class Dense(Matrix):
    """A matrix given by all its entries.

    What is sampled is F Fᵀ for the factor F of a Cholesky factorisation with pivoting, which stops
    where only rounding is left: rounded entries may be slightly indefinite.

    >>> from sfumato.matrices import Dense
    >>> Dense([[2.0, 1.0], [1.0, 2.0]]).apply([1.0, 0.0])
    array([2., 1.])
    """

    entries: Array = attrs.field(converter=_entries)

    @property
    def size(self) -> int:
        return int(self.entries.shape[0])

    def dense(self) -> Array:
        return self.entries

    def diagonal(self) -> Array:
        return np.diagonal(self.entries)

    def _apply(self, x: Array) -> Array:
        return np.asarray(self.entries @ x)

    def _block(self, rows: Positions, columns: Positions) -> Array:
        return self.entries[np.ix_(rows, columns)]

    @functools.cached_property
    def sampling_factor(self) -> Array:
        """The (n, rank) factor F; what is sampled has covariance F Fᵀ."""
        from scipy.linalg.lapack import dpstrf

        deviations = np.sqrt(self.diagonal())
        packed, pivots, rank, _ = dpstrf(_correlation(self.entries), lower=1)
        factor = np.zeros((self.size, rank))
        factor[pivots - 1] = np.tril(packed)[:, :rank]
        return deviations[:, None] * factor

    def _draw(self, rng: np.random.Generator, count: int) -> Array:
        factor = self.sampling_factor
        return np.asarray(rng.standard_normal((count, factor.shape[1])) @ factor.T)

    def _exactly(self, numbers: Arithmetic, chosen: Positions, sampled: bool) -> Any:
        if not sampled:
            return super()._exactly(numbers, chosen, sampled)
        factor = numbers.matrix(self.sampling_factor[chosen])
        return factor * factor.transpose()

    def error_bound(self) -> float:
        """Bound $‖F Fᵀ − A‖$: $|E_ij| ≤ ε σ_i σ_j$ implies $‖E‖ ≤ ε ∑ σ_i²$; ε is measured."""
        return self._error

    @functools.cached_property
    def _error(self) -> float:
        deviations = np.sqrt(self.diagonal())
        factor = self.sampling_factor / np.where(deviations == 0, 1.0, deviations)[:, None]
        difference = factor @ factor.T - _correlation(self.entries)
        measured = float(np.max(np.abs(difference))) + (self.size + 8) * ROUNDOFF
        return rounded_up(measured * self.trace(), self.size)

    @functools.cached_property
    def _smallest(self) -> float:
        # By a power of two, exactly, so that entries of 1e±300 neither overflow nor underflow.
        scale = 2.0 ** np.floor(np.log2(max(self.diagonal().max(), np.finfo(float).tiny)))
        return float(np.linalg.eigvalsh(self.entries / scale)[0] * scale)

    def smallest_eigenvalue(self) -> float:
        """Return the computed smallest eigenvalue less every rounding, of A as sampled too."""
        # LAPACK's symmetric solvers are backward stable: a small multiple of n u ‖A‖.
        solver = 8 * self.size * ROUNDOFF * self.norm_bound()
        return max(0.0, self._smallest - solver - self.error_bound())

    def norm_bound(self) -> float:
        """Return the smaller of the trace and the largest absolute row sum."""
        rows = float(np.max(np.sum(np.abs(self.entries), axis=1)))
        return rounded_up(min(self.trace(), rows), self.size)

    def rank_bound(self, entries: Indices | None = None) -> int:
        """Return the rank of what is sampled, if that is less than the structure tells."""
        return min(super().rank_bound(entries), int(self.sampling_factor.shape[1]))

    def permuted(self, order: Indices) -> Dense:
        """Permute what is sampled, too, bit for bit: another factorisation would round anew."""
        order = as_permutation(order, self.size)
        made = Dense(self.block(order, order))
        made.__dict__["sampling_factor"] = self.sampling_factor[order]
        return made


def _variances(value: ArrayLike) -> Array:
    variances = finite_array(value, "diagonal.variances", 1)
    if np.any(variances < 0):
        raise ParameterError(f"diagonal.variances must be at least 0; got {variances.min()}.")
    refuse_overflow(variances, "diagonal.variances")
    return variances


@attrs.frozen(eq=False, repr=False)
class Diagonal(Matrix):
    """The diagonal matrix of `variances`.

    >>> from sfumato.matrices import Diagonal
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

    def error_bound(self) -> float:  # of the square roots
        return 4 * ROUNDOFF * self.norm_bound()

    def smallest_eigenvalue(self) -> float:
        return float(self.variances.min())

    def norm_bound(self) -> float:
        return float(self.variances.max())

    def keeps_apart(self, width: int) -> bool:  # noqa: ARG002
        return True

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

    >>> from sfumato.matrices import LowRank
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


def _first_column(value: ArrayLike) -> Array:
    column = finite_array(value, "toeplitz.first_column", 1)
    refuse_overflow(np.broadcast_to(column[:1], column.shape), "toeplitz.first_column")
    if np.max(np.abs(column)) > column[0] or _is_indefinite(column):
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
        return not is_semidefinite(_all_lags(correlation))
    weighted = (1 - np.arange(size) / size) * correlation
    quotients = 2 * np.fft.fft(weighted).real - 1
    return bool(quotients.min() < -64 * size * ROUNDOFF)


def _all_lags(column: Array) -> Array:
    """Return the n x n array of c_|i − j|: row i is a window of one vector."""
    ring = np.concatenate([column[:0:-1], column])
    return np.array(np.lib.stride_tricks.sliding_window_view(ring, column.size)[::-1])


@attrs.frozen(eq=False, repr=False, slots=False)
class Toeplitz(Matrix):
    """A[i, j] = first_column[|i − j|], kept and multiplied in O(n) memory.

    Draws use the dense factor up to 1,000 rows, above that a circulant matrix of 2n − 2 rows that
    contains A; they are refused if that matrix is indefinite, as no such draw would be honest.

    >>> from sfumato.matrices import Toeplitz
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
        refuse_dense(self.size)
        return _all_lags(self.first_column)

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
        if self.size <= SMALL:
            return self._small.error_bound()
        return 2 * self._spectrum_error()

    def smallest_eigenvalue(self) -> float:
        """Bound it by that of the circulant matrix, of which A is a block."""
        if self.size <= SMALL:
            return self._small.smallest_eigenvalue()
        return float(max(0.0, self._spectrum.min() - 3 * self._spectrum_error()))

    def norm_bound(self) -> float:
        """Return the smaller of the trace and a bound of the absolute row sums."""
        rows = 2 * float(np.sum(np.abs(self.first_column)))
        return rounded_up(min(self.trace(), rows), self.size)
