"""Losses of one quantity agree up to their directions."""

from __future__ import annotations

from typing import Any

from sfumato.errors import REFUSALS
from sfumato.laws.law import law
from sfumato.laws.losses import designed
from sfumato.laws.violation import NotHere, require
from sfumato.soundness import contradictions


@law("soundness.floor_ceiling", over=("prior", "secret", "mechanism"), cost=2)
def floors_below_ceilings(prior: Any, secret: Any, mechanism: Any, measures: Any) -> None:
    """Of one quantity in one scenario, the largest floor is at most the smallest ceiling."""
    release = designed(mechanism, prior, secret)
    losses = []
    for measure in measures:
        try:
            losses.append(measure.loss(prior, secret, release))
        except REFUSALS:
            continue
    if not losses:
        raise NotHere("no measure reads this scenario")
    found = contradictions(losses)
    require(not found, "; ".join(map(str, found)))
