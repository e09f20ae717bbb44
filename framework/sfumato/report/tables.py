"""Comparisons as terminal tables: a row for each scenario, a column for each measure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from sfumato.protocols.loss import Loss

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table

    from sfumato.comparison import Cell, Comparison

MARKS = {"exact": "=", "upper": "≤", "lower": "≥", "estimate": "≈"}
FACTORS = ("prior", "secret", "mechanism")


def short(noun: Any) -> str:
    """Return a noun's repr without its namespaces: ``rbf(length_scale=6.0, times=50)``."""
    text = str(noun).replace("sf.AnyOf", "AnyOf").replace("sf.Interval", "Interval")
    for plural in ("priors", "secrets", "mechanisms", "adversaries", "measures"):
        text = text.replace(f"sf.{plural}.", "")
    return text if len(text) <= 72 else text[:69] + "..."


def number(loss: Loss) -> str:
    """Return the value with the sign of its direction: ``≤ 0.25``."""
    text = f"{MARKS[loss.bound]} {loss.value:.6g}".replace("inf", "∞")
    if loss.bound == "estimate" and loss.interval is not None:
        low, high = (f"{end:.4g}".replace("inf", "∞") for end in loss.interval)
        text += f" [{low}, {high}]"
    return text


def comparison_table(comparison: Comparison) -> Group:
    """Return the table of losses, then the refusals by reason, then the failures."""
    from rich.console import Group
    from rich.text import Text

    parts: list[Any] = []
    if comparison.measured:
        parts.append(_losses(comparison.measured))
        parts.append(Text("= exact   ≤ upper bound   ≥ lower bound   ≈ estimate", style="dim"))
    if comparison.refusals:
        lines = [f"  {count} × {reason}" for reason, count in comparison.refusals.items()]
        total = f"{sum(comparison.refusals.values())} combinations do not fit:"
        parts.append(Text("\n".join([total, *lines]), style="dim"))
    parts.extend(
        Text(
            f"failed: {short(cell.measure)} on {short(cell.mechanism)}, {short(cell.prior)}: "
            f"{cell.reason}",
            style="bold red",
        )
        for cell in comparison.failed
    )
    return Group(*parts)


def _losses(cells: tuple[Cell, ...]) -> Table:
    """Return scenarios by measures; what all scenarios share stands above the table."""
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    shown = [f for f in FACTORS if len({short(getattr(cell, f)) for cell in cells}) > 1]
    shared = [f"{f} {short(getattr(cells[0], f))}" for f in FACTORS if f not in shown]
    columns = list(dict.fromkeys(_heading(cell) for cell in cells))
    rows: dict[tuple[Any, ...], dict[str, str]] = {}
    for cell in cells:
        if cell.loss is not None:
            scenario = tuple(getattr(cell, factor) for factor in FACTORS)
            rows.setdefault(scenario, {})[_heading(cell)] = number(cell.loss)
    table = Table(box=box.SIMPLE_HEAD, title=escape("; ".join(shared)), title_justify="left")
    for factor in shown:
        table.add_column(factor, overflow="fold", ratio=1)
    for heading in columns:
        table.add_column(escape(heading), justify="right", overflow="fold")
    for scenario, losses in rows.items():
        nouns = dict(zip(FACTORS, scenario, strict=True))
        names = [escape(short(nouns[factor])) for factor in shown]
        table.add_row(*names, *(escape(losses.get(heading, "")) for heading in columns))
    return table


def _heading(cell: Cell) -> str:
    """Return the head of a measure's column: only one quantity is ever below it."""
    if cell.loss is None:
        return short(cell.measure)
    quantity = cell.loss.quantity
    return f"{quantity}\n{short(cell.measure)}\n{quantity.worse} is worse"
