"""What tables show: losses by scenario and measure, parameters as columns, and what is missing."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

import attrs

from sfumato.comparison.cells import FACTORS, KINDS, Cell, Comparison
from sfumato.comparison.names import (
    full_name,
    group_by,
    noun_key,
    noun_names,
)
from sfumato.protocols import MARKS, Loss, Quantity
from sfumato.quantities import reading_text

UNVERIFIED = "*"
MEANINGS = {"upper": "upper bound", "lower": "lower bound", "estimate": "estimate [interval]"}
DOUBT = f"{UNVERIFIED} unverified: its measure calls it exact and brings no brute force to show it"
ADVICE = "Nouns that do not fit each other can go into [[parts]] of their own."
LARGEST = 2**63 - 1


def loss_text(loss: Loss) -> str:
    """Return the value with the sign of its direction: ``≤ 0.25``, and a mark if unverified."""
    return reading_text(loss) + UNVERIFIED * loss.unverified


def legend(cells: Iterable[Cell]) -> list[str]:
    """Return what the marks beside the cells' values mean, in one line or two."""
    marks = "   ".join(f"{mark} {MEANINGS.get(bound, bound)}" for bound, mark in MARKS.items())
    return [marks, DOUBT] if any(cell.loss.unverified for cell in cells) else [marks]


@attrs.frozen
class Column:
    """One measure of one quantity; nothing else is ever below it."""

    quantity: Quantity
    measure: str
    """In words: ``releasable fraction``, ``attack success adversary=map``."""


Row = tuple[tuple[str, ...], dict[Column, "Cell"]]
"""The names of a scenario and its losses."""


@attrs.frozen
class LossTable:
    """Scenarios by measures: what a terminal and a page show alike."""

    shared: tuple[str, ...]
    factors: tuple[str, ...]
    by_quantity: dict[Quantity, list[Column]]
    rows: tuple[Row, ...]

    @property
    def columns(self) -> list[Column]:
        """The columns, those of one quantity side by side."""
        return [column for group in self.by_quantity.values() for column in group]

    def name(self, column: Column) -> str:
        """Return what stands above a column: its quantity, or one of several measures of it."""
        several = len(self.by_quantity[column.quantity]) > 1
        return column.measure if several else str(attrs.evolve(column.quantity, unit=""))

    def title(self, column: Column) -> str:
        """Return the name with the unit."""
        unit = f" [{column.quantity.unit}]" if column.quantity.unit else ""
        return self.name(column) + unit

    def direction(self, column: Column) -> str:
        """Say which way is worse; of a measure, of what."""
        quantity = str(attrs.evolve(column.quantity, unit=""))
        of = "" if self.name(column) == quantity else f"{quantity}, "
        return f"{of}{column.quantity.worse} is worse"


def loss_table(cells: Sequence[Cell]) -> LossTable:
    """Arrange measured cells; a factor with one noun stands above the table, not in it."""
    names = {kind: noun_names(cells, kind) for kind in KINDS}
    factors = tuple(kind for kind in FACTORS if len(names[kind].names) > 1)
    columns: dict[Column, None] = {}
    rows: dict[Any, Row] = {}
    for cell in cells:
        measure, own = names["measure"].of(cell, "measure"), str(cell.measure.name)
        if not cell.labels.get("measure"):  # a name is left out where all measures have it
            measure = f"{own.replace('_', ' ')} {measure.removeprefix(own).strip()}".strip()
        column = Column(cell.loss.quantity, measure)
        columns[column] = None
        words = tuple(names[kind].of(cell, kind) for kind in factors)
        scenario = tuple(noun_key(cell, kind) for kind in FACTORS)
        rows.setdefault(scenario, (words, {}))[1][column] = cell
    return LossTable(
        tuple(f"{kind} {names[kind].shared}" for kind in FACTORS if names[kind].shared),
        factors,
        group_by(columns, lambda column: column.quantity),
        tuple(rows.values()),
    )


