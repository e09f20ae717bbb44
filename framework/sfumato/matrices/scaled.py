"""A multiple of another matrix."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
from numpy.typing import ArrayLike

from sfumato.errors import ParameterError
from sfumato.matrices.matrix import ROUNDOFF, Array, Indices, Matrix, is_matrix, rounded_up


def _factor(value: float) -> float:
    if isinstance(value, (bool, str)) or not np.isreal(value):
        raise ParameterError(f"scaled.factor must be a real number; got {value!r}.")
    factor = float(value)
    if not (math.isfinite(factor) and factor >= 0):
        raise ParameterError(f"scaled.factor must be finite and at least 0; got {factor}.")
    return factor


@attrs.frozen(eq=False, repr=False)
class Scaled(Matrix):
    """factor · A, with the structure of A.

    >>> from sfumato.matrices import Diagonal
    >>> Scaled(Diagonal([1.0, 4.0]), 0.5).diagonal()
    array([0.5, 2. ])
    """

    base: Matrix = attrs.field(validator=is_matrix)
    factor: float = attrs.field(converter=_factor)

    def __attrs_post_init__(self) -> None:
        if not math.isfinite(self.factor * self.base.trace()):
            raise ParameterError(f"scaled.factor must keep the trace finite; got {self.factor}.")

    @property
    def size(self) -> int:
        """Number of rows."""
        return self.base.size

    def diagonal(self) -> Array:
        """Return the diagonal."""
        return self.factor * self.base.diagonal()

    def apply(self, x: ArrayLike) -> Array:
        """Return A x for x of shape (n,) or (n, k)."""
        return self.factor * self.base.apply(x)

    def block(self, rows: Indices, columns: Indices) -> Array:
        """Return the entries A[rows][:, columns]."""
        return self.factor * self.base.block(rows, columns)

    def sample(self, rng: np.random.Generator | None = None, size: int | None = None) -> Array:
        """Draw from N(0, factor · A)."""
        return math.sqrt(self.factor) * self.base.sample(rng, size)

    def in_balls(self, *, sampled: bool = False) -> Any:
        """Return factor · A as a flint `arb_mat`."""
        from flint import arb

        return self.base.in_balls(sampled=sampled) * arb(self.factor)

    def rational(self, entries: Indices, *, sampled: bool = False) -> list[list[Fraction]]:
        """Return the block at `entries` in rational numbers."""
        factor, block = Fraction(self.factor), self.base.rational(entries, sampled=sampled)
        return [[factor * value for value in row] for row in block]

    def error_bound(self) -> float:
        """Bound the error of the base, of the product and of the square root."""
        rounding = 6 * ROUNDOFF * self.base.trace()
        return rounded_up(self.factor * (self.base.error_bound() + rounding), self.size)

    @property
    def is_zero_exactly(self) -> bool:
        """Whether every entry is 0."""
        return self.factor == 0 or self.base.is_zero_exactly

    def smallest_eigenvalue(self) -> float:
        """Return a certified lower bound of the smallest eigenvalue."""
        return self.factor * self.base.smallest_eigenvalue() * (1 - 2 * ROUNDOFF)

    def norm_bound(self) -> float:
        """Return an upper bound of the 2-norm."""
        return self.factor * self.base.norm_bound() * (1 + 4 * ROUNDOFF)

    def rank_bound(self, entries: Indices | None = None) -> int:
        """Bound the rank of A, or of its block at `entries`, from the structure alone."""
        return 0 if self.factor == 0 else self.base.rank_bound(entries)

    def permuted(self, order: Indices) -> Scaled:
        """Return the matrix whose entry (i, j) is A[order[i], order[j]]."""
        return Scaled(self.base.permuted(order), self.factor)
