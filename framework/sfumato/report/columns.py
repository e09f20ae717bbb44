"""The columns of a table of losses: grouped by quantity, one measure each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import attrs

from sfumato.protocols import Quantity, Reading
from sfumato.report.sweeps import KINDS, distinct, said, tables_of
from sfumato.report.words import NounNames, full_name, noun_names
from sfumato.values import to_json

if TYPE_CHECKING:
    import pandas as pd

    from sfumato.comparison.cells import Cell, Comparison


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


LARGEST = 2**63 - 1
MADE_OF_OTHERS = ("name", "any_of", "union", "sum", "product")
"""What a noun says that is not a parameter of its own."""


def parameter_columns(cells: Sequence[Cell]) -> dict[str, pd.Series[Any]]:
    """Return the value in every cell of each parameter in which nouns of one name differ.

    Whole numbers stay whole beside cells that have none. A class or a list is text (JSON); tables
    of numbers are left to the noun's own column.

    >>> import sfumato as sf
    >>> comparison = sf.compare(
    ...     [sf.priors.rbf(length_scale=1.0, times=times) for times in (3, 4)],
    ...     [sf.secrets.basic(1)],
    ...     [sf.mechanisms.gaussian_uniform(mse=0.1)],
    ...     [sf.measures.renyi()],
    ... )
    >>> {name: column.tolist() for name, column in parameter_columns(comparison.cells).items()}
    {'prior.times': [3, 4]}
    """
    columns = {}
    for kind in KINDS:
        nouns = [getattr(cell, kind) for cell in cells]
        for parameter in _varying(distinct(nouns)):
            values = [said(noun).get(parameter) for noun in nouns]
            if not any(_is_table(value) for value in values):
                columns[f"{kind}.{parameter}"] = typed_column(values)
    return columns


def _varying(nouns: Sequence[Any]) -> list[str]:
    """Return the parameters that two nouns of one name have with different values."""
    found: dict[tuple[Any, str], set[str]] = {}
    for table in tables_of(nouns):
        for parameter, value in table.items():
            if parameter not in MADE_OF_OTHERS:
                found.setdefault((table.get("name"), parameter), set()).add(to_json(value))
    return list(dict.fromkeys(key[1] for key, values in found.items() if len(values) > 1))


def _is_table(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and any(isinstance(row, (list, tuple)) for row in value)


def typed_column(values: Sequence[Any]) -> pd.Series[Any]:
    """Return a column of the narrowest type: truths, whole numbers, numbers, else text.

    >>> typed_column([3, None]).dtype, typed_column([3, 0.5]).dtype
    (Int64Dtype(), dtype('float64'))
    """
    import pandas as pd

    there = [value for value in values if value is not None]
    if there and all(isinstance(value, bool) for value in there):
        return pd.Series(values, dtype="boolean")
    if any(isinstance(value, bool) or not isinstance(value, (int, float)) for value in there):
        texts = [_text(value) for value in values]
        return pd.Series(texts, dtype=object)
    if all(isinstance(value, int) for value in there):
        if max(map(abs, there), default=0) <= LARGEST:
            return pd.Series(values, dtype="Int64")
        return pd.Series([_text(value) for value in values], dtype=object)
    return pd.Series(values, dtype="float64")


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else to_json(value)


ADVICE = "Nouns that do not fit each other can go into [[parts]] of their own."


@attrs.frozen
class Failure:
    """A reason, how many cells it stopped, and the first of them in words.

    Attributes
    ----------
    misfit
        Whether a parameter of one noun does not fit another noun, as an index that lies beyond a
        trace.
    """

    reason: str
    count: int
    first: str
    misfit: bool


def failures(comparison: Comparison) -> list[Failure]:
    """Return the reasons for failures, the most frequent first."""
    reasons: dict[str, list[Cell]] = {}
    for cell in comparison.failed:
        reasons.setdefault(cell.reason, []).append(cell)
    found = [
        Failure(reason, len(cells), _told(cells[0]), _is_misfit(cells[0]))
        for reason, cells in reasons.items()
    ]
    return sorted(found, key=lambda failure: -failure.count)


def advice(found: list[Failure]) -> str:
    """Return what to do about misfits, or nothing where there are none."""
    return ADVICE if any(failure.misfit for failure in found) else ""


def _told(cell: Cell) -> str:
    """Return the cell's nouns, by label where they have one."""
    return "; ".join(
        f"{kind} {cell.labels.get(kind) or full_name(getattr(cell, kind))}" for kind in KINDS
    )


def _is_misfit(cell: Cell) -> bool:
    """Whether the reason names a parameter of one of the cell's nouns."""
    names = (str(getattr(getattr(cell, kind), "name", "")) for kind in KINDS)
    return any(name and cell.reason.startswith(f"{name}.") for name in names)


def misfits(count: int) -> str:
    """Say how many cells were refused.

    >>> misfits(1), misfits(2)
    ('1 combination does not fit', '2 combinations do not fit')
    """
    return "1 combination does not fit" if count == 1 else f"{count} combinations do not fit"


def failed_cells(count: int) -> str:
    """Say how many cells failed.

    >>> failed_cells(1), failed_cells(2)
    ('1 cell failed', '2 cells failed')
    """
    return f"{count} cell{'s' if count > 1 else ''} failed"
