"""The exact loss of a Gaussian release: the adversary's gain in precision about a secret."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.errors import Incompatible, Undecidable
from sfumato.inference.exact import (
    FIRST_BITS,
    LAST_BITS,
    MOST_RATIONAL_ENTRIES,
    TARGET,
    ball_information,
    ball_scalar_informations,
    balls_apply,
    is_singular,
    precision,
    rational_applies,
    rational_information,
)
from sfumato.inference.gaussian.float_information import (
    fisher_form,
    one_factorisation,
    one_substitution,
    regress,
)
from sfumato.inference.gaussian.information import (
    EXACT,
    Information,
    infinite_information,
    spread_information,
)
from sfumato.inference.gaussian.secret_entries import SecretEntries, secret_entries
from sfumato.matrices.matrix import ROUNDOFF, Array, Matrix, as_indices

__all__ = ["Information", "check_fit", "fisher_information", "scalar_informations"]

UPPER = 0.5
"""Largest certified relative error at which float64 still gives an upper bound."""


def fisher_information(
    belief: Gaussian, channel: AdditiveGaussian, entries: Sequence[int]
) -> Information:
    """Return the Fisher information M of Z = X + G about the entries X_S.

    Z given X_S = x is Gaussian with mean Ã x + const, Ã = Σ_{:,S} Σ_SS⁻¹, and covariance C + Γ,
    C = Σ − Ã Σ_{S,:}, which does not depend on x. So

        M = Ãᵀ (C + Γ)⁻¹ Ã = V_SS⁻¹ − Σ_SS⁻¹,

    V being the posterior covariance of X given Z: posterior precision is prior precision plus M.
    This holds for every Γ, also one that correlates the noise of S with the rest.
    Float64 is used where its error is certified to be at most 1e-5; then rational numbers, balls,
    or an upper bound; else `Undecidable` is raised.

    >>> from sfumato.matrices import Diagonal
    >>> belief = Gaussian(Diagonal([1.0, 1.0]))
    >>> fisher_information(belief, AdditiveGaussian(Diagonal([0.5, 0.5])), [0]).matrix
    array([[2.]])
    """
    check_fit(belief, channel)
    secret, noise = secret_entries(belief, entries), channel.noise
    size = secret.entries.size
    if secret.representatives.size == 0:
        nothing = np.zeros((size, 0))
        return Information(
            np.zeros((size, size)), nothing, infinite=False, relative_error=0.0, how="constants"
        )
    if reason := _structurally_infinite(belief, noise, secret):
        return infinite_information(size, reason)
    matrix, error = fisher_form(belief, noise, secret)
    if error <= EXACT:
        return spread_information(matrix, secret.spread, error, "float64, error certified")
    if found := _exactly(belief, noise, secret):
        return found
    if error < UPPER:
        raised = matrix + error * np.diag(np.diag(matrix))
        how = "float64, raised by the certified error"
        return spread_information(raised, secret.spread, 2 * error / (1 - error), how)
    raise Undecidable(_why(belief, secret))


def scalar_informations(belief: Gaussian, channel: AdditiveGaussian) -> tuple[Array, float]:
    """Return M_ss = 1/V_ss − 1/Σ_ss for every entry s, and the largest certified relative error.

    An error above 1e-5 means that the values are upper bounds. Entries that float64 cannot certify
    from the common factorisation are computed in balls, together or one by one.

    >>> from sfumato.matrices import Diagonal
    >>> belief = Gaussian(Diagonal([1.0, 1.0]))
    >>> scalar_informations(belief, AdditiveGaussian(Diagonal([0.5, 0.25])))[0]
    array([2., 4.])
    """
    check_fit(belief, channel)
    with np.errstate(all="ignore"):  # what overflows has no certificate, and is done again below
        values, errors = _in_float64(belief, channel.noise)
    pending = np.flatnonzero(~(errors <= EXACT)).tolist()
    if len(pending) > 1 and balls_apply(belief):
        for entry, (value, error) in ball_scalar_informations(
            belief, channel.noise, pending
        ).items():
            values[entry], errors[entry] = value, error
    for entry in np.flatnonzero(~(errors <= EXACT)).tolist():
        information = fisher_information(belief, channel, [entry])
        values[entry] = information.matrix[0, 0]
        errors[entry] = information.relative_error
    return values, float(errors.max())


def _in_float64(belief: Gaussian, noise: Matrix) -> tuple[Array, Array]:
    """Return the informations about all entries and their errors, the cheap way if it certifies."""
    found = one_substitution(belief, noise)
    return one_factorisation(belief, noise) if found is None else found


def check_fit(belief: Gaussian, channel: AdditiveGaussian) -> None:
    """Refuse a belief and a channel about traces of different shapes."""
    if not isinstance(belief, Gaussian) or not isinstance(channel, AdditiveGaussian):
        raise Incompatible(
            f"the Fisher information takes a Gaussian belief and an AdditiveGaussian channel; got "
            f"{type(belief).__name__} and {type(channel).__name__}."
        )
    if belief.shape != channel.shape:
        raise Incompatible(
            f"belief and channel must speak of one trace; got shapes {belief.shape} and "
            f"{channel.shape}."
        )


def _structurally_infinite(belief: Gaussian, noise: Matrix, secret: SecretEntries) -> str:
    """Say why the loss is infinite, where that needs no tolerance; else the empty string."""
    silent = noise.diagonal() == 0
    if np.any(secret.copies[silent]):
        return "a secret entry is released without noise"
    if belief.definite and noise.rank_bound(secret.entries) < secret.entries.size:
        return "the noise of the secret entries has too small a rank"
    return ""


def _exactly(belief: Gaussian, noise: Matrix, secret: SecretEntries) -> Information | None:
    """Return M from exact arithmetic, or None where none applies."""
    size = secret.entries.size
    # For a definite prior the loss is infinite if and only if Γ_SS is singular.
    decidable = belief.definite and size <= MOST_RATIONAL_ENTRIES
    if decidable and is_singular(noise.rational(secret.entries, sampled=True)):
        return infinite_information(size, "the noise of the secret entries is singular")
    if rational_applies(belief, secret):
        found = rational_information(belief, noise, secret)
        if found is None:
            return infinite_information(size, "a difference is released without noise")
        return spread_information(*found, 1e-14, "rational numbers")
    if balls_apply(belief):
        balls = ball_information(belief, noise, secret)
        if balls is not None:
            return spread_information(balls[0], secret.spread, balls[1], "ball arithmetic")
    return None


def _why(belief: Gaussian, secret: SecretEntries) -> str:
    if regress(belief, secret) is None:
        reason = "float64 cannot tell the covariance of the secret entries from a singular one"
        remedy = "leave out secret entries that others nearly determine"
    else:
        reason = "float64 cannot tell this loss from an infinite one"
        remedy = "add independent noise to every entry"
    if balls_apply(belief):
        return f"{reason}, nor can ball arithmetic of {LAST_BITS} bits: {remedy}."
    if belief.exact is None and belief.rounding > 0:
        return f"{reason}, and the belief has no exact form: {remedy}."
    return f"{reason}: {remedy}, or install sfumato[certify], which may decide it."


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
    inverse, error = _precision_in_float64(belief, chosen, deviations)
    if error > EXACT and balls_apply(belief):
        inverse, error = _in_balls(belief, chosen.tolist()) or (inverse, error)
    return inverse, error


def _precision_in_float64(belief: Gaussian, chosen: Any, deviations: Array) -> tuple[Array, float]:
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
