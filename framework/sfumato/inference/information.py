"""How precisely a release tells the secret entries."""

from __future__ import annotations

from typing import Literal

import attrs
import numpy as np

from sfumato.content import ByContent, read_only
from sfumato.matrices.matrix import Array

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

    >>> spread_information(np.array([[4.0]]), np.ones((2, 1)), 0.0, "a copy").matrix
    array([[1., 1.],
           [1., 1.]])
    """
    size, rank = spread.shape
    if size == rank and np.array_equal(spread, np.eye(size)):
        return Information(
            matrix, np.eye(size), infinite=False, relative_error=relative_error, how=how
        )
    basis = np.linalg.qr(spread)[0]
    inverse = np.linalg.solve(spread.T @ spread, spread.T)
    return Information(
        inverse.T @ matrix @ inverse,
        basis,
        infinite=False,
        relative_error=relative_error,
        how=how,
    )
