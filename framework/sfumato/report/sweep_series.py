"""The lines of a sweep: scenarios that differ in the swept parameter only, and what has none."""

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
    A level is one cell without a value of the swept parameter: the same all along the axis.
    """

    name: str
    stroke: str
    cells: tuple[Cell, ...]
    is_level: bool = False


def series_of(cells: Sequence[Cell], axis: SweepAxis) -> list[Series]:
    """Group the cells by what they say beside the swept parameter, those without it by all."""
    full = {kind: noun_names(cells, kind) for kind in KINDS}
    rest = {**full, axis.kind: noun_names(cells, axis.kind, axis.parameter)}
    levels = [axis.value(cell) is None for cell in cells]
    words = [
        tuple((full if level else rest)[kind].of(cell, kind) for kind in KINDS)
        for cell, level in zip(cells, levels, strict=True)
    ]
    varying = [len(set(column)) > 1 for column in zip(*words, strict=True)]
    groups: dict[tuple[bool, tuple[str, ...]], list[Cell]] = {}
    for cell, level, said in zip(cells, levels, words, strict=True):
        key = tuple(word if varies else "" for word, varies in zip(said, varying, strict=True))
        groups.setdefault((level, key), []).append(cell)
    names = short_names([key for _, key in groups])
    found: list[Series] = []
    strokes: dict[tuple[str, ...], str] = {}
    for name, ((level, key), members) in zip(names, groups.items(), strict=True):
        others = tuple(word for kind, word in zip(KINDS, key, strict=True) if kind != "mechanism")
        stroke = strokes.setdefault(others, LINES[len(strokes) % len(LINES)])
        found.append(Series(name or _called(members[0]), stroke, tuple(members), level))
    return found


def _called(cell: Cell) -> str:
    """Return the name of the only line: its mechanism's."""
    return cell.labels.get("mechanism", "") or str(getattr(cell.mechanism, "name", cell.mechanism))
