"""Tables of losses: scenarios by measures, as text to take away and in a terminal."""

from __future__ import annotations

import csv
import io
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from sfumato.comparison.cells import FACTORS, KINDS, Cell, Comparison
from sfumato.comparison.names import full_name, group_by, noun_key, noun_names
from sfumato.protocols import MARKS, Loss, Quantity
from sfumato.quantities import count_text, reading_text

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.table import Table

UNVERIFIED = "*"
MEANINGS = {"upper": "upper bound", "lower": "lower bound", "estimate": "estimate [interval]"}
DOUBT = f"{UNVERIFIED} unverified: its measure calls it exact and brings no brute force to show it"
SPACE = 3
"""Columns of the terminal between two columns of the table."""
HEADING = 2
"""Lines of a name in a heading; the third is for its unit and which way is worse."""
WORSE = {"larger": "↑", "smaller": "↓"}
WAYS = {"larger": "↑ larger is worse", "smaller": "↓ smaller is worse"}


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


FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a cell begins with that spreadsheets compute instead of showing."""


def without_formula(cell: Any) -> Any:
    """Return a cell of a table, marked as text where a spreadsheet would take it for a formula.

    >>> from sfumato.report.tables import without_formula
    >>> without_formula("=1+1"), without_formula("noise"), without_formula(-1.0)
    ("'=1+1", 'noise', -1.0)
    """
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA) else cell


def csv_text(table: LossTable) -> str:
    """Return the table as CSV: for each measure its number in full, and its kind."""
    target = io.StringIO()
    writer = csv.writer(target, lineterminator="\n")
    heads = map(table.title, table.columns)
    titles = (f"{head}{end}" for head in heads for end in ("", " (is)"))
    writer.writerow(map(without_formula, [*table.factors, *titles]))
    for names, losses in table.rows:
        found = [losses[column].loss if column in losses else None for column in table.columns]
        numbers = [(repr(loss.value), loss.bound) if loss else ("", "") for loss in found]
        writer.writerow(
            [*map(without_formula, names), *(text for pair in numbers for text in pair)]
        )
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
    """A reason, how many cells it stopped, and the first of them in words."""

    reason: str
    count: int
    first: str


def failures(comparison: Comparison) -> list[Failure]:
    """Return the reasons for failures, the most frequent first."""
    found = []
    for reason, cells in group_by(comparison.failed, lambda cell: cell.reason).items():
        keys = {kind: noun_key(cells[0], kind) for kind in KINDS}
        first = [f"{kind} {label or full_name(noun)}" for kind, (label, noun) in keys.items()]
        found.append(Failure(reason, len(cells), "; ".join(first)))
    return sorted(found, key=lambda failure: -failure.count)


def misfits_text(count: int) -> str:
    """Say how many combinations have no answer."""
    return f"{count_text(count, 'combination')} {'does' if count == 1 else 'do'} not fit"


def failures_text(count: int) -> str:
    """Say how many cells failed."""
    return f"{count_text(count, 'cell')} failed"


# In a terminal -----------------------------------------------------------------------------------


@attrs.frozen
class ComparisonTable:
    """The table of losses, then what does not fit, by reason, then the failures.

    It fits the terminal: when all columns do not fit side by side, further measures follow in a
    table below; no name is broken inside a word.
    """

    comparison: Comparison

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Any]:
        from rich.text import Text

        if self.comparison.measured:
            for sentence in self.comparison.findings[:1]:
                yield Text(sentence, style="bold")
            table = loss_table(self.comparison.measured)
            for line in (*table.shared, *_counted(table)):
                yield Text(line, style="italic")
            table, lists = _number_names(table, options.max_width // 2)
            for line in lists:
                yield Text(line)
            for columns in _side_by_side(table, options.max_width):
                yield Text("")
                yield _rich_table(table, columns, options.max_width)
            for line in (*_ways(table, options.max_width), *legend(self.comparison.measured)):
                yield Text(line, style="dim")
        yield from self._missing()

    def _missing(self) -> Iterator[Any]:
        from rich.padding import Padding
        from rich.text import Text

        def line(text: str, style: str, indent: int = 2) -> Padding:
            return Padding(Text(text, style=style), (0, 0, 0, indent))

        reasons = self.comparison.refusals
        if reasons:
            yield Text(f"{misfits_text(sum(reasons.values()))}:", style="dim")
        for reason, count in reasons.items():
            yield line(f"{count} × {reason}", "dim")
        found = failures(self.comparison)
        if found:
            total = sum(failure.count for failure in found)
            yield Text(f"{failures_text(total)}:", style="bold red")
        for failure in found:
            yield line(f"{failure.count} × {failure.reason}", "red")
            yield line(f"first: {failure.first}", "dim", indent=6)


def _longest_word(text: str) -> int:
    return max(map(len, text.split()), default=0)


def _name_width(table: LossTable, place: int, width: Callable[[str], int] = _longest_word) -> int:
    return max(len(table.factors[place]), *(width(names[place]) for names, _ in table.rows))


def _names_width(table: LossTable) -> int:
    """Return the narrowest that the columns of names can be with no word broken."""
    return sum(_name_width(table, place) + SPACE for place in range(len(table.factors)))


def _column_width(table: LossTable, column: Column) -> int:
    cells = [losses[column] for _, losses in table.rows if column in losses]
    values = (len(loss_text(cell.loss)) for cell in cells)
    return max(*values, _narrowest(table.name(column)))


def _narrowest(name: str) -> int:
    """Return the least width at which a name fits its lines with no word broken."""
    widths = range(_longest_word(name), len(name) + 1)
    return next((w for w in widths if len(textwrap.wrap(name, w)) <= HEADING), len(name))


def _heading(table: LossTable, column: Column, width: int) -> list[str]:
    """Return the lines of a heading: the name, then its unit, where it fits, with the arrow."""
    arrow = WORSE[column.quantity.worse]
    last = f"{column.quantity.unit} {arrow}".strip()
    return [*textwrap.wrap(table.name(column), width), last if len(last) <= width else arrow]


def _counted(table: LossTable) -> list[str]:
    """Return what columns count that are named by their measures."""
    counted = {q: columns for q, columns in table.by_quantity.items() if len(columns) > 1}
    if len(counted) == len(table.by_quantity) == 1:
        return [f"quantity {quantity}" for quantity in counted]
    return [
        f"quantity {quantity}: {', '.join(column.measure for column in columns)}"
        for quantity, columns in counted.items()
    ]


def _ways(table: LossTable, width: int) -> list[str]:
    """Return what the arrows mean, and the units that are too long to stand in a heading."""
    ways = dict.fromkeys(WAYS[quantity.worse] for quantity in table.by_quantity)
    units: dict[str, None] = {}
    for columns in _side_by_side(table, width):
        widths = _widths(table, columns, width)[len(table.factors) :]
        for column, wide in zip(columns, widths, strict=True):
            quantity = column.quantity
            if quantity.unit not in _heading(table, column, wide)[-1]:
                units[f"{quantity.name} in {quantity.unit}"] = None
    return ["   ".join(ways), *(["; ".join(units)] if units else [])]


def _number_names(table: LossTable, width: int) -> tuple[LossTable, list[str]]:
    """Put names into lists above, and their numbers into the table, until the rest fits a width.

    The factor with the longest names goes first.
    """
    lists: dict[str, list[str]] = {factor: [] for factor in table.factors}
    while _names_width(table) > width:
        place = max(range(len(table.factors)), key=lambda place: _name_width(table, place))
        factor = table.factors[place]
        names = dict.fromkeys(row[place] for row, _ in table.rows)
        if max(map(_longest_word, names)) <= len(factor):
            break  # numbers are no narrower than the factor's own name
        numbers = {name: str(number) for number, name in enumerate(names, start=1)}
        lists[factor] = [f"{factor} {number}: {name}" for name, number in numbers.items()]
        rows = tuple(
            ((*row[:place], numbers[row[place]], *row[place + 1 :]), losses)
            for row, losses in table.rows
        )
        table = attrs.evolve(table, rows=rows)
    return table, [line for lines in lists.values() for line in lines]


def _side_by_side(table: LossTable, width: int) -> Iterator[Sequence[Column]]:
    """Split the columns into tables that fit the width with no word broken."""
    group: list[Column] = []
    whole = sum(_name_width(table, place, len) + SPACE for place in range(len(table.factors)))
    names = max(_names_width(table), min(whole, width // 3))
    used = names
    for column in table.columns:
        needed = _column_width(table, column) + SPACE
        if group and used + needed > width:
            yield group
            group, used = [], names
        group.append(column)
        used += needed
    yield group


def _rich_table(table: LossTable, columns: Sequence[Column], width: int) -> Table:
    """Return one table; a name is written once where it repeats downwards."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    made = Table(box=box.SIMPLE_HEAD, padding=(0, 1), show_edge=False)
    widths = iter(_widths(table, columns, width))
    for factor in table.factors:
        made.add_column(factor, width=next(widths))
    for column in columns:
        wide = next(widths)
        *name, last = _heading(table, column, wide)
        heading = Text("\n".join(name), style="bold")
        heading.append(f"\n{last}", style="not bold dim")
        made.add_column(heading, justify="right", width=wide)
    rows = [row for row in table.rows if not row[1].keys().isdisjoint(columns)]
    for names, losses in blank_repeats(rows):
        cells = [losses.get(column) for column in columns]
        values = ["·" if cell is None else loss_text(cell.loss) for cell in cells]
        made.add_row(*map(Text, (*names, *values)))
    return made


def _widths(table: LossTable, columns: Sequence[Column], width: int) -> list[int]:
    """Give every column what its longest word needs, then what is left: to names, then to heads."""
    places = range(len(table.factors))
    widths = [_name_width(table, place) for place in places]
    widths += [_column_width(table, column) for column in columns]
    wanted = [_name_width(table, place, len) for place in places]
    wanted += [max(map(len, _heading(table, column, width))) for column in columns]
    left = width - sum(widths) - SPACE * len(widths)
    for place, most in enumerate(wanted):
        more = max(0, min(most - widths[place], left))
        widths[place] += more
        left -= more
    return widths
