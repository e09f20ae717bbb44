"""The columns of a table of losses: grouped by quantity, one measure each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import attrs

from sfumato.protocols.loss import Reading
from sfumato.protocols.quantity import Quantity
from sfumato.report.noun_names import NounNames, noun_names

if TYPE_CHECKING:
    from sfumato.comparison import Cell

MARKS = {"exact": "=", "upper": "≤", "lower": "≥", "estimate": "≈"}
FACTORS = ("prior", "secret", "mechanism")
LEGEND = "= exact   ≤ upper bound   ≥ lower bound   ≈ estimate [interval]"


def number(reading: Reading) -> str:
    """Return the value with the sign of its direction: ``≤ 0.25``.

    >>> number(Reading(value=0.25, bound="upper"))
    '≤ 0.25'
    """
    text = f"{MARKS[reading.bound]} {reading.value:.6g}"
    if reading.bound == "estimate" and reading.interval is not None:
        low, high = (f"{end:.4g}" for end in reading.interval)
        text += f" [{low}, {high}]"
    return text.replace("inf", "∞")


@attrs.frozen
class Column:
    """One measure of one quantity; nothing else is ever below it."""

    quantity: Quantity
    measure: str

    @property
    def heading(self) -> tuple[str, str, str]:
        """The quantity, the measure (unless they say the same) and which way is worse."""
        own = self.measure.replace("_", " ")
        measure = "" if own == self.quantity.name else self.measure
        return str(self.quantity), measure, f"{self.quantity.worse} is worse"


@attrs.frozen
class LossTable:
    """Scenarios by measures: what a terminal and a page show alike."""

    shared: tuple[str, ...]
    factors: tuple[str, ...]
    columns: tuple[Column, ...]
    rows: tuple[tuple[tuple[str, ...], dict[Column, Cell]], ...]


def loss_table(cells: Sequence[Cell]) -> LossTable:
    """Arrange measured cells; a factor with one noun stands above the table, not in it."""
    names = {kind: noun_names(cells, kind) for kind in (*FACTORS, "measure")}
    factors = tuple(kind for kind in FACTORS if len(names[kind].names) > 1)
    columns: dict[Quantity, dict[Column, None]] = {}
    rows: dict[tuple[Any, ...], tuple[tuple[str, ...], dict[Column, Cell]]] = {}
    for cell in cells:
        column = Column(cell.quantity, _measure_name(cell, names["measure"]))
        columns.setdefault(cell.quantity, {})[column] = None
        key = tuple((cell.labels.get(kind, ""), getattr(cell, kind)) for kind in FACTORS)
        shown = tuple(names[kind].of(cell, kind) for kind in factors)
        rows.setdefault(key, (shown, {}))[1][column] = cell
    shared = tuple(f"{kind} {_shared(names[kind])}" for kind in FACTORS if _shared(names[kind]))
    ordered = tuple(column for group in columns.values() for column in group)
    return LossTable(shared, factors, ordered, tuple(rows.values()))


def _shared(names: NounNames) -> str:
    return names.shared or (next(iter(names.names.values())) if len(names.names) == 1 else "")


def _measure_name(cell: Cell, names: NounNames) -> str:
    """Return the measure's name, also where all measures are of one name."""
    short = names.of(cell, "measure")
    if cell.labels.get("measure") or short.startswith(str(cell.measure.name)):
        return short
    return f"{cell.measure.name} {short}"
