"""The tidy table's columns for parameters: one for each parameter that varies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sfumato.plain_json import to_json
from sfumato.report.sweep_axes import KINDS, distinct, said, tables_of

if TYPE_CHECKING:
    import pandas as pd

    from sfumato.comparison import Cell

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
