"""A small space in which the best noise for a long trace lives, and what tells the secret."""

from __future__ import annotations

import math
from collections.abc import Sequence

import attrs
import numpy as np

from sfumato.matrices.matrix import Array
from sfumato_gaussian_noise.design import Block, Indices

STEP = 10.0  # ratio of one shift to the next
# Products with C by which the Krylov spaces grow, in which the shifted systems are solved.
STEPS = 60
ALIKE = 1e-7  # A direction that adds less than this share to the space is left out
FAINT = 1e-3  # directions of the noise with a smaller share of its deviation are the solver's slack


@attrs.define(eq=False)
class ReadingSpace:
    """The span of (C + σ I)⁻¹[A, F] for every belief, shifts σ from the budget down to the floor.

    Under noise Γ = F G Fᵀ + η I the readings that tell most are Y = (C + Γ)⁻¹A, and for every G

        Y = (C + η I)⁻¹(A − F H),   H = G FᵀY :

    they lie in the space. Conversely the best noise has its range in the span of the readings; for
    one belief Γ Y = Y H with a matrix H of the eigenvalues τ of Γ, so that C Y + Y H = A and Y is
    a mixture of the (C + τ I)⁻¹A. So the space begins without F, and takes it from one design after
    the other, until nothing is lacking. What is designed in it is certified without it.
    """

    budget: float
    floor: float  # share of the budget that is spent on independent noise
    independent: Indices | None = None  # entries whose noise is apart: the space is zero there
    noise: Array | None = None  # F, (n, m), the directions of the last design's noise

    def basis(self, blocks: Sequence[Block]) -> Array:
        """Return an orthonormal basis."""
        size = len(blocks[0].spread)
        shared = [] if self.noise is None else [self.noise]
        if self.independent is not None:
            shared.append(np.eye(size)[:, self.independent])
        by_spread: dict[int, tuple[Array, list[Array]]] = {}
        for block in blocks:
            by_spread.setdefault(id(block.spread), (block.spread, []))[1].append(block.shifts)
        least = self.floor * self.budget / size
        count = math.ceil(math.log(self.budget / least) / math.log(STEP)) + 1
        shifts = np.geomspace(self.budget, least, count)
        columns = np.hstack(
            [
                _shifted_solutions(spread, _range([*starts, *shared], 1e-12), shifts)
                for spread, starts in by_spread.values()
            ]
        )
        if self.independent is not None:
            columns[self.independent] = 0.0
        return _range([columns], ALIKE)

    def learn(self, factor: Array) -> None:
        """Take over the directions of a design's noise L Lᵀ."""
        left, values, _ = np.linalg.svd(factor, full_matrices=False)
        self.noise = np.asarray(left[:, values > FAINT * values.max(initial=0.0)])


def _range(parts: Sequence[Array], negligible: float) -> Array:
    """Return an orthonormal basis of the span of columns, each in units of its length."""
    columns = np.hstack(parts)
    lengths = np.linalg.norm(columns, axis=0)
    columns = columns[:, lengths > 0] / lengths[lengths > 0]
    left, values, _ = np.linalg.svd(columns, full_matrices=False)
    return np.asarray(left[:, values > negligible * values.max(initial=0.0)])


def _shifted_solutions(spread: Array, start: Array, shifts: Array) -> Array:
    """Return (C + σ I)⁻¹ of the start's columns for all shifts, from one Krylov space."""
    space = _krylov(spread, start)
    values, vectors = np.linalg.eigh(space.T @ (spread @ space))
    moved = vectors.T @ (space.T @ start)
    inner = [moved / (np.maximum(values, 0.0) + shift)[:, None] for shift in shifts]
    return np.asarray(space @ (vectors @ np.hstack(inner)))


def _krylov(matrix: Array, start: Array) -> Array:
    """Return an orthonormal basis of the span of S, C S, C² S, ... as far as it goes."""
    size = matrix.shape[0]
    space = newest = start
    for _ in range(STEPS):
        moved = matrix @ newest
        scale = float(np.linalg.norm(moved))
        for _ in range(2):  # once is not enough in float64
            moved = moved - space @ (space.T @ moved)
        left, values, _ = np.linalg.svd(moved, full_matrices=False)
        newest = left[:, values > 1e-12 * scale][:, : size - space.shape[1]]
        if newest.shape[1] == 0:
            break
        space = np.hstack([space, newest])
    return space
