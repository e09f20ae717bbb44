"""The rule that makes every pair of measures testable: no floor above a ceiling."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable

import attrs

from sfumato.protocols import Loss
from sfumato.quantities import round_outwards

ROUNDING = 1e-9
"""By which two exact computations of one number may differ, relatively; nothing else may."""
SPACING = 1e-15
"""Differences of probabilities, such as a posterior gap, are rounded like numbers near one."""


@attrs.frozen
class Contradiction:
    """Two losses of one quantity in one scenario that cannot both be right.

    >>> import sfumato as sf
    >>> from sfumato import contradictions
    >>> here = {"quantity": sf.Quantity("gap"), "scenario": sf.Scenario(0, 0, 0)}
    >>> one = sf.Loss(value=0.5, bound="exact", **here)
    >>> print(contradictions([one, sf.Loss(value=0.4, bound="upper", **here)])[0])
    gap: one loss says at least 0.5 (exact), another at most 0.4 (upper).
    """

    floor: Loss
    ceiling: Loss

    def __str__(self) -> str:
        return (
            f"{self.floor.quantity}: one loss says at least "
            f"{round_outwards(self.floor.floor, 'lower')} "
            f"({self.floor.how or self.floor.bound}), another at most "
            f"{round_outwards(self.ceiling.ceiling, 'upper')} "
            f"({self.ceiling.how or self.ceiling.bound})."
        )

    def __repr__(self) -> str:
        return f"<Contradiction about {self.floor.quantity}>"

    def _repr_html_(self) -> str:
        from sfumato.report.cards import result_card

        return result_card("Contradiction", str(self))


def contradictions(
    losses: Iterable[Loss], *, tolerance: float = ROUNDING
) -> tuple[Contradiction, ...]:
    """Return the contradictions among losses.

    For one quantity and one scenario, the largest floor must not exceed the smallest ceiling.

    Parameters
    ----------
    losses
        Losses of any quantities and scenarios; only comparable ones are compared.
    tolerance
        Relative room for rounding, beyond what the losses themselves declare.

    >>> from sfumato import contradictions
    >>> contradictions([])
    ()
    """
    groups: dict[object, list[tuple[float, float, Loss]]] = defaultdict(list)
    for loss in losses:
        low, high = (
            end + way * ((tolerance + loss.relative_error) * abs(end) + SPACING)
            if math.isfinite(end)
            else end
            for end, way in ((loss.floor, -1), (loss.ceiling, 1))
        )
        groups[loss.quantity, loss.scenario].append((low, high, loss))
    found = []
    for group in groups.values():
        low, _, floor = max(group, key=lambda one: one[0])
        _, high, ceiling = min(group, key=lambda one: one[1])
        if low > high:
            found.append(Contradiction(floor, ceiling))
    return tuple(found)
