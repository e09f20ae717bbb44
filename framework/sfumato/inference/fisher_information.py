"""The exact loss of a Gaussian release: the adversary's gain in precision about a secret."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.beliefs.gaussian import Gaussian
from sfumato.channels.additive_gaussian import AdditiveGaussian
from sfumato.errors import Incompatible, Undecidable
from sfumato.inference.ball_arithmetic import (
    LAST_BITS,
    ball_information,
    ball_scalar_informations,
    balls_apply,
)
from sfumato.inference.fisher_form import fisher_form, regress
from sfumato.inference.information import (
    EXACT,
    Information,
    infinite_information,
    spread_information,
)
from sfumato.inference.one_factorisation import one_factorisation
from sfumato.inference.one_substitution import one_substitution
from sfumato.inference.rational_information import (
    MAX_ENTRIES,
    is_singular,
    rational_applies,
    rational_information,
)
from sfumato.inference.secret_entries import SecretEntries, secret_entries
from sfumato.matrices.matrix import Array, Matrix

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
    decidable = belief.definite and size <= MAX_ENTRIES
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
