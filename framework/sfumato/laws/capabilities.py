"""What a class declares that a law can rely on: parameters, quantities, promises."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from sfumato import compatibility, quantities
from sfumato.errors import ParameterError
from sfumato.laws.law import NotHere, require
from sfumato.plugin_registry import Registry
from sfumato.protocols import Reading, Release

Classes = Mapping[str, Any]

UTILITIES = frozenset(
    quantity.name
    for quantity in (
        quantities.MEAN_SQUARED_ERROR,
        quantities.EXPECTED_RELEASES,
        quantities.NOISE_VARIANCE,
        quantities.RELEASED_FRACTION,
    )
)
"""Quantities of usefulness: laws about what an adversary gains do not speak of them."""

ADVERSARY_PROMISES = ("posterior", "most probable trace")
MEASURE_PROMISES = ("utility", "share of outputs")
"""The words that a plugin may list in its `promises`."""


def takes(kind: str, *names: str) -> Callable[[Classes], bool]:
    """Return whether the class of that noun declares one of the parameters.

    >>> import sfumato as sf
    >>> takes("secret", "radius")({"secret": sf.registry.get("secret", "basic")})
    True
    """

    def applies(classes: Classes) -> bool:
        return any(item.name in names for item in classes[kind].parameters())

    return applies


def believes(kind: type) -> Callable[[Classes], bool]:
    """Return whether the prior's belief is of that type."""
    return lambda classes: issubclass(classes["prior"].yields, kind)


def releases(kind: type) -> Callable[[Classes], bool]:
    """Return whether the mechanism's channel can be of that type."""

    def applies(classes: Classes) -> bool:
        channel = classes["mechanism"].yields
        return issubclass(channel, kind) or issubclass(kind, channel)

    return applies


def promises(kind: str, *words: str) -> Callable[[Classes], bool]:
    """Return whether the class of that noun lists one of the words in its `promises`."""

    def applies(classes: Classes) -> bool:
        return bool(set(words) & set(getattr(classes[kind], "promises", ())))

    return applies


def has_scale(classes: Classes) -> bool:
    """Whether the prior declares the parameter to which its covariance is proportional.

    >>> import sfumato as sf
    >>> has_scale({"prior": sf.registry.get("prior", "rbf")})
    True
    """
    return getattr(classes["prior"], "scale_parameter", None) is not None


def counts_loss(classes: Classes) -> bool:
    """Whether the measure's numbers are of what an adversary gains, not of usefulness.

    >>> import sfumato as sf
    >>> counts_loss({"measure": sf.registry.get("measure", "mean_squared_error")})
    False
    """
    measure = classes["measure"]
    if promises("measure", "utility")(classes):
        return False
    if any(item.required for item in measure.parameters()):
        return True  # quantities of usefulness have no parameters
    return measure().quantity.name not in UTILITIES


def falls_with_information(classes: Classes) -> bool:
    """Whether the measure's loss cannot rise when a release says less.

    A share of outputs above a threshold can: two harmless outputs that are merged with a telling
    one all count from then on.

    >>> import sfumato as sf
    >>> falls_with_information({"measure": sf.registry.get("measure", "breach_rate")})
    False
    """
    return counts_loss(classes) and not promises("measure", "share of outputs")(classes)


def both(*conditions: Callable[[Classes], bool]) -> Callable[[Classes], bool]:
    """Return whether all conditions hold."""
    return lambda classes: all(condition(classes) for condition in conditions)


ORDER = ("prior", "secret", "mechanism", "measure", "adversary")
"""The nouns in the order in which a situation is built up."""


def fitting(
    registry: Registry, kinds: Sequence[str], fixed: Classes | None = None
) -> Iterator[dict[str, Any]]:
    """Yield every combination of classes of the nouns `kinds` that fits; `fixed` ones stay.

    >>> import sfumato as sf
    >>> uniform = sf.registry.get("mechanism", "gaussian_uniform")
    >>> found = fitting(sf.registry, ("prior", "secret", "mechanism"), {"mechanism": uniform})
    >>> ("rbf", "basic") in {(row["prior"].name, row["secret"].name) for row in found}
    True
    """
    given = dict(fixed or {})
    wanted = [kind for kind in ORDER if kind in kinds or kind in given]
    yield from _extended(registry, wanted, given, {})


def _extended(
    registry: Registry, wanted: Sequence[str], given: Classes, chosen: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    if not wanted:
        yield dict(chosen)
        return
    kind = wanted[0]
    options = (
        [given[kind]]
        if kind in given
        else [registry.get(kind, name) for name in registry.names(kind)]
    )
    for option in options:
        extended = {**chosen, kind: option}
        if _fits(extended, kind):
            yield from _extended(registry, wanted[1:], given, extended)


def _fits(chosen: Classes, newest: str) -> bool:
    """Whether the newest noun fits the ones chosen before it, as far as they are known."""
    prior, secret = chosen.get("prior"), chosen.get("secret")
    mechanism, measure = chosen.get("mechanism"), chosen.get("measure")
    if newest == "secret" and prior is not None:
        return not compatibility.why_no_question(secret, prior)
    if newest == "mechanism" and prior is not None and secret is not None:
        return not compatibility.why_no_release(mechanism, prior, secret)
    if newest == "measure" and None not in (prior, secret) and mechanism is not None:
        channel, giver = mechanism.yields, mechanism.name
        return not compatibility.why_no_loss(measure, prior, secret, channel, giver)
    if newest == "adversary" and None not in (prior, mechanism):
        return reads_pair(chosen["adversary"], prior, mechanism)
    return True


def reads_pair(adversary: Any, prior: Any, mechanism: Any) -> bool:
    """Whether the adversary can reason about the prior's belief and the mechanism's channel."""
    slots = ((prior.yields, prior.name), (mechanism.yields, mechanism.name))
    return not compatibility.why_not(adversary, slots, adversary.reads)


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
