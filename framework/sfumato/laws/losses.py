"""Designing and measuring inside a law, and comparing readings by what is certain of them."""

from __future__ import annotations

import math
from typing import Any

from sfumato.errors import ParameterError
from sfumato.laws.violation import NotHere, require
from sfumato.protocols import Reading, Release

ROUNDING = 1e-7
"""Relative room for rounding between computations on different inputs."""

NEGLIGIBLE = 1e-12
"""A difference of losses that rounding of probabilities explains, and that nobody would miss."""


def designed(mechanism: Any, prior: Any, secret: Any) -> Release:
    """Return the mechanism's release; a parameter that does not suit the trace is passed over."""
    belief = belief_of(prior)
    try:
        secret.question(belief)
        release: Release = mechanism.protect(prior, secret)
    except ParameterError as reason:
        raise NotHere(str(reason)) from None
    return release


def belief_of(prior: Any) -> Any:
    """Return the belief of the first member."""
    return next(iter(prior.members())).belief()


def read(measure: Any, belief: Any, question: Any, channel: Any) -> Reading:
    """Return the measure's reading of the very objects, if it reads their types."""
    given = (belief, question, channel)
    if not any(all(map(isinstance, given, row)) for row in measure.reads):
        raise NotHere(f"{measure.name} does not read {type(channel).__name__} channels")
    reading: Reading = measure.evaluate(belief, question, channel)
    return reading


def require_no_worse(after: Reading, before: Reading, sign: int, change: str) -> None:
    """Require that a change has not certainly made a loss worse (larger, where `sign` is 1)."""
    require(
        not certainly_worse(after, before, sign),
        f"{change} must not make the loss worse ({'larger' if sign > 0 else 'smaller'}): "
        f"{shown(before)} became {shown(after)}",
    )


def require_agreement(one: Reading, other: Reading, change: str) -> None:
    """Require that two readings can be readings of one number."""
    require(
        not certainly_worse(one, other, 1) and not certainly_worse(other, one, 1),
        f"{change} must not change the loss: {shown(one)} became {shown(other)}",
    )


def certainly_worse(one: Reading, other: Reading, sign: int) -> bool:
    """Whether every value `one` can have is worse than every value `other` can have."""
    room = ROUNDING + one.relative_error + other.relative_error
    if sign > 0:
        return above(one.floor, other.ceiling, room)
    return above(other.floor, one.ceiling, room)


def above(low: float, high: float, room: float) -> bool:
    """Whether `low` is above `high` by more than a relative `room`.

    >>> above(1.0, 1.0 - 1e-12, 1e-9), above(2.0, 1.0, 1e-9)
    (False, True)
    """
    if math.isinf(low) or math.isinf(high):
        return low > high
    return low - high > room * max(abs(low), abs(high)) + NEGLIGIBLE


def shown(reading: Reading) -> str:
    """Return a reading's value with its direction."""
    marks = {"exact": "=", "upper": "<=", "lower": ">=", "estimate": "~"}
    return f"{marks[reading.bound]} {reading.value:.12g}"
