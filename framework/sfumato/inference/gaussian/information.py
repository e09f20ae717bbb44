"""How precisely a release tells the secret entries."""

from __future__ import annotations

import math
from typing import Literal

import attrs
import numpy as np

from sfumato.matrices.matrix import ROUNDOFF, Array
from sfumato.values import ByContent, read_only

EXACT = 1e-5
"""Largest certified relative error of an information that still counts as exact."""


@attrs.frozen(eq=False)
class Information(ByContent):
    """The Fisher information M of a release about the secret entries.

    Two values of the secret that differ by Δ have Rényi divergence (λ/2) ΔᵀMΔ of order λ.

    Attributes
    ----------
    matrix : array (k, k)
        M; zero off the support. Infinite on the diagonal where `infinite`.
    support : array (k, r)
        Orthonormal basis of the differences Δ that the belief allows: range(Σ_SS).
    infinite : bool
        Whether some allowed difference is revealed exactly.
    relative_error : float
        Certified ρ with −ρ D ⪯ M_true − M ⪯ ρ D for D = diag(M). The supremum of ΔᵀMΔ over a ball
        or a product of balls is then right to within the same ρ: such a set is closed under
        changes of sign, and ΔᵀDΔ is the average of ΔᵀMΔ over the signs of Δ.
    how : str
        How it was found.
    """

    matrix: Array = attrs.field(converter=read_only)
    support: Array = attrs.field(converter=read_only)
    infinite: bool
    relative_error: float
    how: str

    @property
    def bound(self) -> Literal["exact", "upper"]:
        """Whether M is exact to 1e-5, or an upper bound in Loewner order."""
        return "exact" if self.relative_error <= EXACT else "upper"


def infinite_information(size: int, how: str) -> Information:
    """Return the information of a release that reveals some difference exactly.

    >>> infinite_information(1, "no noise").matrix
    array([[inf]])
    """
    matrix = np.zeros((size, size))
    np.fill_diagonal(matrix, np.inf)
    return Information(matrix, np.eye(size), infinite=True, relative_error=0.0, how=how)


def spread_information(
    matrix: Array, spread: Array, relative_error: float, how: str
) -> Information:
    """Return the information about k entries X_S = T Y from that about the r free values Y.

    A difference Δ = T δ of the entries is δ = T⁺Δ of the values, so M = T⁺ᵀ M_Y T⁺.

    If every row of T has at most one entry, 1, a change of sign of a value is one of its copies,
    and the error carries over as it is. Of other T a set of Δ need not be closed under changes of
    sign; but with μ the smallest eigenvalue of M_Y in units of its diagonal, the error is at most
    (ρ/μ) M_Y in Loewner order, on any set. Rows of T hold δ itself, so that |δ| ≤ 1 in every unit
    ball and a relative rounding u of T moves Δ by at most u Σ |T|.

    >>> spread_information(np.array([[4.0]]), np.ones((2, 1)), 0.0, "a copy").matrix
    array([[1., 1.],
           [1., 1.]])
    """
    size, rank = spread.shape
    if size == rank and np.array_equal(spread, np.eye(size)):
        return Information(
            matrix, np.eye(size), infinite=False, relative_error=relative_error, how=how
        )
    inverse = np.linalg.solve(spread.T @ spread, spread.T)
    found = inverse.T @ matrix @ inverse
    if not _copies_only(spread):
        rounding = 64 * size * ROUNDOFF * float(np.sum(np.abs(spread))) * _spread_of(spread)
        relative_error = _on_any_set(matrix, relative_error) + rounding
        if EXACT < relative_error < math.inf:
            found = (1 + relative_error) * found  # an upper bound from now on
    return Information(
        (found + found.T) / 2,
        _basis(spread),
        infinite=False,
        relative_error=relative_error,
        how=how,
    )


def _copies_only(spread: Array) -> bool:
    return bool(np.all((spread == 0) | (spread == 1)) and np.all(np.sum(spread, axis=1) <= 1))


def _on_any_set(matrix: Array, relative_error: float) -> float:
    """Return ρ/μ, less nothing that the rounding of μ could hide; infinite if μ may be zero."""
    scale = np.sqrt(np.diag(matrix))
    if not np.all(scale > 0):
        return math.inf
    normalised = matrix / scale[:, None] / scale[None, :]
    smallest = float(np.linalg.eigvalsh(normalised)[0]) - 16 * len(matrix) ** 2 * ROUNDOFF
    return relative_error / smallest if smallest > 0 else math.inf


def _spread_of(spread: Array) -> float:
    """Return the condition number of T, which its pseudo-inverse magnifies rounding by."""
    values = np.linalg.svd(spread, compute_uv=False)
    return float(values[0] / values[-1])


def _basis(spread: Array) -> Array:
    """Return an orthonormal basis of the range of T, each vector on entries that hang together."""
    result = np.zeros(spread.shape)
    left = np.ones(spread.shape[1], dtype=bool)
    while np.any(left):
        columns = np.arange(left.size) == np.argmax(left)
        grown = np.zeros_like(columns)
        while not np.array_equal(columns, grown):
            grown = columns
            rows = np.any(spread[:, columns] != 0, axis=1)
            columns = np.any(spread[rows] != 0, axis=0)
        piece = np.ix_(np.flatnonzero(rows), np.flatnonzero(columns))
        result[piece] = np.linalg.qr(spread[piece])[0]
        left &= ~columns
    return result
