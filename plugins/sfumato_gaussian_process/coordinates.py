"""Traces of several coordinates per time: the same dependence over time in each."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs import Gaussian
from sfumato.errors import Undecidable
from sfumato.inference.rational_information import MAX_ENTRIES, is_singular
from sfumato.matrices import Dense, Kronecker
from sfumato.matrices.matrix import ROUNDOFF, in_fractions
from sfumato.parameters import COUNT, COVARIANCE, OPTIONAL, parameter


def dimensions_parameter() -> Any:
    """Declare the number d of coordinates per time."""
    doc = "coordinates per time; 1 unless `across` says otherwise"
    return parameter(OPTIONAL(COUNT("d")), default=None, doc=doc)


def across_parameter() -> Any:
    """Declare the covariance across the coordinates."""
    doc = "covariance of the coordinates at one time, in units of the variance; None: independent"
    return parameter(OPTIONAL(COVARIANCE("d")), default=None, doc=doc)


def coordinates_of(dimensions: int | None, across: NDArray[np.float64] | None) -> int:
    """Return d.

    >>> coordinates_of(None, None), coordinates_of(None, np.eye(3))
    (1, 3)
    """
    if across is not None:
        return len(across)
    return 1 if dimensions is None else dimensions


def trace_of(
    times: int | NDArray[np.float64], dimensions: int | None, across: NDArray[np.float64] | None
) -> Hashable:
    """Return what two priors about one kind of trace agree in: times and coordinates.

    >>> trace_of(2, None, None) == trace_of(np.array([0.0, 1.0]), 1, None)
    True
    >>> trace_of(np.array([0.0, 2.0]), None, None)
    (2, 1, (0.0, 2.0))
    """
    width = coordinates_of(dimensions, across)
    if isinstance(times, int):
        return times, width
    if np.array_equal(times, np.arange(len(times))):
        return len(times), width
    return len(times), width, tuple(times.tolist())


def across_coordinates(
    over_time: Gaussian, dimensions: int | None, across: NDArray[np.float64] | None
) -> Gaussian:
    """Return the belief Σ_time ⊗ across, whose entries are time · d + coordinate.

    It is definite if and only if both factors are, which rational numbers decide for `across`.

    >>> across_coordinates(Gaussian(Dense(np.eye(2))), 3, None).shape
    (2, 3)
    """
    if across is None and dimensions in (None, 1):
        return over_time
    matrix = np.eye(coordinates_of(dimensions, across)) if across is None else across
    definite, known = _definite(matrix)
    return attrs.evolve(
        over_time,
        covariance=Kronecker(over_time.covariance, Dense(matrix)),
        dimensions=len(matrix),
        definite=over_time.definite and definite,
        rounding=over_time.rounding + 2 * ROUNDOFF,
        exact=_product(over_time.exact, matrix) if known else None,
    )


def _definite(matrix: NDArray[np.float64]) -> tuple[bool, bool]:
    """Return whether the stored matrix is definite, and whether it is semidefinite as stored."""
    if len(matrix) > MAX_ENTRIES:
        return False, False
    try:
        return not is_singular(in_fractions(matrix)), True
    except Undecidable:  # semidefinite up to rounding only: then the stored numbers are not the law
        return False, False


def _product(exact: Any, matrix: NDArray[np.float64]) -> Any:
    if exact is None:
        return None

    def balls(bits: int) -> Any:
        from flint import arb, arb_mat

        from sfumato.inference.ball_arithmetic import precision

        time, d = exact(bits), len(matrix)
        mixed = [[arb(float(value)) for value in row] for row in matrix]
        size = range(time.nrows() * d)
        with precision(bits):
            rows = [[time[i // d, j // d] * mixed[i % d][j % d] for j in size] for i in size]
            return arb_mat(rows)

    return balls
