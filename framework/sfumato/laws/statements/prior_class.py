"""The loss of a class is at least that of each member."""
# ruff: noqa: D401 - a law is a statement, not a command

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from sfumato.errors import ParameterError
from sfumato.laws.capabilities import both, has_scale
from sfumato.laws.law import law
from sfumato.laws.losses import designed, require_agreement, require_no_worse
from sfumato.laws.operations.members import ends_of, member_at
from sfumato.laws.violation import NotHere, require
from sfumato.parameters import POSITIVE, UNIT
from sfumato.prior_classes import AnyOf

SAME = 1e-9
"""Relative room between two runs of the same computation."""


def _worst_at_an_end(classes: Mapping[str, Any]) -> bool:
    return getattr(classes["measure"], "worst_scale", None) is not None


@law("class.member", over=("measure",), cost=2, place=UNIT)
def at_least_each_member(
    prior_class: Any, secret: Any, mechanism: Any, measure: Any, place: float
) -> None:
    """The loss of a class is at least as bad as each member's, also of members not looked at."""
    # Any release will do; one designed for a single member is quickly designed.
    release = designed(mechanism, next(prior_class.members()), secret)
    whole = measure.loss(prior_class, secret, release)
    sign = whole.quantity.sign
    _require_attained(whole, measure.loss(whole.worst, secret, release))
    anywhere = measure.loss(member_at(prior_class, place), secret, release)
    require_no_worse(anywhere, whole, sign, "choosing one member of the class")
    for member in prior_class.members():
        one = measure.loss(member, secret, release)
        require_no_worse(one, whole, sign, "choosing a member that the class lists")
    for member in ends_of(prior_class):
        one = measure.loss(member, secret, release)
        room = (SAME + one.relative_error + whole.relative_error) * abs(whole.value)
        require(
            one.value == whole.value or sign * one.value <= sign * whole.value + room,
            f"the loss found for the class must be at least as bad as at its ends: "
            f"{whole} against {one} for {member}",
        )


def _require_attained(whole: Any, one: Any) -> None:
    """Require that the member which is named has the loss of the class."""
    room = (SAME + one.relative_error + whole.relative_error) * abs(whole.value)
    require(
        one.value == whole.value or abs(one.value - whole.value) <= room,
        f"the member that a loss names must attain it: {whole} for the class, {one} for "
        f"{whole.worst}",
    )


@law(
    "class.scale",
    over=("measure",),
    applies=both(_worst_at_an_end, has_scale),
    factor=POSITIVE,
)
def worst_end_of_the_scale(
    prior: Any, secret: Any, mechanism: Any, measure: Any, factor: float
) -> None:
    """The loss is worst at that end of the prior's scale which the measure declares."""
    name = type(prior).scale_parameter
    release = designed(mechanism, prior, secret)
    scale = getattr(prior, name)
    try:
        other = attrs.evolve(prior, **{name: scale * factor})
    except ParameterError as reason:
        raise NotHere(str(reason)) from None
    low, high = sorted((prior, other), key=lambda member: float(getattr(member, name)))
    better, worse = (high, low) if measure.worst_scale == "low" else (low, high)
    require_no_worse(
        measure.loss(better, secret, release),
        measure.loss(worse, secret, release),
        measure.quantity.sign,
        f"moving away from the {measure.worst_scale} end of the scale",
    )


@law("class.singleton", over=("measure",))
def equals_its_only_member(prior: Any, secret: Any, mechanism: Any, measure: Any) -> None:
    """The loss of a class with one member is that member's loss."""
    release = designed(mechanism, prior, secret)
    alone = measure.loss(prior, secret, release)
    whole = measure.loss(AnyOf(prior), secret, release)
    require_agreement(alone, whole, "putting a prior into a class of its own")
