"""Comparisons as terminal tables: a row for each scenario, a column for each measure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from sfumato.report.columns import (
    LEGEND,
    Column,
    LossTable,
    advice,
    failed_cells,
    failures,
    loss_table,
    misfits,
    number,
)

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.table import Table

    from sfumato.comparison.cells import Comparison

SPACE = 3
"""Columns of the terminal between two columns of the table."""
HEAD = 24
"""The widest that a measure's column grows for its heading."""


@attrs.frozen
class ComparisonTable:
    """The table of losses, then the refusals by reason, then the failures.

    It fits the terminal: when all columns do not fit side by side, further measures follow in a
    table below; no name is broken inside a word.
    """

    comparison: Comparison

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Any]:
        from rich.padding import Padding
        from rich.text import Text

        comparison = self.comparison
        if comparison.measured:
            table = loss_table(comparison.measured)
            for line in table.shared:
                yield Text(line, style="italic")
            table, lists = _numbered(table, options.max_width // 2)
            for line in lists:
                yield Text(line)
            for columns in _groups(table, options.max_width):
                yield Text("")
                yield _rich_table(table, columns, options.max_width)
            yield Text(LEGEND, style="dim")
        if comparison.refusals:
            total = sum(comparison.refusals.values())
            yield Text(f"{misfits(total)}:", style="dim")
            for reason, count in comparison.refusals.items():
                yield Padding(Text(f"{count} × {reason}", style="dim"), (0, 0, 0, 2))
        if comparison.failed:
            yield Text(f"{failed_cells(len(comparison.failed))}:", style="bold red")
            found = failures(comparison)
            for failure in found:
                line = f"{failure.count} × {failure.reason}"
                yield Padding(Text(line, style="red"), (0, 0, 0, 2))
                yield Padding(Text(f"first: {failure.first}", style="dim"), (0, 0, 0, 6))
            if advice(found):
                yield Padding(Text(advice(found), style="dim"), (0, 0, 0, 2))


def _names_width(table: LossTable) -> int:
    """Return the narrowest that the columns of names can be with no word broken."""
    places = range(len(table.factors))
    return sum(_name_width(table, place, _longest_word) + SPACE for place in places)


def _name_width(table: LossTable, place: int, width: Callable[[str], int]) -> int:
    return max(len(table.factors[place]), *(width(row[place]) for row, _ in table.rows))


def _numbered(table: LossTable, width: int) -> tuple[LossTable, list[str]]:
    """Put names into lists above, and their numbers into the table, until the rest fits a width.

    The factor with the longest names goes first.
    """
    lists: dict[str, list[str]] = {factor: [] for factor in table.factors}
    while _names_width(table) > width:
        places = range(len(table.factors))
        place = max(places, key=lambda place: _name_width(table, place, _longest_word))
        names = dict.fromkeys(row[place] for row, _ in table.rows)
        numbers = {name: str(number) for number, name in enumerate(names, start=1)}
        factor = table.factors[place]
        if _longest_word(max(names, key=_longest_word)) <= len(factor):
            break  # numbers are no narrower than the factor's own name
        lists[factor] = [f"{factor} {number}: {name}" for name, number in numbers.items()]
        rows = tuple(
            ((*row[:place], numbers[row[place]], *row[place + 1 :]), losses)
            for row, losses in table.rows
        )
        table = attrs.evolve(table, rows=rows)
    return table, [line for lines in lists.values() for line in lines]


def _groups(table: LossTable, width: int) -> Iterator[Sequence[Column]]:
    """Split the columns into tables that fit the width with no word broken."""
    names = _names_width(table)
    group: list[Column] = []
    used = names
    for column in table.columns:
        needed = _column_width(table, column) + SPACE
        if group and used + needed > width:
            yield group
            group, used = [], names
        group.append(column)
        used += needed
    yield group


def _longest_word(text: str) -> int:
    return max((len(word) for word in text.split()), default=0)


def _column_width(table: LossTable, column: Column) -> int:
    cells = [losses[column] for _, losses in table.rows if column in losses]
    values = [len(number(cell.reading)) for cell in cells]
    return max([*values, *(_longest_word(line) for line in column.heading)])


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
        quantity, measure, worse = column.heading
        heading = Text(quantity, style="bold")
        if measure:
            heading.append(f"\n{measure}", style="not bold")
        heading.append(f"\n{worse}", style="not bold dim")
        made.add_column(heading, justify="right", width=next(widths))
    before: tuple[str, ...] = ()
    for names, losses in table.rows:
        if not any(column in losses for column in columns):
            continue
        shown = [_unless_repeated(names, before, place) for place in range(len(names))]
        values = [
            Text(number(cell.reading) if cell else "·")
            for cell in (losses.get(column) for column in columns)
        ]
        made.add_row(*(Text(name) for name in shown), *values)
        before = names
    return made


def _widths(table: LossTable, columns: Sequence[Column], width: int) -> list[int]:
    """Give every column what its longest word needs, then what is left: to names, then to heads."""
    narrow = [_name_width(table, place, _longest_word) for place in range(len(table.factors))]
    wide = [_name_width(table, place, len) for place in range(len(table.factors))]
    for column in columns:
        narrow.append(_column_width(table, column))
        wide.append(min(HEAD, max(map(len, column.heading))))
    left = width - sum(narrow) - SPACE * len(narrow)
    for place, most in enumerate(wide):
        more = max(0, min(most - narrow[place], left))
        narrow[place] += more
        left -= more
    return narrow


def _unless_repeated(names: tuple[str, ...], before: tuple[str, ...], place: int) -> str:
    """Return a name, or nothing where it and all before it are as in the row above."""
    return "" if names[: place + 1] == before[: place + 1] else names[place]
