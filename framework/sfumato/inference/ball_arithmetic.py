"""Fisher information in ball arithmetic, for what float64 cannot decide."""

from __future__ import annotations

import contextlib
import importlib.util
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from sfumato.beliefs.gaussian import Gaussian
from sfumato.inference.secret_entries import SecretEntries
from sfumato.matrices.matrix import ROUNDOFF, Array, Matrix

FIRST_BITS, LAST_BITS = 256, 4096
"""The precision is doubled from the first to, at most, the last number of bits."""

TARGET = 1e-10
"""Relative radius at which the result is accepted."""

MAX_ENTRIES = 400
"""Largest trace for which balls are tried: the cost grows like n³ and with the precision."""


def flint_installed() -> bool:
    """Whether the extra sfumato[certify] is there.

    >>> isinstance(flint_installed(), bool)
    True
    """
    return importlib.util.find_spec("flint") is not None


@contextlib.contextmanager
def precision(bits: int) -> Iterator[None]:
    """Set flint's global precision, and restore it afterwards."""
    from flint import ctx

    before = ctx.prec
    ctx.prec = bits
    try:
        yield
    finally:
        ctx.prec = before


def balls_apply(belief: Gaussian) -> bool:
    """Whether the true covariance is known to any precision, and flint is there to use it.

    >>> from sfumato.matrices import Diagonal
    >>> balls_apply(Gaussian(Diagonal([1.0])))
    False
    """
    known = belief.exact is not None or belief.rounding == 0
    return known and belief.entries <= MAX_ENTRIES and flint_installed()


def ball_information(
    belief: Gaussian, noise: Matrix, secret: SecretEntries
) -> tuple[Array, float] | None:
    """Return an upper end of M = Ãᵀ(C + Γ)⁻¹Ã and its relative error; None if none is found.

    Ã = Σ_{:,S} Σ_SS⁻¹ and C = Σ − Ã Σ_{S,:} are formed from the belief's parameters, Γ from the
    float64 factors that the noise is sampled with. If every entry of M has a radius of at most
    ε √(M_ii M_jj), then M_true lies within k ε diag(M) of the midpoints, in Loewner order.
    """
    bits = FIRST_BITS
    while bits <= LAST_BITS:
        with precision(bits):
            found = _midpoints(_solved(belief, noise, secret, bits))
        if found is not None and found[1] <= TARGET:
            middle, error = found
            return middle + error * np.diag(np.diag(middle)), 2 * error
        bits *= 2
    return None


def ball_scalar_informations(
    belief: Gaussian, noise: Matrix, entries: list[int]
) -> dict[int, tuple[float, float]]:
    """Return upper ends of M_ss = 1/V_ss − 1/Σ_ss and relative errors, from one solve for all.

    V = Σ − Σ K⁻¹ Σ cancels almost wholly, which costs bits and nothing else.
    Entries whose ball stays wide, such as those of an infinite loss, are left out.
    """
    found: dict[int, tuple[float, float]] = {}
    bits = FIRST_BITS
    while bits <= LAST_BITS and len(found) < len(entries):
        with precision(bits):
            left = [entry for entry in entries if entry not in found]
            found.update(_scalars(belief, noise, left, bits))
        bits *= 2
    return found


def _scalars(
    belief: Gaussian, noise: Matrix, entries: list[int], bits: int
) -> dict[int, tuple[float, float]]:
    covariance = belief.covariance.in_balls() if belief.exact is None else belief.exact(bits)
    columns = _columns(covariance, entries)
    try:
        solved = (covariance + noise.in_balls(sampled=True)).solve(columns, algorithm="precond")
    except ZeroDivisionError:
        return {}
    found = {}
    for position, entry in enumerate(entries):
        own = covariance[entry, entry]
        gained = (_column(columns, position).transpose() * _column(solved, position))[0, 0]
        left = own - gained
        if not (left > 0 and own > 0):
            continue
        ball = gained / (left * own)
        middle, radius = float(ball.mid()), float(ball.rad())
        if middle > 0 and math.isfinite(middle) and radius <= TARGET * middle:
            error = radius / middle + 4 * ROUNDOFF
            found[entry] = (middle * (1 + error), 2 * error)
    return found


def _column(matrix: Any, position: int) -> Any:
    return _columns(matrix, [position])


def _solved(belief: Gaussian, noise: Matrix, secret: SecretEntries, bits: int) -> Any:
    """Return M as an `arb_mat`, or None where a ball matrix cannot be shown to be invertible."""
    covariance = belief.covariance.in_balls() if belief.exact is None else belief.exact(bits)
    chosen = secret.representatives.tolist()
    cross = _columns(covariance, chosen)
    try:
        inner = _rows(cross, chosen)
        regression = inner.solve(cross.transpose(), algorithm="precond").transpose()
        conditional = covariance - regression * cross.transpose()
        total = conditional + noise.in_balls(sampled=True)
        return regression.transpose() * total.solve(regression, algorithm="precond")
    except ZeroDivisionError:
        return None


def _columns(matrix: Any, chosen: list[int]) -> Any:
    from flint import arb_mat

    return arb_mat([[matrix[i, j] for j in chosen] for i in range(matrix.nrows())])


def _rows(matrix: Any, chosen: list[int]) -> Any:
    from flint import arb_mat

    return arb_mat([[matrix[i, j] for j in range(matrix.ncols())] for i in chosen])


def _midpoints(balls: Any) -> tuple[Array, float] | None:
    """Return midpoints and relative error; None unless every ball is finite and every M_ii > 0."""
    if balls is None:
        return None
    size = balls.nrows()
    entries = [[balls[i, j] for j in range(size)] for i in range(size)]
    if not all(ball.is_finite() for row in entries for ball in row):
        return None
    middle = np.array([[float(ball.mid()) for ball in row] for row in entries])
    radius = np.array([[float(ball.rad()) for ball in row] for row in entries])
    if not (np.all(np.isfinite(middle)) and np.all(np.isfinite(radius))):
        return None
    middle = (middle + middle.T) / 2
    scale = np.sqrt(np.maximum(np.diag(middle), 0.0))
    if not np.all(scale > 0):
        return None
    # Midpoints are rounded to float64 (twice: conversion and symmetrising).
    relative = radius / scale[:, None] / scale[None, :] + 4 * ROUNDOFF
    error = size * float(np.max(relative)) * (1 + 1e-9)
    return (middle, error) if math.isfinite(error) else None
