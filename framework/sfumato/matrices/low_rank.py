"""A few shared draws spread over all entries."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import attrs
import numpy as np
from numpy.typing import ArrayLike

from sfumato.errors import ParameterError
from sfumato.matrices.matrix import (
    ROUNDOFF,
    Array,
    Indices,
    Matrix,
    as_indices,
    as_permutation,
    finite_array,
    gram,
    operand,
)
from sfumato.randomness import generator_or_secure


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
        """Number of rows."""
        return int(self.factor.shape[0])

    def diagonal(self) -> Array:
        """Return the diagonal."""
        return np.asarray(np.einsum("ij,ij->i", self.factor, self.factor))

    def apply(self, x: ArrayLike) -> Array:
        """Return A x for x of shape (n,) or (n, k)."""
        return np.asarray(self.factor @ (self.factor.T @ operand(x, self.size)))

    def block(self, rows: Indices, columns: Indices) -> Array:
        """Return the entries A[rows][:, columns]."""
        rows, columns = as_indices(rows, self.size), as_indices(columns, self.size)
        return np.asarray(self.factor[rows] @ self.factor[columns].T)

    def sample(self, rng: np.random.Generator | None = None, size: int | None = None) -> Array:
        """Draw from N(0, A)."""
        rank = self.factor.shape[1]
        shape = rank if size is None else (size, rank)
        return np.asarray(generator_or_secure(rng).standard_normal(shape) @ self.factor.T)

    def in_balls(self, *, sampled: bool = False) -> Any:  # noqa: ARG002  # both forms agree
        """Return Q Qᵀ, formed in balls, as a flint `arb_mat`."""
        from flint import arb_mat

        factor = arb_mat(self.factor.tolist())
        return factor * factor.transpose()

    def rational(
        self,
        entries: Indices,
        *,
        sampled: bool = False,  # noqa: ARG002  # both forms agree
    ) -> list[list[Fraction]]:
        """Return the block at `entries` in rational numbers."""
        return gram(self.factor[as_indices(entries, self.size)])

    def error_bound(self) -> float:
        """Bound the rounding of Q Qᵀ: an inner product of k terms in each entry."""
        return float(self.factor.shape[1] + 2) * ROUNDOFF * self.norm_bound()

    @property
    def is_zero_exactly(self) -> bool:
        """Whether every entry is 0.0 (the factor decides: squares may underflow)."""
        return not np.any(self.factor)

    def rank_bound(self, entries: Indices | None = None) -> int:
        """Return the smaller number of nonzero rows and nonzero columns of Q."""
        rows = self.factor if entries is None else self.factor[as_indices(entries, self.size)]
        return int(min(np.count_nonzero(np.any(rows, axis=axis)) for axis in (0, 1)))

    def permuted(self, order: Indices) -> LowRank:
        """Return the matrix whose entry (i, j) is A[order[i], order[j]]."""
        return LowRank(self.factor[as_permutation(order, self.size)])
