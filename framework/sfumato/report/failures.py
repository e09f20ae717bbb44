"""Failed cells, by reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from sfumato.report.noun_names import full_name

if TYPE_CHECKING:
    from sfumato.comparison import Cell, Comparison

KINDS = ("prior", "secret", "mechanism", "measure")
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
