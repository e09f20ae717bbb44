"""The precision of a few entries before anything is released."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sfumato.beliefs.gaussian import Gaussian
from sfumato.inference.ball_arithmetic import (
    FIRST_BITS,
    LAST_BITS,
    TARGET,
    balls_apply,
    precision,
)
from sfumato.inference.information import EXACT
from sfumato.matrices.matrix import ROUNDOFF, Array, as_indices


def prior_precision(belief: Gaussian, entries: Sequence[int]) -> tuple[Array, float]:
    """Return Σ_SS⁻¹ and a certified bound of its relative error in the 2-norm (inf: unknown).

    With X an approximate inverse of the stored block A and E the rounding of A, the true inverse
    differs from X by at most ‖X‖ q / (1 − q), q = ‖I − X A‖ + ‖X‖ ‖E‖.

    >>> from sfumato.matrices import Diagonal
    >>> prior_precision(Gaussian(Diagonal([2.0, 4.0])), [1])[0]
    array([[0.25]])
    """
    chosen = as_indices(entries, belief.entries)
    deviations = np.sqrt(belief.covariance.diagonal()[chosen])
    if not np.all(deviations > 0):
        return np.full((chosen.size, chosen.size), np.nan), math.inf
    inverse, error = _in_float64(belief, chosen, deviations)
    if error > EXACT and balls_apply(belief):
        inverse, error = _in_balls(belief, chosen.tolist()) or (inverse, error)
    return inverse, error


def _in_float64(belief: Gaussian, chosen: Any, deviations: Array) -> tuple[Array, float]:
    size = chosen.size
    block = belief.covariance.block(chosen, chosen)
    scaled = block / deviations[:, None] / deviations[None, :]
    try:
        inverse = np.linalg.inv(scaled)
    except np.linalg.LinAlgError:
        return np.full((size, size), np.nan), math.inf
    inverse = (inverse + inverse.T) / 2
    rounding = size * (belief.rounding + 4 * ROUNDOFF)
    norm = float(np.linalg.norm(inverse, 2)) * (1 + 1e-9)
    missed = float(np.linalg.norm(np.eye(size) - inverse @ scaled, 2))
    q = missed + norm * (rounding + 2 * size * size * ROUNDOFF)
    unscaled = inverse / deviations[:, None] / deviations[None, :]
    if not q < 0.25:
        return unscaled, math.inf
    # ‖D X D‖ of the unscaled inverse may be smaller than ‖X‖ max D², by the spread of D.
    spread = norm / float(np.min(deviations)) ** 2 / float(np.linalg.norm(unscaled, 2))
    return unscaled, 2 * q * spread


def _in_balls(belief: Gaussian, chosen: list[int]) -> tuple[Array, float] | None:
    bits = FIRST_BITS
    while bits <= LAST_BITS:
        with precision(bits):
            found = _inverted(belief, chosen, bits)
        if found is not None and found[1] <= TARGET:
            return found
        bits *= 2
    return None


def _inverted(belief: Gaussian, chosen: list[int], bits: int) -> tuple[Array, float] | None:
    from flint import arb_mat

    balls = belief.covariance.in_balls() if belief.exact is None else belief.exact(bits)
    size = range(len(chosen))
    block = arb_mat([[balls[i, j] for j in chosen] for i in chosen])
    identity = arb_mat([[int(i == j) for j in size] for i in size])
    try:
        inverse = block.solve(identity, algorithm="precond")
    except ZeroDivisionError:
        return None
    middle = np.array([[float(inverse[i, j].mid()) for j in size] for i in size])
    radius = np.array([[float(inverse[i, j].rad()) for j in size] for i in size])
    if not (np.all(np.isfinite(middle)) and np.all(np.isfinite(radius))):
        return None
    middle = (middle + middle.T) / 2
    norm = float(np.linalg.norm(middle, 2))
    return middle, (float(np.linalg.norm(radius)) / norm + 4 * len(chosen) * ROUNDOFF)
