"""From readings of members to the reading of a class."""

from __future__ import annotations

import math
from collections.abc import Callable

import attrs

from sfumato.protocols.loss import Bound, Reading
from sfumato.protocols.prior import Prior
from sfumato.protocols.prior_class import PriorClass
from sfumato.protocols.quantity import Quantity


def over_class(
    prior: PriorClass, reading: Callable[[Prior], Reading], quantity: Quantity
) -> tuple[Reading, Prior]:
    """Return the worst reading over the class and the member that attains it.

    The worst of several bounds is a bound on the worst: the class's floor is the worst floor of
    its members and its ceiling the worst ceiling.
    A class that was only searched may hold something worse, so its reading is an estimate that
    is open on that side, never exact.
    """
    seen: dict[int, tuple[Prior, Reading]] = {}

    def badness(member: Prior) -> float:
        found = reading(member)
        seen[id(member)] = (member, found)
        return quantity.sign * found.value

    supremum = prior.supremum(badness)
    worst = seen[id(supremum.member)][1]
    if supremum.how == "single":
        return worst, supremum.member
    found = [item for _, item in seen.values()]
    pick = max if quantity.sign > 0 else min
    floor = pick(item.floor for item in found)
    ceiling = pick(item.ceiling for item in found)
    error = max(item.relative_error for item in found)
    how = f"{worst.how}; worst of {len(found)} members, {supremum.how}".lstrip("; ")
    if supremum.how == "searched":
        open_ended = (floor, math.inf) if quantity.sign > 0 else (-math.inf, ceiling)
        found_only = attrs.evolve(
            worst,
            bound="estimate",
            interval=open_ended,
            estimate_of="value",
            relative_error=error,
            how=how,
        )
        return found_only, supremum.member
    bound, interval = _direction(worst.value, floor, ceiling)
    of_class = attrs.evolve(
        worst,
        bound=bound,
        interval=interval,
        estimate_of="value",
        relative_error=error,
        how=how,
    )
    return of_class, supremum.member


def _direction(
    value: float, floor: float, ceiling: float
) -> tuple[Bound, tuple[float, float] | None]:
    """Return the strongest direction that (floor, ceiling) justifies for the value."""
    if floor == value == ceiling:
        return "exact", None
    if ceiling == value:
        return "upper", None
    if floor == value:
        return "lower", None
    return "estimate", (floor, ceiling)
