"""Several releases, or traces, with nothing in common."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.errors import ParameterError
from sfumato.matrices.matrix import Array, Indices, Matrix, as_indices, operand
from sfumato.randomness import generator_or_secure


def _blocks(value: Iterable[Matrix]) -> tuple[Matrix, ...]:
    blocks = tuple(value)
    if not blocks or not all(isinstance(block, Matrix) for block in blocks):
        raise ParameterError(f"block_diagonal.blocks must be one or more matrices; got {blocks!r}.")
    if not math.isfinite(sum(block.trace() for block in blocks)):
        raise ParameterError("block_diagonal.blocks must have a finite total trace; got inf.")
    return blocks


@attrs.frozen(eq=False, repr=False)
class BlockDiagonal(Matrix):
    """Square blocks along the diagonal, zero elsewhere.

    >>> from sfumato.matrices import Diagonal, LowRank
    >>> BlockDiagonal((LowRank([1.0, 1.0]), Diagonal([3.0]))).dense()
    array([[1., 1., 0.],
           [1., 1., 0.],
           [0., 0., 3.]])
    """

    blocks: tuple[Matrix, ...] = attrs.field(converter=_blocks)

    @property
    def size(self) -> int:
        """Number of rows."""
        return sum(block.size for block in self.blocks)

    def _placed(self) -> Iterator[tuple[int, int, Matrix]]:
        start = 0
        for block in self.blocks:
            yield start, start + block.size, block
            start += block.size

    def diagonal(self) -> Array:
        """Return the diagonal."""
        return np.concatenate([block.diagonal() for block in self.blocks])

    def apply(self, x: ArrayLike) -> Array:
        """Return A x for x of shape (n,) or (n, k)."""
        array = operand(x, self.size)
        return np.concatenate([block.apply(array[i:j]) for i, j, block in self._placed()])

    def block(self, rows: Indices, columns: Indices) -> Array:
        """Return the entries A[rows][:, columns]."""
        rows, columns = as_indices(rows, self.size), as_indices(columns, self.size)
        result = np.zeros((rows.size, columns.size))
        for start, stop, block in self._placed():
            mine = np.flatnonzero((rows >= start) & (rows < stop))
            yours = np.flatnonzero((columns >= start) & (columns < stop))
            if mine.size and yours.size:
                inner = block.block(rows[mine] - start, columns[yours] - start)
                result[np.ix_(mine, yours)] = inner
        return result

    def sample(self, rng: np.random.Generator | None = None, size: int | None = None) -> Array:
        """Draw from N(0, A)."""
        generator = generator_or_secure(rng)
        return np.concatenate([block.sample(generator, size) for block in self.blocks], axis=-1)

    def in_balls(self, *, sampled: bool = False) -> Any:
        """Return A as a flint `arb_mat`."""
        from flint import arb_mat

        result = arb_mat(self.size, self.size)
        for start, stop, block in self._placed():
            balls = block.in_balls(sampled=sampled)
            for i in range(start, stop):
                for j in range(start, stop):
                    result[i, j] = balls[i - start, j - start]
        return result

    def rational(self, entries: Indices, *, sampled: bool = False) -> list[list[Fraction]]:
        """Return the block at `entries` in rational numbers."""
        chosen = as_indices(entries, self.size)
        result = [[Fraction()] * chosen.size for _ in chosen]
        for mine, inner, block in self._within(chosen):
            values = block.rational(inner, sampled=sampled)
            for i, row in zip(mine, values, strict=True):
                for j, value in zip(mine, row, strict=True):
                    result[i][j] = value
        return result

    def _within(
        self, chosen: NDArray[np.intp]
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp], Matrix]]:
        """Yield, per block touched, positions in `chosen` and indices inside the block."""
        for start, stop, block in self._placed():
            mine = np.flatnonzero((chosen >= start) & (chosen < stop))
            if mine.size:
                yield mine, chosen[mine] - start, block

    def error_bound(self) -> float:
        """Return the largest of the blocks' bounds."""
        return max(block.error_bound() for block in self.blocks)

    @property
    def is_zero_exactly(self) -> bool:
        """Whether every block is 0."""
        return all(block.is_zero_exactly for block in self.blocks)

    def smallest_eigenvalue(self) -> float:
        """Return the smallest of the blocks' bounds."""
        return min(block.smallest_eigenvalue() for block in self.blocks)

    def norm_bound(self) -> float:
        """Return the largest of the blocks' bounds."""
        return max(block.norm_bound() for block in self.blocks)

    def rank_bound(self, entries: Indices | None = None) -> int:
        """Return the sum of the blocks' bounds."""
        chosen = np.arange(self.size) if entries is None else as_indices(entries, self.size)
        return sum(block.rank_bound(inner) for _, inner, block in self._within(chosen))
