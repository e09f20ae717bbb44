"""The loss of a class is at least that of each member."""
# ruff: noqa: D401 - a law is a statement, not a command

from __future__ import annotations

from typing import Any

from sfumato.laws.law import law
from sfumato.laws.losses import designed, require_agreement, require_no_worse
from sfumato.laws.operations.members import ends_of, member_at
from sfumato.laws.violation import require
from sfumato.parameters import UNIT
from sfumato.prior_classes import AnyOf

SAME = 1e-9
"""Relative room between two runs of the same computation."""


@law("class.member", over=("measure",), cost=2, place=UNIT)
def at_least_each_member(
    prior_class: Any, secret: Any, mechanism: Any, measure: Any, place: float
) -> None:
    """The loss of a class is at least as bad as each member's, also of members not looked at."""
    # Any release will do; one designed for a single member is quickly designed.
    release = designed(mechanism, next(prior_class.members()), secret)
    whole = measure.loss(prior_class, secret, release)
    sign = whole.quantity.sign
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


@law("class.singleton", over=("measure",))
def equals_its_only_member(prior: Any, secret: Any, mechanism: Any, measure: Any) -> None:
    """The loss of a class with one member is that member's loss."""
    release = designed(mechanism, prior, secret)
    alone = measure.loss(prior, secret, release)
    whole = measure.loss(AnyOf(prior), secret, release)
    require_agreement(alone, whole, "putting a prior into a class of its own")
