"""The rule that makes every pair of measures testable: no floor above a ceiling."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable

import attrs

from sfumato.protocols import Loss

# Two exact computations of one number may differ by rounding; nothing else may.
ROUNDING = 1e-9

# Differences of probabilities, such as a posterior gap, are rounded like numbers near one.
SPACING = 1e-15


@attrs.frozen
class Contradiction:
    """Two losses of one quantity in one scenario that cannot both be right.

    >>> import sfumato as sf
    >>> here = {"quantity": sf.Quantity("gap"), "scenario": sf.Scenario(0, 0, 0)}
    >>> one, other = sf.Loss(value=0.5, **here), sf.Loss(value=0.4, bound="upper", **here)
    >>> print(contradictions([one, other])[0])
    gap: one loss says at least 0.5 (exact), another at most 0.4 (upper).
    """

    floor: Loss
    ceiling: Loss

    def __str__(self) -> str:
        return (
            f"{self.floor.quantity}: one loss says at least {self.floor.floor:.6g} "
            f"({self.floor.how or self.floor.bound}), another at most "
            f"{self.ceiling.ceiling:.6g} ({self.ceiling.how or self.ceiling.bound})."
        )


def _room(loss: Loss, end: float, tolerance: float) -> float:
    """Return how far rounding may have moved an end of the loss."""
    return (tolerance + loss.relative_error) * abs(end) + SPACING


def _lowered(loss: Loss, tolerance: float) -> float:
    floor = loss.floor
    return floor if math.isinf(floor) else floor - _room(loss, floor, tolerance)


def _raised(loss: Loss, tolerance: float) -> float:
    ceiling = loss.ceiling
    return ceiling if math.isinf(ceiling) else ceiling + _room(loss, ceiling, tolerance)


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

    >>> contradictions([])
    ()
    """
    groups: dict[object, list[Loss]] = defaultdict(list)
    for loss in losses:
        groups[loss.quantity, loss.scenario].append(loss)
    found = []
    for group in groups.values():
        floor = max(group, key=lambda loss: _lowered(loss, tolerance))
        ceiling = min(group, key=lambda loss: _raised(loss, tolerance))
        if _lowered(floor, tolerance) > _raised(ceiling, tolerance):
            found.append(Contradiction(floor, ceiling))
    return tuple(found)
