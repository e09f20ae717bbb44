"""Comparisons as terminal tables: a row for each scenario, a column for each measure."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from sfumato.comparison.cells import Comparison
from sfumato.report.columns import (
    Column,
    LossTable,
    advice,
    blank_repeats,
    failures,
    failures_text,
    legend,
    loss_table,
    loss_text,
    misfits_text,
)

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.table import Table

SPACE = 3
"""Columns of the terminal between two columns of the table."""
HEADING = 2
"""Lines of a name in a heading; the third is for its unit and which way is worse."""
WORSE = {"larger": "↑", "smaller": "↓"}
WAYS = {"larger": "↑ larger is worse", "smaller": "↓ smaller is worse"}


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
        if advice(found):
            yield line(advice(found), "dim")


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
    """Return the least width at which a name fits its lines with no word broken.

    >>> _narrowest("mean squared error")
    12
    """
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
