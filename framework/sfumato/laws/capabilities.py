"""What laws are written with: when they apply, what they look at, how readings are compared."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import attrs

from sfumato.errors import ParameterError
from sfumato.laws.law import NotHere, require
from sfumato.plugin_registry import default_registry
from sfumato.protocols import Quantity, Reading, Release, Situation
from sfumato.quantities import (
    EXPECTED_RELEASES,
    MEAN_SQUARED_ERROR,
    NOISE_VARIANCE,
    RELEASED_FRACTION,
    reading_text,
)

Classes = Mapping[str, Any]

UTILITIES = (MEAN_SQUARED_ERROR, EXPECTED_RELEASES, NOISE_VARIANCE, RELEASED_FRACTION)
"""Quantities of usefulness: laws about what an adversary gains do not speak of them."""

PROMISES = {
    "adversary": ("posterior", "most probable trace"),
    "measure": (
        "utility",
        "share of outputs",
        "unit free",
        "nothing from silence",
        "grows with the secret",
        "grows with its order",
    ),
}
"""The words that a plugin of a noun may list in its `promises`.

A mechanism's `promises` name, for a parameter, the measure whose loss is at most its value.
"""


# Of which classes a law speaks --------------------------------------------------------------------


def takes(kind: str, *names: str) -> Callable[[Classes], bool]:
    """Return whether the class of that noun declares one of the parameters."""
    return lambda classes: any(item.name in names for item in classes[kind].parameters())


def believes(kind: type) -> Callable[[Classes], bool]:
    """Return whether the prior's belief is of that type."""
    return lambda classes: issubclass(classes["prior"].yields, kind)


def releases(kind: type) -> Callable[[Classes], bool]:
    """Return whether the mechanism's channel can be of that type."""
    return lambda classes: (
        issubclass(classes["mechanism"].yields, kind)
        or issubclass(kind, classes["mechanism"].yields)
    )


def promises(kind: str, *words: str) -> Callable[[Classes], bool]:
    """Return whether the class of that noun lists one of the words in its `promises`."""
    return lambda classes: not set(words).isdisjoint(classes[kind].promises)


def keeps(*measures: str) -> Callable[[Classes], bool]:
    """Return whether the mechanism promises something, or a loss by one of the measures."""
    return lambda classes: bool(
        classes["mechanism"].promises
        and (not measures or set(measures) & set(dict(classes["mechanism"].promises).values()))
    )


def has_scale(classes: Classes) -> bool:
    """Whether the prior declares the parameter to which its covariance is proportional."""
    return classes["prior"].scale_parameter is not None


def counts_loss(classes: Classes) -> bool:
    """Whether the measure's numbers are of what an adversary gains, not of usefulness."""
    measure = classes["measure"]
    if "utility" in measure.promises:
        return False
    if any(item.required for item in measure.parameters()):
        return True  # quantities of usefulness have no parameters
    return measure().quantity not in UTILITIES


def falls_with_information(classes: Classes) -> bool:
    """Whether the measure's loss cannot rise when a release says less.

    A share of outputs above a threshold can: two harmless outputs that are merged with a telling
    one all count from then on.
    """
    return counts_loss(classes) and "share of outputs" not in classes["measure"].promises


def both(*conditions: Callable[[Classes], bool]) -> Callable[[Classes], bool]:
    """Return whether all conditions hold."""
    return lambda classes: all(condition(classes) for condition in conditions)


# What a law looks at ------------------------------------------------------------------------------


def value_of(plugin: Any, name: str) -> Any:
    """Return a parameter's value, None where the class declares no such parameter."""
    declared = any(item.name == name for item in plugin.parameters())
    return getattr(plugin, name) if declared else None


def value_or_skip(plugin: Any, name: str) -> Any:
    """Return a parameter's value; where there is none the law does not apply."""
    value = value_of(plugin, name)
    if value is None:
        raise NotHere(f"no {name} is given")
    return value


def promised(mechanism: Any, *measures: str) -> Iterator[tuple[str, Any]]:
    """Yield each parameter that is given and promises something, with the measure of it.

    The measure has those parameters of the mechanism that are called like its own: an ``order``
    beside ``epsilon`` is the order of the divergence.
    """
    for parameter, name in mechanism.promises:
        if (measures and name not in measures) or value_of(mechanism, parameter) is None:
            continue
        cls = default_registry().get("measure", name)
        own = {item.name: value_of(mechanism, item.name) for item in cls.parameters()}
        given = {key: value for key, value in own.items() if value is not None}
        yield parameter, cls(**{k: v for k, v in given.items() if k != parameter})


