"""Sweeps: the numeric parameters that take several values while the rest stays the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from sfumato.comparison.cells import KINDS, Cell
from sfumato.comparison.names import group_by, noun_table, noun_tables
from sfumato.values import to_json

FEWEST = 3
"""Values that make a sweep; two are a comparison of two."""


@attrs.frozen
class SweepAxis:
    """A numeric parameter of one noun that takes several values while the rest stays the same."""

    kind: str
    parameter: str

    def value(self, cell: Cell) -> float | None:
        """Return the cell's value of the parameter, or None where its noun has none."""
        found: Any = noun_table(getattr(cell, self.kind), defaults=True).get(self.parameter)
        return float(found) if _is_number(found) else None


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def sweep_axes(cells: Sequence[Cell]) -> list[SweepAxis]:
    """Return the parameters that are swept, the one with the most values first."""
    sizes: dict[SweepAxis, int] = {}
    for kind in KINDS:
        tables = noun_tables(list(dict.fromkeys(getattr(cell, kind) for cell in cells)))
        numeric = {key for table in tables for key, value in table.items() if _is_number(value)}
        for parameter in sorted(numeric):
            sizes[SweepAxis(kind, parameter)] = _longest_run(tables, parameter)
    swept = [axis for axis, size in sizes.items() if size >= FEWEST]
    return sorted(swept, key=lambda axis: -sizes[axis])


def _longest_run(tables: Sequence[dict[str, Any]], parameter: str) -> int:
    """Return the most values that the parameter takes while nothing else changes."""
    runs = group_by(
        [table for table in tables if _is_number(table.get(parameter))],
        lambda table: to_json({key: table[key] for key in table if key != parameter}),
    )
    return max(len({table[parameter] for table in run}) for run in runs.values())


def is_geometric(values: Sequence[float]) -> bool:
    """Whether positive values are spread more evenly in the logarithm.

    >>> is_geometric([0.1, 1.0, 10.0]), is_geometric([1.0, 10.0, 20.0])
    (True, False)
    """
    ordered = np.unique(values)
    if len(ordered) < 3 or ordered[0] <= 0 or ordered[-1] < 10 * ordered[0]:
        return False
    steps = (np.diff(np.log(ordered)), np.diff(ordered))
    in_logarithm, plain = (np.abs(step / step.mean() - 1).max() for step in steps)
    return bool(in_logarithm < plain)
