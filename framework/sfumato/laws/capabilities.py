"""What a class declares that a law can rely on: parameters, quantities, promises."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sfumato import quantities

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
