"""Tables of losses as HTML."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from sfumato.protocols.prior import Prior
from sfumato.protocols.quantity import Quantity
from sfumato.report.failures import advice, failed_cells, failures, misfits
from sfumato.report.loss_columns import LEGEND, Column, LossTable, loss_table, number
from sfumato.report.mechanism_colours import MechanismColours
from sfumato.report.noun_names import shown

if TYPE_CHECKING:
    from sfumato.comparison import Cell, Comparison

LONG = 26
"""Characters of a name; a longer one may go on in a second line."""


def losses(comparison: Comparison, colours: MechanismColours) -> str:
    """Return the table of losses with what each release costs."""
    if not comparison.measured:
        return "<p>Nothing was measured.</p>"
    table = loss_table(comparison.measured)
    costs = _costs(comparison, table)
    body = ""
    before: tuple[str, ...] = ()
    for names, cells in table.rows:
        starts = " class='starts'" if names[:1] != before[:1] else ""
        some = next(iter(cells.values()))
        heads = _names(names, before, table, colours[some])
        body += f"<tr{starts}>{heads}{_values(cells, table, costs)}</tr>"
        before = names
    shared = "".join(f"<li>{escape(line)}</li>" for line in table.shared)
    return (
        f"<ul class='shared'>{shared}</ul><div class='scroll'><table><thead>{_head(table, costs)}"
        f"</thead><tbody>{body}</tbody></table></div><p class='legend'>{LEGEND}</p>"
    )


def _costs(comparison: Comparison, table: LossTable) -> list[Quantity]:
    """Return the quantities of utility that no measure counts already."""
    counted = {column.quantity for column in table.columns}
    found = dict.fromkeys(cell.finding.utility_quantity for cell in comparison.measured)
    return [quantity for quantity in found if quantity is not None and quantity not in counted]


def _head(table: LossTable, costs: Sequence[Quantity]) -> str:
    """Return two lines: quantities with the way that is worse, and the measures below them."""
    top = "".join(f"<th rowspan='2' class='name'>{escape(factor)}</th>" for factor in table.factors)
    bottom = ""
    for quantity, group in itertools.groupby(table.columns, key=lambda column: column.quantity):
        columns = list(group)
        top += f"<th colspan='{len(columns)}' class='quantity'>{_quantity(quantity)}</th>"
        bottom += "".join(f"<th>{escape(column.measure)}</th>" for column in columns)
    for quantity in costs:
        top += f"<th class='quantity'>{_quantity(quantity)}</th>"
        bottom += "<th>utility</th>"
    return f"<tr>{top}</tr><tr>{bottom}</tr>"


def _quantity(quantity: Quantity) -> str:
    return f"{escape(str(quantity))}<small>{quantity.worse} is worse</small>"


def _names(names: tuple[str, ...], before: tuple[str, ...], table: LossTable, colour: str) -> str:
    """Return the names of a scenario; one that repeats from the row above is left out."""
    out = ""
    for place, name in enumerate(names):
        repeated = names[: place + 1] == before[: place + 1]
        dotted = table.factors[place] == "mechanism"
        kinds = ["name", *["dotted"] * dotted, *["long"] * (len(name) > LONG)]
        dot = _swatch(colour) if dotted else ""
        out += f"<th class='{' '.join(kinds)}'>{'' if repeated else dot + escape(name)}</th>"
    return out


def _values(cells: dict[Column, Cell], table: LossTable, costs: Sequence[Quantity]) -> str:
    """Return the losses of a scenario, then what its release costs."""
    found = next(iter(cells.values())).finding
    out = "".join(_value(cells.get(column)) for column in table.columns)
    for quantity in costs:
        own = found.utility_quantity == quantity and found.utility is not None
        out += f"<td>{shown(found.utility) if own else '·'}</td>"
    return out


def _swatch(colour: str) -> str:
    return f"<i style='background:{colour}'></i>"


def _value(cell: Cell | None) -> str:
    """Return a value; how it was found appears under the pointer."""
    if cell is None:
        return "<td class='none'>·</td>"
    found, reading = cell.finding, cell.reading
    told = [reading.how, f"{found.seconds:.2g} s"]
    if found.worst and not isinstance(cell.prior, Prior):
        told.insert(0, f"worst: {shown(found.worst)}")
    hint = escape("; ".join(word for word in told if word), quote=True)
    return f"<td class='{reading.bound}' title='{hint}'>{escape(number(reading))}</td>"


def left_out(comparison: Comparison) -> str:
    """Return the refusals and failures, by reason with counts."""
    out = ""
    if comparison.refusals:
        items = "".join(
            f"<li><b>{count} ×</b> {escape(reason)}</li>"
            for reason, count in comparison.refusals.items()
        )
        total = sum(comparison.refusals.values())
        out += f"<h3>{misfits(total)}</h3><ul class='reasons'>{items}</ul>"
    if comparison.failed:
        found = failures(comparison)
        items = "".join(
            f"<li><b>{failure.count} ×</b> {escape(failure.reason)}"
            f"<small>first: {escape(failure.first)}</small></li>"
            for failure in found
        )
        count = len(comparison.failed)
        out += f"<h3 class='failed'>{failed_cells(count)}</h3><ul class='reasons'>{items}</ul>"
        out += f"<p class='caption'>{escape(advice(found))}</p>" if advice(found) else ""
    return out