def blank_repeats(rows: Iterable[Row]) -> list[Row]:
    """Leave out a name where it and all before it are as in the row above."""
    above: tuple[str, ...] = ()
    found = []
    for names, losses in rows:
        ends = range(1, len(names) + 1)
        shown = tuple("" if names[:end] == above[:end] else names[end - 1] for end in ends)
        found.append((shown, losses))
        above = names
    return found


def rows_with_repeats(table: LossTable) -> list[tuple[Row, tuple[str, ...]]]:
    """Return each row with its names as they stand where a name is written once."""
    blanked = (names for names, _ in blank_repeats(table.rows))
    return list(zip(table.rows, blanked, strict=True))


# The table as text to take away -------------------------------------------------------------------


def csv_text(table: LossTable) -> str:
    """Return the table as CSV: for each measure its number in full, and its kind."""
    target = io.StringIO()
    writer = csv.writer(target, lineterminator="\n")
    heads = map(table.title, table.columns)
    writer.writerow([*table.factors, *(f"{head}{end}" for head in heads for end in ("", " (is)"))])
    for names, losses in table.rows:
        found = [losses[column].loss if column in losses else None for column in table.columns]
        numbers = [(repr(loss.value), loss.bound) if loss else ("", "") for loss in found]
        writer.writerow([*names, *(text for pair in numbers for text in pair)])
    return target.getvalue()


LATEX = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "≤": r"$\leq$", "≥": r"$\geq$", "≈": r"$\approx$", "∞": r"$\infty$", "=": "$=$", "−": "$-$",
    "·": r"$\cdot$", "×": r"$\times$", "δ": r"$\delta$", "ε": r"$\varepsilon$",
}  # fmt: skip
"""What LaTeX would take for something else, or does not know."""


def latex_text(table: LossTable) -> str:
    """Return the table as a ``tabular`` with the rules of the package booktabs."""

    def line(words: Iterable[str]) -> str:
        escaped = ("".join(LATEX.get(letter, letter) for letter in word) for word in words)
        return f"{' & '.join(escaped)} \\\\"

    heads = map(table.title, table.columns)
    rows = [
        line([*names, *(loss_text(found[c].loss) if c in found else "" for c in table.columns)])
        for names, found in blank_repeats(table.rows)
    ]
    form = "l" * len(table.factors) + "r" * len(table.columns)
    return "\n".join(
        [rf"\begin{{tabular}}{{{form}}}", r"\toprule", line([*table.factors, *heads]), r"\midrule",
         *rows, r"\bottomrule", r"\end{tabular}", ""]
    )  # fmt: skip


@attrs.frozen
class Failure:
    """A reason, how many cells it stopped, and the first of them in words.

    A misfit is a parameter of one noun that does not fit another, as an index beyond a trace.
    """

    reason: str
    count: int
    first: str
    is_misfit: bool


def failures(comparison: Comparison) -> list[Failure]:
    """Return the reasons for failures, the most frequent first."""
    found = []
    for reason, cells in group_by(comparison.failed, lambda cell: cell.reason).items():
        keys = {kind: noun_key(cells[0], kind) for kind in KINDS}
        first = [f"{kind} {label or full_name(noun)}" for kind, (label, noun) in keys.items()]
        plugins = tuple(f"{getattr(noun, 'name', '')}." for _, noun in keys.values())
        found.append(Failure(reason, len(cells), "; ".join(first), reason.startswith(plugins)))
    return sorted(found, key=lambda failure: -failure.count)


def advice(found: Iterable[Failure]) -> str:
    """Return what to do about misfits, or nothing where there are none."""
    return ADVICE if any(failure.is_misfit for failure in found) else ""


def misfits_text(count: int) -> str:
    """Say how many combinations have no answer."""
    return "1 combination does not fit" if count == 1 else f"{count} combinations do not fit"


def failures_text(count: int) -> str:
    """Say how many cells failed."""
    return "1 cell failed" if count == 1 else f"{count} cells failed"
