"""Symmetric positive semidefinite matrices with known structure, for priors and noise alike."""

from __future__ import annotations

from sfumato.matrices.block_diagonal import BlockDiagonal
from sfumato.matrices.dense import Dense
from sfumato.matrices.diagonal import Diagonal
from sfumato.matrices.kronecker import Kronecker
from sfumato.matrices.low_rank import LowRank
from sfumato.matrices.matrix import MAX_DENSE, Matrix
from sfumato.matrices.scaled import Scaled
from sfumato.matrices.sums import Sum
from sfumato.matrices.toeplitz import Toeplitz

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
