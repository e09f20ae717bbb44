"""Independent entries."""

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
    in_fractions,
    operand,
    refuse_overflow,
)
from sfumato.randomness import generator_or_secure


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
        """Number of rows."""
        return int(self.variances.size)

    def diagonal(self) -> Array:
        """Return the diagonal."""
        return self.variances

    def apply(self, x: ArrayLike) -> Array:
        """Return A x for x of shape (n,) or (n, k)."""
        array = operand(x, self.size)
        return self.variances * array if array.ndim == 1 else self.variances[:, None] * array

    def block(self, rows: Indices, columns: Indices) -> Array:
        """Return the entries A[rows][:, columns]."""
        rows, columns = as_indices(rows, self.size), as_indices(columns, self.size)
        same = rows[:, None] == columns[None, :]
        return np.where(same, self.variances[rows][:, None], 0.0)

    def sample(self, rng: np.random.Generator | None = None, size: int | None = None) -> Array:
        """Draw from N(0, A)."""
        shape = self.size if size is None else (size, self.size)
        return np.sqrt(self.variances) * generator_or_secure(rng).standard_normal(shape)

    def in_balls(self, *, sampled: bool = False) -> Any:  # noqa: ARG002  # both forms agree
        """Return A as a flint `arb_mat`."""
        from flint import arb_mat

        result = arb_mat(self.size, self.size)
        for i, variance in enumerate(self.variances.tolist()):
            result[i, i] = variance
        return result

    def rational(
        self,
        entries: Indices,
        *,
        sampled: bool = False,  # noqa: ARG002  # both forms agree
    ) -> list[list[Fraction]]:
        """Return the block at `entries` in rational numbers."""
        return in_fractions(self.block(entries, entries))

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
        """Return the matrix whose entry (i, j) is A[order[i], order[j]]."""
        return Diagonal(self.variances[as_permutation(order, self.size)])
