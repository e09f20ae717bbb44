"""One hue for each mechanism, in all figures; a shade for each of its settings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from sfumato.comparison import Cell, Comparison

# Distinguishable also with colour-blind eyes and in grey (Okabe and Ito, 2008).
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#6E6E6E", "#8B6F00")
PALEST = 0.55
"""How far towards white the last shade of a hue lies."""
CONTRAST = 4.5
"""Of words on white, as a ratio of luminances."""


@attrs.frozen
class MechanismColours:
    """The colour of every mechanism of a study."""

    colours: dict[Any, str]

    @classmethod
    def of_all(cls, comparisons: Iterable[Comparison]) -> MechanismColours:
        """Give hues to names and shades to what bears a name, in the order of the study."""
        settings: dict[str, dict[Any, None]] = {}
        for comparison in comparisons:
            for cell in comparison.measured:
                name = str(getattr(cell.mechanism, "name", cell.mechanism))
                settings.setdefault(name, {})[_setting(cell)] = None
        colours = {}
        for place, shades in enumerate(settings.values()):
            hue = PALETTE[place % len(PALETTE)]
            for step, setting in enumerate(shades):
                share = PALEST * step / max(1, len(shades) - 1)
                colours[setting] = mixed(hue, 255, share)
        return cls(colours)

    def __getitem__(self, cell: Cell) -> str:
        return self.colours[_setting(cell)]


def _setting(cell: Cell) -> Any:
    return cell.labels.get("mechanism", ""), cell.mechanism


def mixed(colour: str, grey: int, share: float) -> str:
    """Return a colour mixed with a share of a grey, 0 being black and 255 white.

    >>> mixed("#0072B2", 255, 0.5)
    '#80b8d8'
    """
    parts = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return "#" + "".join(f"{round(part + (grey - part) * share):02x}" for part in parts)


def readable(colour: str) -> str:
    """Return the colour, darkened until words in it can be read on white.

    >>> readable("#0072B2"), readable("#ffffff")
    ('#0072B2', '#737373')
    """
    step = 0
    while 1.05 / (_luminance(mixed(colour, 0, step / 20)) + 0.05) < CONTRAST:
        step += 1
    return mixed(colour, 0, step / 20) if step else colour


def _luminance(colour: str) -> float:
    """Return the relative luminance of a colour, from 0 (black) to 1 (white)."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
