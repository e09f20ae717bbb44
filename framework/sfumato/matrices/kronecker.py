"""The same dependence over time in every coordinate of a trace."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
from numpy.typing import ArrayLike

from sfumato.errors import ParameterError
from sfumato.matrices.dense import Dense
from sfumato.matrices.matrix import (
    ROUNDOFF,
    Array,
    Indices,
    Matrix,
    as_indices,
    is_matrix,
    operand,
    rounded_up,
)
from sfumato.randomness import generator_or_secure


@attrs.frozen(eq=False, repr=False)
class Kronecker(Matrix):
    """time ⊗ across: entry t·d + a against entry u·d + b is time[t, u] · across[a, b].

    >>> Kronecker(Dense([[2.0, 1.0], [1.0, 2.0]]), Dense(np.eye(2))).dense()
    array([[2., 0., 1., 0.],
           [0., 2., 0., 1.],
           [1., 0., 2., 0.],
           [0., 1., 0., 2.]])
    """

    time: Matrix = attrs.field(validator=is_matrix)
    across: Dense = attrs.field(validator=attrs.validators.instance_of(Dense))

    def __attrs_post_init__(self) -> None:
        if not math.isfinite(self.time.trace() * self.across.trace()):
            raise ParameterError("kronecker.time must leave the product's trace finite; got inf.")

    @property
    def size(self) -> int:
        """Number of rows."""
        return self.time.size * self.across.size

    def diagonal(self) -> Array:
        """Return the diagonal."""
        return np.outer(self.time.diagonal(), self.across.diagonal()).reshape(-1)

    def apply(self, x: ArrayLike) -> Array:
        """Return A x for x of shape (n,) or (n, k)."""
        array = operand(x, self.size)
        by_coordinate = array.reshape(self.time.size, self.across.size, -1)
        mixed = np.einsum("ab,tbk->tak", self.across.entries, by_coordinate)
        product = self.time.apply(mixed.reshape(self.time.size, -1))
        return product.reshape(array.shape)

    def block(self, rows: Indices, columns: Indices) -> Array:
        """Return the entries A[rows][:, columns]."""
        row_times, row_axes = np.divmod(as_indices(rows, self.size), self.across.size)
        times, axes = np.divmod(as_indices(columns, self.size), self.across.size)
        return self.time.block(row_times, times) * self.across.block(row_axes, axes)

    def sample(self, rng: np.random.Generator | None = None, size: int | None = None) -> Array:
        """Draw from N(0, A): independent draws over time, mixed across the coordinates."""
        count, width = 1 if size is None else size, self.across.size
        draws = self.time.sample(generator_or_secure(rng), count * width)
        draws = draws.reshape(count, width, self.time.size)
        mixed = np.einsum("ab,kbt->kta", self.across.sampling_factor, draws)
        flat = mixed.reshape(count, self.size)
        return np.asarray(flat[0] if size is None else flat)

    def in_balls(self, *, sampled: bool = False) -> Any:
        """Return time ⊗ across as a flint `arb_mat`."""
        from flint import arb_mat

        time = self.time.in_balls(sampled=sampled)
        across, d = self.across.in_balls(sampled=sampled), self.across.size
        entries = range(self.size)
        return arb_mat(
            [[time[i // d, j // d] * across[i % d, j % d] for j in entries] for i in entries]
        )

    def rational(self, entries: Indices, *, sampled: bool = False) -> list[list[Fraction]]:
        """Return the block at `entries` in rational numbers."""
        times, axes = np.divmod(as_indices(entries, self.size), self.across.size)
        time = self.time.rational(times, sampled=sampled)
        across = self.across.rational(axes, sampled=sampled)
        return [
            [t * a for t, a in zip(row, other, strict=True)]
            for row, other in zip(time, across, strict=True)
        ]

    def error_bound(self) -> float:
        """Bound δ(T ⊗ A) = δT ⊗ A + (T + δT) ⊗ δA, and the rounding of the products."""
        over_time, over_axes = self.time.error_bound(), self.across.error_bound()
        factors = over_time * self.across.norm_bound()
        factors += (self.time.norm_bound() + over_time) * over_axes
        return rounded_up(factors + 2 * ROUNDOFF * self.trace(), self.size)

    @property
    def is_zero_exactly(self) -> bool:
        """Whether either factor is 0."""
        return self.time.is_zero_exactly or self.across.is_zero_exactly

    def smallest_eigenvalue(self) -> float:
        """Return the product of the factors' bounds."""
        product = self.time.smallest_eigenvalue() * self.across.smallest_eigenvalue()
        return product * (1 - 2 * ROUNDOFF)

    def norm_bound(self) -> float:
        """Return the product of the factors' bounds."""
        return self.time.norm_bound() * self.across.norm_bound() * (1 + 4 * ROUNDOFF)

    def rank_bound(self, entries: Indices | None = None) -> int:
        """Return the product of the factors' bounds, at most the number of nonzero variances."""
        whole = self.time.rank_bound() * self.across.rank_bound()
        return min(super().rank_bound(entries), whole)
