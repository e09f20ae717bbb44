"""Matrices made of others: multiples, sums, Kronecker products, blocks on the diagonal."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Iterable, Iterator
from numbers import Real
from typing import Any

import attrs
import numpy as np

from sfumato.errors import ParameterError
from sfumato.matrices.matrix import (
    ROUNDOFF,
    Arithmetic,
    Array,
    Indices,
    Matrix,
    Positions,
    is_matrix,
    rounded_up,
    some_or_all,
)
from sfumato.matrices.structured import Dense


def _factor(value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= value < math.inf:
        raise ParameterError(f"scaled.factor must be a finite number of at least 0; got {value!r}.")
    return float(value)


@attrs.frozen(eq=False, repr=False)
class Scaled(Matrix):
    """factor · A, with the structure of A.

    >>> from sfumato.matrices import Diagonal, Scaled
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
        return self.base.size

    def diagonal(self) -> Array:
        return self.factor * self.base.diagonal()

    def _apply(self, x: Array) -> Array:
        return self.factor * self.base.apply(x)

    def _block(self, rows: Positions, columns: Positions) -> Array:
        return self.factor * self.base.block(rows, columns)

    def _draw(self, rng: np.random.Generator, count: int) -> Array:
        return math.sqrt(self.factor) * self.base.sample(rng, count)

    def _exactly(self, numbers: Arithmetic, chosen: Positions, sampled: bool) -> Any:
        base = self.base.formula(numbers, chosen, sampled=sampled)
        return base * numbers.number(self.factor)

    def error_bound(self) -> float:
        """Bound the error of the base, of the product and of the square root."""
        rounding = 6 * ROUNDOFF * self.base.trace()
        return rounded_up(self.factor * (self.base.error_bound() + rounding), self.size)

    def smallest_eigenvalue(self) -> float:
        return self.factor * self.base.smallest_eigenvalue() * (1 - 2 * ROUNDOFF)

    def norm_bound(self) -> float:
        return self.factor * self.base.norm_bound() * (1 + 4 * ROUNDOFF)

    def rank_bound(self, entries: Indices | None = None) -> int:
        return 0 if self.factor == 0 else self.base.rank_bound(entries)

    def keeps_apart(self, width: int) -> bool:
        return self.base.keeps_apart(width)

    def permuted(self, order: Indices) -> Scaled:
        return Scaled(self.base.permuted(order), self.factor)


def _matrices(value: Iterable[Matrix], name: str) -> tuple[Matrix, ...]:
    matrices = tuple(value)
    if not matrices or not all(isinstance(matrix, Matrix) for matrix in matrices):
        raise ParameterError(f"{name} must be one or more matrices; got {matrices!r}.")
    if not math.isfinite(sum(matrix.trace() for matrix in matrices)):
        raise ParameterError(f"{name} must have a finite total trace; got inf.")
    return matrices


def _terms(value: Iterable[Matrix]) -> tuple[Matrix, ...]:
    terms = _matrices(value, "sum.terms")
    sizes = {term.size for term in terms}
    if len(sizes) > 1:
        raise ParameterError(f"sum.terms must have equal sizes; got {sorted(sizes)}.")
    return terms


@attrs.frozen(eq=False, repr=False)
class Sum(Matrix):
    """The sum of matrices of one size: the covariance of a sum of independent draws.

    >>> from sfumato.matrices import Diagonal, LowRank, Sum
    >>> Sum((LowRank([1.0, 1.0]), Diagonal([0.5, 0.5]))).dense()
    array([[1.5, 1. ],
           [1. , 1.5]])
    """

    terms: tuple[Matrix, ...] = attrs.field(converter=_terms)

    @property
    def size(self) -> int:
        return self.terms[0].size

    def diagonal(self) -> Array:
        return _total([term.diagonal() for term in self.terms])

    def _apply(self, x: Array) -> Array:
        return _total([term.apply(x) for term in self.terms])

    def _block(self, rows: Positions, columns: Positions) -> Array:
        return _total([term.block(rows, columns) for term in self.terms])

    def _draw(self, rng: np.random.Generator, count: int) -> Array:
        return _total([term.sample(rng, count) for term in self.terms])

    def _exactly(self, numbers: Arithmetic, chosen: Positions, sampled: bool) -> Any:
        made = [term.formula(numbers, chosen, sampled=sampled) for term in self.terms]
        return functools.reduce(operator.add, made)

    def error_bound(self) -> float:
        """Bound the errors of the terms and of adding them."""
        rounding = len(self.terms) * ROUNDOFF * self.trace()
        return rounded_up(sum(term.error_bound() for term in self.terms) + rounding, self.size)

    def smallest_eigenvalue(self) -> float:
        """Return the sum of the terms' bounds (Weyl's inequality)."""
        total = sum(term.smallest_eigenvalue() for term in self.terms)
        return total * (1 - 2 * len(self.terms) * ROUNDOFF)

    def norm_bound(self) -> float:
        return rounded_up(sum(term.norm_bound() for term in self.terms), len(self.terms))

    def rank_bound(self, entries: Indices | None = None) -> int:
        return min(
            super().rank_bound(entries), sum(term.rank_bound(entries) for term in self.terms)
        )

    def keeps_apart(self, width: int) -> bool:
        return all(term.keeps_apart(width) for term in self.terms)

    def permuted(self, order: Indices) -> Sum:
        return Sum(tuple(term.permuted(order) for term in self.terms))


def _total(arrays: list[Array]) -> Array:
    return functools.reduce(np.add, arrays)


