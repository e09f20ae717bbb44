"""Symmetric positive semidefinite matrices with known structure, for priors and noise alike."""

from __future__ import annotations

from sfumato.matrices.combinations import BlockDiagonal, Kronecker, Scaled, Sum
from sfumato.matrices.matrix import MAX_DENSE, Matrix
from sfumato.matrices.structured import Dense, Diagonal, LowRank, Toeplitz

__all__ = [
    "MAX_DENSE",
    "BlockDiagonal",
    "Dense",
    "Diagonal",
    "Kronecker",
    "LowRank",
    "Matrix",
    "Scaled",
    "Sum",
    "Toeplitz",
]
