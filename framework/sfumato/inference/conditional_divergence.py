"""How far apart two Gaussian beliefs are about the rest of a trace, given the secret entries."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from sfumato.beliefs.gaussian import Gaussian
from sfumato.content import read_only
from sfumato.errors import Incompatible, ParameterError, Undecidable
from sfumato.inference.ball_arithmetic import (
    FIRST_BITS,
    LAST_BITS,
    TARGET,
    balls_apply,
    precision,
)
from sfumato.inference.ball_definiteness import ball_pivots, is_positive_definite
from sfumato.matrices.matrix import ROUNDOFF, Array, as_indices


@attrs.frozen(eq=False)
class ConditionalDivergence:
    """D(x) = constant + (λ/2) xᵀ G x, for secret values x from where both means agree.

    Upper ends, right to a relative error of about 1e-10; `infinite` where no x has a finite one.
    """

    constant: float
    quadratic: Array = attrs.field(converter=read_only)
    infinite: bool


def conditional_divergence(
    first: Gaussian, second: Gaussian, entries: Sequence[int], order: float
) -> ConditionalDivergence:
    """Return the Rényi divergence D_λ(P‖Q) of X_U given X_S = x, as a function of x.

    P and Q have conditional means A_P x and A_Q x (up to constants) and covariances C_P and C_Q.
    With C = λ C_Q + (1 − λ) C_P,

        D_λ = (λ/2) xᵀ(A_P − A_Q)ᵀ C⁻¹ (A_P − A_Q) x
              − (log det C − (1 − λ) log det C_P − λ log det C_Q) / (2 (λ − 1)),

    and +∞ unless C is positive definite, which balls decide: float64 cannot.

    >>> from sfumato.matrices import Diagonal
    >>> one, two = (Gaussian(Diagonal([v]), definite=True, rounding=0.0) for v in (1.0, 2.0))
    >>> round(conditional_divergence(one, two, [], 2.0).constant, 6)
    0.143841
    >>> conditional_divergence(two, one, [], 2.0).infinite
    True
    """
    if not (math.isfinite(order) and order > 1):
        raise ParameterError(f"order must be finite and above 1; got {order}.")
    if first.shape != second.shape:
        raise Incompatible(
            f"two beliefs must speak of one trace; got shapes {first.shape} and {second.shape}."
        )
    chosen = as_indices(entries, first.entries).tolist()
    none = ConditionalDivergence(0.0, np.zeros((len(chosen), len(chosen))), infinite=False)
    if len(chosen) == first.entries or first.covariance == second.covariance:
        return none
    if not (balls_apply(first) and balls_apply(second)):
        raise Undecidable(
            "whether two Gaussian beliefs have a finite divergence takes ball arithmetic; install "
            "sfumato[certify] and use priors with an exact form on at most 400 entries."
        )
    bits = FIRST_BITS
    while bits <= LAST_BITS:
        with precision(bits):
            found = _at_precision(first, second, chosen, order, bits)
        if found is not None:
            return found
        bits *= 2
    raise Undecidable(
        f"ball arithmetic of {LAST_BITS} bits cannot tell whether the divergence of the two "
        f"beliefs is finite: one of them may be singular."
    )


def _at_precision(
    first: Gaussian, second: Gaussian, chosen: list[int], order: float, bits: int
) -> ConditionalDivergence | None:
    from flint import arb

    try:
        (weights, own), (other_weights, other) = (
            _conditioned(belief, chosen, bits) for belief in (first, second)
        )
    except ZeroDivisionError:
        return None
    # Exactly, from the float64 order.
    weight = arb(order)
    mixed = weight * other + (1 - weight) * own
    decided = is_positive_definite(mixed)
    determinants = [_log_determinant(matrix) for matrix in (own, other)]
    if decided is None or any(value is None for value in determinants):
        return None
    size = len(chosen)
    if not decided:
        return ConditionalDivergence(math.inf, np.zeros((size, size)), infinite=True)
    balance = _log_determinant(mixed) - (1 - weight) * determinants[0] - weight * determinants[1]
    constant = -balance / (2 * (weight - 1))
    if not size:
        return _accepted(constant, None, size)
    apart = weights - other_weights
    try:
        return _accepted(
            constant, apart.transpose() * mixed.solve(apart, algorithm="precond"), size
        )
    except ZeroDivisionError:
        return None


def _conditioned(belief: Gaussian, chosen: list[int], bits: int) -> tuple[Any, Any]:
    """Return A and C of X_U given X_S; A is None where nothing is given."""
    from flint import arb_mat

    balls = belief.covariance.in_balls() if belief.exact is None else belief.exact(bits)
    others = [i for i in range(belief.entries) if i not in set(chosen)]
    own = arb_mat([[balls[i, j] for j in others] for i in others])
    if not chosen:
        return None, own
    inner = arb_mat([[balls[i, j] for j in chosen] for i in chosen])
    cross = arb_mat([[balls[i, j] for j in others] for i in chosen])
    solved = inner.solve(cross, algorithm="precond")
    return solved.transpose(), own - cross.transpose() * solved


def _log_determinant(matrix: Any) -> Any:
    """Return the logarithm of the determinant, or None where definiteness is not certain."""
    from flint import arb

    pivots = ball_pivots(matrix)
    if len(pivots) < matrix.nrows() or not pivots[-1] > 0:
        return None
    return sum((pivot.log() for pivot in pivots), arb(0))


def _accepted(constant: Any, quadratic: Any, size: int) -> ConditionalDivergence | None:
    """Return upper ends in float64 if every radius is small; None if not."""
    middle, radius = float(constant.mid()), float(constant.rad())
    if not (math.isfinite(middle) and radius <= TARGET * max(abs(middle), 1e-6)):
        return None
    upper = max(0.0, middle + radius + 4 * ROUNDOFF * abs(middle))
    if quadratic is None:
        return ConditionalDivergence(upper, np.zeros((0, 0)), infinite=False)
    every = range(size)
    entries = np.array([[float(quadratic[i, j].mid()) for j in every] for i in every])
    radii = np.array([[float(quadratic[i, j].rad()) for j in every] for i in every])
    largest = float(np.max(np.abs(entries)))
    slack = size * (float(np.max(radii)) + 4 * ROUNDOFF * largest)
    if not (math.isfinite(slack) and slack <= max(TARGET * largest, 1e-300)):
        return None
    raised = (entries + entries.T) / 2 + slack * np.eye(size)
    return ConditionalDivergence(upper, raised, infinite=False)
