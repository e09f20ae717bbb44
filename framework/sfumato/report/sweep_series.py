"""The lines of a sweep: scenarios that differ in the swept parameter only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import attrs

from sfumato.report.noun_names import noun_names
from sfumato.report.short_names import short_names
from sfumato.report.sweep_axes import KINDS, SweepAxis

if TYPE_CHECKING:
    from sfumato.comparison import Cell

LINES = ("-", "--", ":", "-.")


@attrs.frozen
class Series:
    """The cells of one line, with its name and its stroke.

    The stroke tells priors, secrets and measures apart, as the colour does mechanisms.
    """

    name: str
    stroke: str
    cells: tuple[Cell, ...]


def series_of(cells: Sequence[Cell], axis: SweepAxis) -> list[Series]:
    """Group the cells by what they say beside the swept parameter."""
    names = {
        kind: noun_names(cells, kind, axis.parameter if kind == axis.kind else "") for kind in KINDS
    }
    varying = [kind for kind in KINDS if len(set(names[kind].names.values())) > 1]
    groups: dict[tuple[str, ...], list[Cell]] = {}
    for cell in cells:
        words = (names[kind].of(cell, kind) if kind in varying else "" for kind in KINDS)
        groups.setdefault(tuple(words), []).append(cell)
    found: list[Series] = []
    strokes: dict[tuple[str, ...], str] = {}
    for name, (key, members) in zip(short_names(list(groups)), groups.items(), strict=True):
        others = tuple(word for kind, word in zip(KINDS, key, strict=True) if kind != "mechanism")
        stroke = strokes.setdefault(others, LINES[len(strokes) % len(LINES)])
        found.append(Series(name, stroke, tuple(members)))
    return found
