"""What a number is a number of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import attrs

Worse = Literal["larger", "smaller"]


def _sorted_items(
    parameters: Mapping[str, float | str] | tuple[tuple[str, float | str], ...],
) -> tuple[tuple[str, float | str], ...]:
    return tuple(sorted(dict(parameters).items()))


@attrs.frozen
class Quantity:
    """A name, the measure's own parameters, a unit, and which way is worse.

    Two losses may be ordered only if their quantities are equal.
    Radius, mistakes and indices belong to the scenario, not here.

    >>> str(Quantity("Rényi divergence", {"order": 2.0}, unit="nats"))
    'Rényi divergence (order=2) [nats]'
    """

    name: str
    parameters: tuple[tuple[str, float | str], ...] = attrs.field(
        default=(), converter=_sorted_items
    )
    unit: str = ""
    worse: Worse = attrs.field(
        default="larger", validator=attrs.validators.in_(("larger", "smaller"))
    )

    @property
    def sign(self) -> int:
        """+1 where larger is worse, -1 where smaller is."""
        return 1 if self.worse == "larger" else -1

    def __str__(self) -> str:
        shown = ", ".join(
            f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
            for name, value in self.parameters
        )
        return (
            self.name + (f" ({shown})" if shown else "") + (f" [{self.unit}]" if self.unit else "")
        )
