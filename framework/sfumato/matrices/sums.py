"""Independent contributions added up."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
from numpy.typing import ArrayLike

from sfumato.errors import ParameterError
from sfumato.matrices.matrix import ROUNDOFF, Array, Indices, Matrix, rounded_up
from sfumato.randomness import generator_or_secure


def _terms(value: Iterable[Matrix]) -> tuple[Matrix, ...]:
    terms = tuple(value)
    if not terms or not all(isinstance(term, Matrix) for term in terms):
        raise ParameterError(f"sum.terms must be one or more matrices; got {terms!r}.")
    sizes = {term.size for term in terms}
    if len(sizes) > 1:
        raise ParameterError(f"sum.terms must have equal sizes; got {sorted(sizes)}.")
    if not math.isfinite(sum(term.trace() for term in terms)):
        raise ParameterError("sum.terms must have a finite total trace; got inf.")
    return terms


@attrs.frozen(eq=False, repr=False)
class Sum(Matrix):
    """The sum of matrices of one size: the covariance of a sum of independent draws.

    >>> from sfumato.matrices import Diagonal, LowRank
    >>> Sum((LowRank([1.0, 1.0]), Diagonal([0.5, 0.5]))).dense()
    array([[1.5, 1. ],
           [1. , 1.5]])
    """

    terms: tuple[Matrix, ...] = attrs.field(converter=_terms)

    @property
    def size(self) -> int:
        """Number of rows."""
        return self.terms[0].size

    def diagonal(self) -> Array:
        """Return the diagonal."""
        return _total([term.diagonal() for term in self.terms])

    def apply(self, x: ArrayLike) -> Array:
        """Return A x for x of shape (n,) or (n, k)."""
        return _total([term.apply(x) for term in self.terms])

    def block(self, rows: Indices, columns: Indices) -> Array:
        """Return the entries A[rows][:, columns]."""
        return _total([term.block(rows, columns) for term in self.terms])

    def sample(self, rng: np.random.Generator | None = None, size: int | None = None) -> Array:
        """Draw from N(0, A)."""
        generator = generator_or_secure(rng)
        return _total([term.sample(generator, size) for term in self.terms])

    def in_balls(self, *, sampled: bool = False) -> Any:
        """Return the sum of the terms as a flint `arb_mat`."""
        balls = [term.in_balls(sampled=sampled) for term in self.terms]
        return functools.reduce(operator.add, balls)

    def rational(self, entries: Indices, *, sampled: bool = False) -> list[list[Fraction]]:
        """Return the block at `entries` in rational numbers."""
        blocks = [term.rational(entries, sampled=sampled) for term in self.terms]
        rows = zip(*blocks, strict=True)
        return [[sum(values, Fraction()) for values in zip(*row, strict=True)] for row in rows]

    def error_bound(self) -> float:
        """Bound the errors of the terms and of adding them."""
        rounding = len(self.terms) * ROUNDOFF * self.trace()
        return rounded_up(sum(term.error_bound() for term in self.terms) + rounding, self.size)

    @property
    def is_zero_exactly(self) -> bool:
        """Whether every term is 0."""
        return all(term.is_zero_exactly for term in self.terms)

    def smallest_eigenvalue(self) -> float:
        """Return the sum of the terms' bounds (Weyl's inequality)."""
        total = sum(term.smallest_eigenvalue() for term in self.terms)
        return total * (1 - 2 * len(self.terms) * ROUNDOFF)

    def norm_bound(self) -> float:
        """Return the sum of the terms' bounds."""
        return rounded_up(sum(term.norm_bound() for term in self.terms), len(self.terms))

    def rank_bound(self, entries: Indices | None = None) -> int:
        """Return the sum of the terms' bounds, at most the number of nonzero variances."""
        return min(
            super().rank_bound(entries), sum(term.rank_bound(entries) for term in self.terms)
        )

    def permuted(self, order: Indices) -> Sum:
        """Return the matrix whose entry (i, j) is A[order[i], order[j]]."""
        return Sum(tuple(term.permuted(order) for term in self.terms))


def _total(arrays: list[Array]) -> Array:
    return functools.reduce(np.add, arrays)