def measures_counting(name: str, parameters: Mapping[str, Any]) -> Iterator[Any]:
    """Yield every registered measure of a quantity of that name with those parameters."""
    registry = default_registry()
    for known in registry.names("measure"):
        cls: Any = registry.get("measure", known)
        declared = {item.name: item.required for item in cls.parameters()}
        needed = {parameter for parameter, required in declared.items() if required}
        if needed <= parameters.keys() <= declared.keys():
            with suppress(ParameterError):  # its parameters are called alike, and are others
                made = cls(**parameters)
                if (made.quantity.name, dict(made.quantity.parameters)) == (name, parameters):
                    yield made


def same_quantity(quantity: Quantity) -> Iterator[Any]:
    """Yield every registered measure of a quantity."""
    found = measures_counting(quantity.name, dict(quantity.parameters))
    return (measure for measure in found if measure.quantity == quantity)


def promise_or_skip(measure: Any, word: str) -> None:
    """Let a law pass over a measure that does not promise it, nor any other of its quantity."""
    if not any(word in one.promises for one in (measure, *same_quantity(measure.quantity))):
        raise NotHere(f"{measure.name} does not promise '{word}'")


def with_values(plugin: Any, **values: Any) -> Any:
    """Return the plugin with other parameter values, if they suit it."""
    try:
        return attrs.evolve(plugin, **values)
    except ParameterError as reason:
        raise NotHere(str(reason)) from None


def rebuild(plugin: Any) -> Any:
    """Return the plugin made anew of its specification: what it remembers of itself is gone."""
    return default_registry().build(type(plugin).kind, plugin.specification())


def design(mechanism: Any, prior: Any, secret: Any) -> Release:
    """Return the mechanism's release; a parameter that does not suit the trace is passed over."""
    belief = next(prior.members()).belief()
    try:
        secret.question(belief)
        release: Release = mechanism.protect(prior, secret)
    except ParameterError as reason:
        raise NotHere(str(reason)) from None
    return release


def read(measure: Any, at: Situation) -> Reading:
    """Return the measure's reading of the very objects, if they are of the types it needs."""
    if not can_read(measure, at):
        raise NotHere(f"{measure.name} needs other channels than {type(at.channel).__name__}")
    reading: Reading = measure.evaluate(at.belief, at.question, at.channel)
    return reading


def can_read(measure: Any, at: Situation) -> bool:
    """Whether belief, question and channel are of types that the measure declares."""
    given = (at.belief, at.question, at.channel)
    return any(all(map(isinstance, given, row)) for row in measure.reads)


# How readings are compared ------------------------------------------------------------------------

ROUNDING = 1e-7
"""Relative room for rounding between computations on different inputs."""

NEGLIGIBLE = 1e-12
"""A difference of losses that rounding of probabilities explains, and that nobody would miss."""


def require_no_worse(after: Reading, before: Reading, sign: int, change: str) -> None:
    """Require that a change has not certainly made a loss worse (larger, where `sign` is 1)."""
    require(
        not certainly_worse(after, before, sign),
        f"{change} must not make the loss worse ({'larger' if sign > 0 else 'smaller'}): "
        f"{text_of(before)} became {text_of(after)}",
    )


def require_channel_no_worse(measure: Any, at: Situation, other: Any, change: str) -> Reading:
    """Require that another channel is certainly no worse; return what the measure finds of it."""
    after = read(measure, attrs.evolve(at, channel=other))
    require_no_worse(after, read(measure, at), measure.quantity.sign, change)
    return after


def require_agreement(one: Reading, other: Reading, change: str) -> None:
    """Require that two readings can be readings of one number."""
    require(
        not certainly_worse(one, other, 1) and not certainly_worse(other, one, 1),
        f"{change} must not change the loss: {text_of(one)} became {text_of(other)}",
    )


def certainly_worse(one: Reading, other: Reading, sign: int, room: float = ROUNDING) -> bool:
    """Whether every value `one` can have is worse than every value `other` can have."""
    room += one.relative_error + other.relative_error
    if sign > 0:
        return above(one.floor, other.ceiling, room)
    return above(other.floor, one.ceiling, room)


def above(low: float, high: float, room: float) -> bool:
    """Whether `low` is above `high` by more than a relative `room`."""
    if math.isinf(low) or math.isinf(high):
        return low > high
    return low - high > room * max(abs(low), abs(high)) + NEGLIGIBLE


def text_of(reading: Reading) -> str:
    """Return a reading's value with its direction, or the two ends of an estimate."""
    if reading.interval is not None:
        return "between {:.12g} and {:.12g}".format(*reading.interval)
    return reading_text(reading, ".12g")
