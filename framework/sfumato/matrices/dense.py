"""No structure but symmetry."""

from __future__ import annotations

import functools
from typing import Any

import attrs
import numpy as np
from numpy.typing import ArrayLike

from sfumato.errors import OutsideHypotheses, ParameterError
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
)
from sfumato.values import read_only

ASYMMETRY = 1e-12
"""Largest asymmetry, relative to the entries' standard deviations, that counts as rounding."""


def _entries(value: ArrayLike) -> Array:
    array = finite_array(value, "dense.entries", 2)
    rows, columns = array.shape
    if rows != columns:
        raise ParameterError(f"dense.entries must be square; got shape {array.shape}.")
    if rows > MAX_DENSE:
        raise OutsideHypotheses(
            f"dense.entries must have at most {MAX_DENSE} rows; got {rows}: use a structure."
        )
    correlation = _correlation(array)
    if np.max(np.abs(correlation - correlation.T)) > ASYMMETRY:
        raise ParameterError("dense.entries must be symmetric; got a matrix that is not.")
    if not is_semidefinite(correlation):
        raise ParameterError(
            "dense.entries must be positive semidefinite up to rounding; got an indefinite matrix."
        )
    return array if np.array_equal(array, array.T) else read_only(array / 2 + array.T / 2)


def _correlation(entries: Array) -> Array:
    """Scale to unit diagonal, so that every later test is free of units."""
    variances = np.diagonal(entries)
    if np.any(variances < 0):
        raise ParameterError(
            f"dense.entries must have no negative variance; got {variances.min()}."
        )
    refuse_overflow(variances, "dense.entries")
    silent = variances == 0
    if np.any(entries[silent]) or np.any(entries[:, silent]):
        raise ParameterError(
            "dense.entries must be positive semidefinite; got a covariance with a zero variance."
        )
    deviations = np.sqrt(np.where(silent, 1.0, variances))
    # Entry by entry in two steps: a product of deviations could overflow or underflow.
    return np.asarray(entries / deviations[:, None] / deviations[None, :])


def is_semidefinite(correlation: Array) -> bool:
    """Whether a matrix of diagonal 0 or 1 is positive semidefinite up to rounding of its entries.

    A Cholesky factorisation of A + 64 n u I succeeds if A is within that of semidefinite.

    >>> is_semidefinite(np.array([[1.0, 2.0], [2.0, 1.0]]))
    False
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

    >>> Dense([[2.0, 1.0], [1.0, 2.0]]).apply([1.0, 0.0])
    array([2., 1.])
    """

    entries: Array = attrs.field(converter=_entries)

    @property
    def size(self) -> int:
        return int(self.entries.shape[0])

    def dense(self) -> Array:
        """Return the entries (read-only, not copied)."""
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

    @functools.cached_property
    def _factor_error(self) -> float:
        """Measured max |F Fᵀ − A| in units of the standard deviations, and its own rounding."""
        deviations = np.sqrt(self.diagonal())
        deviations = np.where(deviations == 0, 1.0, deviations)
        factor = self.sampling_factor / deviations[:, None]
        difference = factor @ factor.T - _correlation(self.entries)
        return float(np.max(np.abs(difference))) + (self.size + 8) * ROUNDOFF

    def error_bound(self) -> float:
        """Bound ‖F Fᵀ − A‖: |E_ij| ≤ ε σ_i σ_j implies ‖E‖ ≤ ε Σ σ_i²."""
        return rounded_up(self._factor_error * self.trace(), self.size)

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

    def permuted(self, order: Indices) -> Dense:
        """Return the matrix whose entry (i, j) is A[order[i], order[j]].

        What is sampled is permuted with it, bit for bit: a factorisation of its own would round
        differently, which a nearly singular matrix does not forgive.
        """
        order = as_permutation(order, self.size)
        made = Dense(self.block(order, order))
        made.__dict__["sampling_factor"] = self.sampling_factor[order]
        return made
