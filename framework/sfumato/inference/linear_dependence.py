"""Entries of a trace that are fixed linear functions of others, whatever the trace."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from sfumato.beliefs.gaussian import Gaussian
from sfumato.errors import Undecidable
from sfumato.inference.rational_information import (
    MAX_ENTRIES,
    independent_entries,
    regress_exactly,
)
from sfumato.matrices.matrix import ROUNDOFF, Array

BITS = 4096
"""Precision at which entries that float64 cannot tell apart are compared.

Correlations of float64 parameters come as close to one as 1 − 10⁻⁶¹⁶ (a length scale of 10³⁰⁸), and
entries held to be copies when they are not would hide the worst displacement."""


@attrs.frozen(eq=False)
class Dependence:
    """X_i = Σ_j coefficients[i, j] X_free[j] for every i of some entries, up to constants.

    `rounded` says whether a coefficient is not a float64 number, and so off by half a unit.
    """

    free: list[int]
    coefficients: Array
    rounded: bool


def linear_dependence(
    belief: Gaussian, entries: list[int], known: Callable[[], Any]
) -> Dependence | None:
    """Return how some entries determine the others; None where none is known to be determined.

    A determined entry has Var(X_i − Σ c_j X_j) = 0 with c from elimination in rational numbers.
    That is believed of stored numbers which are the belief itself, and of others if the true
    covariance is `known` in balls (None: it is not), and they do not refute it.

    >>> from sfumato.matrices import LowRank
    >>> belief = Gaussian(LowRank([1.0, 2.0]), rounding=0.0)
    >>> linear_dependence(belief, [0, 1], lambda: None).coefficients
    array([[0.5],
           [1. ]])
    """
    if not 1 < len(entries) <= MAX_ENTRIES or not _looks_singular(belief, entries):
        return None
    block, every = belief.covariance.rational(entries), list(range(len(entries)))
    try:
        # Those of large variance first, so that the coefficients of the others are moderate.
        free = independent_entries(block, sorted(every, key=lambda i: -block[i][i]))
    except Undecidable:  # rounding has made the stored numbers indefinite: they tell nothing
        return None
    if len(free) == len(entries):
        return None
    rows, _ = regress_exactly(block, free)
    balls = known()
    if balls is None and belief.rounding > 0:
        return None
    for position in set(every) - set(free):
        if balls is not None and _refuted(balls, entries, position, free, rows[position]):
            return None
    coefficients = np.array([[float(x) for x in row] for row in rows])
    rounded = any(Fraction(float(x)) != x for row in rows for x in row)
    return Dependence([entries[position] for position in free], coefficients, rounded)


def _looks_singular(belief: Gaussian, entries: list[int]) -> bool:
    """Whether float64 cannot tell the correlations of the entries from a singular matrix."""
    deviations = np.sqrt(belief.covariance.diagonal()[entries])
    block = belief.covariance.block(entries, entries) / deviations[:, None] / deviations
    size = len(entries)
    return not float(np.linalg.eigvalsh(block)[0]) > 4 * size * (belief.rounding + 16 * ROUNDOFF)


def _refuted(balls: Any, entries: list[int], position: int, free: list[int], row: Any) -> bool:
    """Whether balls prove that X_position − Σ c_j X_free[j] has a variance above zero."""
    from flint import arb, fmpq

    from sfumato.inference.ball_arithmetic import precision

    with precision(BITS):
        terms = [(entries[position], arb(1))]
        terms += [
            (entries[j], -arb(fmpq(c.numerator, c.denominator)))
            for j, c in zip(free, row, strict=True)
            if c
        ]
        variance = sum((a * b * balls[i, j] for i, a in terms for j, b in terms), arb(0))
        return bool(variance > 0)
