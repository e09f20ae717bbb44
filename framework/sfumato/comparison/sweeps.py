"""Sweeps: the numeric parameters that take several values while the rest stays the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from sfumato.comparison.cells import FACTORS, KINDS, Cell
from sfumato.comparison.names import NounNames, group_by, noun_names, noun_table, noun_tables
from sfumato.values import to_json

if TYPE_CHECKING:
    from xarray import Dataset

FEWEST = 3
"""Values that make a sweep; two are a comparison of two."""


@attrs.frozen
class SweepAxis:
    """A numeric parameter of one noun that takes several values while the rest stays the same."""

    kind: str
    parameter: str

    @property
    def label(self) -> str:
        """The name of the axis in tables and arrays, such as ``prior.length_scale``."""
        return f"{self.kind}.{self.parameter}"

    @property
    def words(self) -> str:
        """The name of the axis for people: ``length scale of the prior``."""
        return f"{self.parameter} of the {self.kind}".replace("_", " ")

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

    >>> from sfumato.comparison.sweeps import is_geometric
    >>> is_geometric([0.1, 1.0, 10.0]), is_geometric([1.0, 10.0, 20.0])
    (True, False)
    """
    ordered = np.unique(values)
    if len(ordered) < 3 or ordered[0] <= 0 or ordered[-1] < 10 * ordered[0]:
        return False
    steps = (np.diff(np.log(ordered)), np.diff(ordered))
    in_logarithm, plain = (np.abs(step / step.mean() - 1).max() for step in steps)
    return bool(in_logarithm < plain)


# Losses on their axes -----------------------------------------------------------------------------


def to_dataset(cells: Sequence[Cell]) -> Dataset:
    """Return measured losses as an `xarray.Dataset`, one variable for each quantity and measure.

    Every factor with several nouns is a dimension, and so is, of each factor, the parameter that
    is swept most, in its own numbers; a combination that was not measured is NaN, which no loss
    ever is. Beside each loss are its floor and its ceiling: ``renyi``, ``renyi_floor`` and
    ``renyi_ceiling``.

    >>> import sfumato as sf
    >>> swept = sf.compare(
    ...     [sf.priors.rbf(length_scale=l, times=9) for l in (1.0, 2.0, 3.0)],
    ...     [sf.secrets.basic(4)],
    ...     [sf.mechanisms.gaussian_uniform(mse=0.1), sf.mechanisms.gaussian_uniform(mse=1.0)],
    ...     [sf.measures.renyi()],
    ... ).to_xarray()
    >>> dict(swept.sizes), float(swept.renyi.sel({"prior.length_scale": 2.0}).max().round(3))
    ({'prior.length_scale': 3, 'mechanism': 2}, 22.033)
    """
    import xarray as xr

    axes = {axis.kind: axis for axis in reversed(sweep_axes(cells))}  # of each kind, the longest
    names = {
        kind: noun_names(cells, kind, axes[kind].parameter if kind in axes else "")
        for kind in KINDS
    }
    dimensions = _dimensions(cells, axes, names)
    shape = tuple(map(len, dimensions.values()))
    found: dict[str, Any] = {}
    for cell in cells:
        name = names["measure"].of(cell, "measure") or str(cell.measure.name)
        told = {"quantity": str(cell.loss.quantity), "worse": cell.loss.quantity.worse}
        for end in ("value", "floor", "ceiling"):
            variable = name if end == "value" else f"{name}_{end}"
            empty = (tuple(dimensions), np.full(shape, np.nan), told)
            values = found.setdefault(variable, empty)[1]
            values[_place(cell, axes, names, dimensions)] = getattr(cell.loss, end)
    return xr.Dataset(found, coords=dimensions)


def _dimensions(
    cells: Sequence[Cell], axes: Mapping[str, SweepAxis], names: Mapping[str, NounNames]
) -> dict[str, list[Any]]:
    """Return the dimensions with their coordinates: swept numbers rising, names as they came."""
    found: dict[str, list[Any]] = {}
    for kind in KINDS:
        if kind in axes:
            values = {axes[kind].value(cell) for cell in cells} - {None}
            found[axes[kind].label] = sorted(values)
        own = list(dict.fromkeys(names[kind].of(cell, kind) for cell in cells))
        if kind in FACTORS and len(own) > 1:
            found[kind] = own
    return found


def _place(
    cell: Cell,
    axes: Mapping[str, SweepAxis],
    names: Mapping[str, NounNames],
    dimensions: Mapping[str, list[Any]],
) -> tuple[Any, ...]:
    """Return the cell's place; all along an axis on which its noun has no value."""
    own: dict[str, Any] = {axis.label: axis.value(cell) for axis in axes.values()}
    own |= {kind: names[kind].of(cell, kind) for kind in FACTORS if kind in dimensions}
    return tuple(
        slice(None) if own[name] is None else values.index(own[name])
        for name, values in dimensions.items()
    )
