"""How fast a chain forgets where it was."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sfumato.errors import ParameterError
from sfumato.probabilities import FloatArray, checked_laws


def spectral_gap(transitions: ArrayLike) -> FloatArray:
    """Return 1 − |λ_2| for a matrix, or for each matrix of a stack, λ_2 second in modulus.

    Someone who moves fast has a large gap, someone who stays a small one; a chain that can be
    split, or that is periodic, has gap 0.

    Examples
    --------
    >>> spectral_gap([[0.9, 0.1], [0.1, 0.9]]).round(12).tolist()
    0.2
    """
    matrices = checked_laws(transitions, "transitions")
    if matrices.ndim < 2 or matrices.shape[-1] != matrices.shape[-2]:
        raise ParameterError(f"transitions must be square matrices; got {matrices.shape}.")
    if matrices.shape[-1] == 1:
        return np.ones(matrices.shape[:-2])
    sizes = np.sort(np.abs(np.linalg.eigvals(matrices)), axis=-1)
    return np.asarray(np.clip(1.0 - sizes[..., -2], 0.0, 1.0))