@attrs.frozen(eq=False, repr=False)
class Kronecker(Matrix):
    """time ⊗ across: entry t·d + a against entry u·d + b is time[t, u] · across[a, b].

    >>> import numpy as np
    >>> from sfumato.matrices import Dense, Kronecker
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
        return self.time.size * self.across.size

    def diagonal(self) -> Array:
        return np.outer(self.time.diagonal(), self.across.diagonal()).reshape(-1)

    def _apply(self, x: Array) -> Array:
        by_coordinate = x.reshape(self.time.size, self.across.size, -1)
        mixed = np.einsum("ab,tbk->tak", self.across.entries, by_coordinate)
        product = self.time.apply(mixed.reshape(self.time.size, -1))
        return product.reshape(x.shape)

    def _block(self, rows: Positions, columns: Positions) -> Array:
        row_times, row_axes = np.divmod(rows, self.across.size)
        times, axes = np.divmod(columns, self.across.size)
        return self.time.block(row_times, times) * self.across.block(row_axes, axes)

    def _draw(self, rng: np.random.Generator, count: int) -> Array:
        """Draw independently over time, and mix across the coordinates."""
        factor = self.across.sampling_factor
        draws = self.time.sample(rng, count * factor.shape[1])
        draws = draws.reshape(count, factor.shape[1], self.time.size)
        return np.asarray(np.einsum("ab,kbt->kta", factor, draws)).reshape(count, self.size)

    def _exactly(self, numbers: Arithmetic, chosen: Positions, sampled: bool) -> Any:
        times, axes = np.divmod(chosen, self.across.size)
        return numbers.entrywise(
            self.time.formula(numbers, times, sampled=sampled),
            self.across.formula(numbers, axes, sampled=sampled),
        )

    def error_bound(self) -> float:
        """Bound δ(T ⊗ A) = δT ⊗ A + (T + δT) ⊗ δA, and the rounding of the products."""
        over_time, over_axes = self.time.error_bound(), self.across.error_bound()
        factors = over_time * self.across.norm_bound()
        factors += (self.time.norm_bound() + over_time) * over_axes
        return rounded_up(factors + 2 * ROUNDOFF * self.trace(), self.size)

    def smallest_eigenvalue(self) -> float:
        product = self.time.smallest_eigenvalue() * self.across.smallest_eigenvalue()
        return product * (1 - 2 * ROUNDOFF)

    def norm_bound(self) -> float:
        return self.time.norm_bound() * self.across.norm_bound() * (1 + 4 * ROUNDOFF)

    def rank_bound(self, entries: Indices | None = None) -> int:
        whole = self.time.rank_bound() * self.across.rank_bound()
        return min(super().rank_bound(entries), whole)

    def keeps_apart(self, width: int) -> bool:
        mixed = self.across.entries
        return width == len(mixed) and not np.any(mixed - np.diag(np.diagonal(mixed)))


def _blocks(value: Iterable[Matrix]) -> tuple[Matrix, ...]:
    return _matrices(value, "block_diagonal.blocks")


@attrs.frozen(eq=False, repr=False)
class BlockDiagonal(Matrix):
    """Square blocks along the diagonal, zero elsewhere.

    >>> from sfumato.matrices import BlockDiagonal, Diagonal, LowRank
    >>> BlockDiagonal((LowRank([1.0, 1.0]), Diagonal([3.0]))).dense()
    array([[1., 1., 0.],
           [1., 1., 0.],
           [0., 0., 3.]])
    """

    blocks: tuple[Matrix, ...] = attrs.field(converter=_blocks)

    @property
    def size(self) -> int:
        return sum(block.size for block in self.blocks)

    def _within(self, chosen: Positions) -> Iterator[tuple[Positions, Positions, Matrix]]:
        """Yield, for each block, positions in `chosen` and what they are inside the block."""
        start = 0
        for block in self.blocks:
            mine = np.flatnonzero((chosen >= start) & (chosen < start + block.size))
            yield mine, chosen[mine] - start, block
            start += block.size

    def diagonal(self) -> Array:
        return np.concatenate([block.diagonal() for block in self.blocks])

    def _apply(self, x: Array) -> Array:
        parts = self._within(np.arange(self.size))
        return np.concatenate([block.apply(x[mine]) for mine, _, block in parts])

    def _block(self, rows: Positions, columns: Positions) -> Array:
        result = np.zeros((rows.size, columns.size))
        pairs = zip(self._within(rows), self._within(columns), strict=True)
        for (mine, inner, block), (yours, outer, _) in pairs:
            result[np.ix_(mine, yours)] = block.block(inner, outer)
        return result

    def _draw(self, rng: np.random.Generator, count: int) -> Array:
        return np.concatenate([block.sample(rng, count) for block in self.blocks], axis=-1)

    def _exactly(self, numbers: Arithmetic, chosen: Positions, sampled: bool) -> Any:
        result = numbers.matrix(np.zeros((chosen.size, chosen.size)))
        for mine, inner, block in self._within(chosen):
            made = block.formula(numbers, inner, sampled=sampled)
            for a, i in enumerate(mine.tolist()):
                for b, j in enumerate(mine.tolist()):
                    result[i, j] = made[a, b]
        return result

    def error_bound(self) -> float:
        return max(block.error_bound() for block in self.blocks)

    def smallest_eigenvalue(self) -> float:
        return min(block.smallest_eigenvalue() for block in self.blocks)

    def norm_bound(self) -> float:
        return max(block.norm_bound() for block in self.blocks)

    def rank_bound(self, entries: Indices | None = None) -> int:
        chosen = some_or_all(entries, self.size)
        return sum(block.rank_bound(inner) for _, inner, block in self._within(chosen))
