"""The loss of a class is at least that of each member."""

from __future__ import annotations

import math
from typing import Any

from sfumato.laws.law import law
from sfumato.laws.losses import certainly_worse, designed, require_no_worse
from sfumato.laws.operations.members import class_of_one, ends_of, member_at
from sfumato.laws.violation import require
from sfumato.parameters import UNIT

SAME = 1e-9
"""Relative room between two runs of the same computation."""


@law("class.member", over=("prior", "measure"), cost=3, place=UNIT)
def at_least_each_member(
    prior_class: Any, secret: Any, mechanism: Any, measure: Any, place: float
) -> None:
    """The loss of a class is at least as bad as each member's, also of members not looked at."""
    release = designed(mechanism, prior_class, secret)
    whole = measure.loss(prior_class, secret, release)
    anywhere = measure.loss(member_at(prior_class, place), secret, release)
    require_no_worse(anywhere, whole, "choosing one member of the class")
    for member in ends_of(prior_class):
        one = measure.loss(member, secret, release)
        require_no_worse(one, whole, "choosing a member at an end of the class")
        badness = whole.quantity.sign
        require(
            badness * one.value <= badness * whole.value + SAME * abs(whole.value),
            f"the loss found for the class must be at least as bad as at its ends: "
            f"{whole} against {one} for {member}",
        )


@law("class.singleton", over=("measure",))
def equals_its_only_member(prior: Any, secret: Any, mechanism: Any, measure: Any) -> None:
    """The loss of a class with one member is that member's loss."""
    release = designed(mechanism, prior, secret)
    alone = measure.loss(prior, secret, release)
    whole = measure.loss(class_of_one(prior), secret, release)
    same = alone.value == whole.value or math.isclose(alone.value, whole.value, rel_tol=SAME)
    require(
        same and not certainly_worse(alone, whole) and not certainly_worse(whole, alone),
        f"a class of one prior must have that prior's loss: {whole} against {alone}",
    )
