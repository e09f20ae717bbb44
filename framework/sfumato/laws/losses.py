"""Designing and measuring inside a law, and comparing losses by what is certain of them."""

from __future__ import annotations

import math
from typing import Any

from sfumato.errors import ParameterError
from sfumato.laws.violation import NotHere, require
from sfumato.protocols import Loss, Release

ROUNDING = 1e-7
"""Relative room for rounding between two computations of different inputs."""


def designed(mechanism: Any, prior: Any, secret: Any) -> Release:
    """Return the mechanism's release; a parameter that does not suit the trace is passed over."""
    for member in prior.members():
        belief = member.belief()  # a prior that cannot say what it believes is at fault itself
        break
    try:
        secret.question(belief)
        release: Release = mechanism.protect(prior, secret)
    except ParameterError as reason:
        raise NotHere(str(reason)) from None
    return release


def require_no_worse(after: Loss, before: Loss, change: str, rounding: float = ROUNDING) -> None:
    """Require that a change has not certainly made a loss worse."""
    require(
        not certainly_worse(after, before, rounding),
        f"{change} must not make the loss worse: {before} became {after} "
        f"({after.quantity.worse} is worse)",
    )


def certainly_worse(one: Loss, other: Loss, rounding: float = ROUNDING) -> bool:
    """Whether every value `one` can have is worse than every value `other` can have."""
    if one.quantity.sign > 0:
        return _above(one.floor, other.ceiling, rounding)
    return _above(other.floor, one.ceiling, rounding)


def _above(low: float, high: float, rounding: float) -> bool:
    if math.isinf(low) or math.isinf(high):
        return low > high
    return low - high > rounding * max(abs(low), abs(high), 1e-6)
