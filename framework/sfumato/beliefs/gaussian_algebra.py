"""Adding independent Gaussian traces, and multiplying their covariances entry by entry."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sfumato.beliefs.gaussian import Gaussian
from sfumato.errors import ParameterError
from sfumato.matrices.dense import Dense
from sfumato.matrices.kronecker import Kronecker
from sfumato.matrices.matrix import ROUNDOFF, Array, Matrix
from sfumato.matrices.sums import Sum
from sfumato.matrices.toeplitz import Toeplitz

Exact = Callable[[int], Any]


def gaussian_sum(terms: Sequence[Gaussian]) -> Gaussian:
    """Return the belief about the sum of independent traces: covariance Σ₁ + Σ₂ + ….

    It is definite if one term is. Errors |E_k| ≤ ε_k σ_k σ_kᵀ add up to at most max ε_k times the
    deviations of the sum, by the inequality of Cauchy and Schwarz.

    >>> from sfumato.matrices import Diagonal
    >>> gaussian_sum([Gaussian(Diagonal([1.0])), Gaussian(Diagonal([2.0]))]).covariance.dense()
    array([[3.]])
    """
    _check_shapes(terms)
    means = [term.mean for term in terms if term.mean is not None]
    return Gaussian(
        functools.reduce(_added, [term.covariance for term in terms]),
        dimensions=terms[0].dimensions,
        mean=functools.reduce(np.add, means) if means else None,
        definite=any(term.definite for term in terms),
        rounding=max(term.rounding for term in terms) + len(terms) * ROUNDOFF,
        exact=_folded(terms, lambda a, b: a + b),
    )


def gaussian_product(factors: Sequence[Gaussian]) -> Gaussian:
    """Return the belief whose covariance is the entrywise product Σ₁ ∘ Σ₂ ∘ ….

    It is semidefinite, and definite if one factor is and the variances of the others are positive
    (Schur's product theorem). Means must be zero.

    >>> from sfumato.matrices import Diagonal
    >>> gaussian_product([Gaussian(Diagonal([3.0])), Gaussian(Diagonal([2.0]))]).covariance.dense()
    array([[6.]])
    """
    _check_shapes(factors)
    if any(factor.mean is not None and np.any(factor.mean) for factor in factors):
        raise ParameterError("a product of beliefs must be of zero means; got another mean.")
    positive = all(bool(np.all(factor.covariance.diagonal() > 0)) for factor in factors)
    rounding = np.prod([1 + factor.rounding for factor in factors]) - 1
    return Gaussian(
        functools.reduce(_multiplied, [factor.covariance for factor in factors]),
        dimensions=factors[0].dimensions,
        definite=positive and any(factor.definite for factor in factors),
        rounding=float(rounding) + 2 * len(factors) * ROUNDOFF,
        exact=_folded(factors, _entrywise),
    )


def _check_shapes(beliefs: Sequence[Gaussian]) -> None:
    shapes = {belief.shape for belief in beliefs}
    if len(shapes) != 1:
        raise ParameterError(f"beliefs must speak of one trace; got shapes {sorted(shapes)}.")


def _added(one: Matrix, other: Matrix) -> Matrix:
    if isinstance(one, Toeplitz) and isinstance(other, Toeplitz):
        return Toeplitz(one.first_column + other.first_column)
    if isinstance(one, Kronecker) and isinstance(other, Kronecker) and one.across == other.across:
        return Kronecker(_added(one.time, other.time), one.across)
    return Sum((one, other))


def _multiplied(one: Matrix, other: Matrix) -> Matrix:
    if isinstance(one, Toeplitz) and isinstance(other, Toeplitz):
        return Toeplitz(one.first_column * other.first_column)
    if (
        isinstance(one, Kronecker)
        and isinstance(other, Kronecker)
        and one.across.size == other.across.size
    ):
        across = Dense(one.across.entries * other.across.entries)
        return Kronecker(_multiplied(one.time, other.time), across)
    product: Array = one.dense() * other.dense()
    return Dense(product)


def _folded(beliefs: Sequence[Gaussian], operation: Callable[[Any, Any], Any]) -> Exact | None:
    """Return the combination in balls, if every belief is known exactly."""
    known = [_exactly(belief) for belief in beliefs]
    if any(exact is None for exact in known):
        return None

    def balls(bits: int) -> Any:
        from sfumato.inference.ball_arithmetic import precision

        with precision(bits):
            return functools.reduce(operation, [exact(bits) for exact in known if exact])

    return balls


def _exactly(belief: Gaussian) -> Exact | None:
    if belief.exact is None and belief.rounding == 0:
        return lambda _: belief.covariance.in_balls()
    return belief.exact


def _entrywise(one: Any, other: Any) -> Any:
    from flint import arb_mat

    rows, columns = range(one.nrows()), range(one.ncols())
    return arb_mat([[one[i, j] * other[i, j] for j in columns] for i in rows])
