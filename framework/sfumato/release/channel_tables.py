"""A channel as a plain table, number for number: what a ledger and a certificate keep of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np

from sfumato import channels, matrices
from sfumato.errors import DataError, Incompatible

KEPT: Mapping[str, type] = {
    name: getattr(home, name)
    for home, names in (
        (channels, ("AdditiveGaussian", "Suppression", "RememberingSuppression", "Symbols")),
        (
            matrices,
            (
                *("BlockDiagonal", "Dense", "Diagonal", "Kronecker"),
                *("LowRank", "Scaled", "Sum", "Toeplitz"),
            ),
        ),
    )
    for name in names
}
"""The classes whose objects can be written down and read again."""


def table_of_channel(channel: Any) -> dict[str, Any]:
    """Return the numbers of a channel; the same numbers make the same channel again.

    >>> from sfumato.channels import AdditiveGaussian
    >>> from sfumato.matrices import Diagonal
    >>> table_of_channel(AdditiveGaussian(Diagonal([0.5, 0.5])))["noise"]
    {'kind': 'Diagonal', 'variances': [0.5, 0.5]}
    """
    name = type(channel).__name__
    if KEPT.get(name) is not type(channel):
        raise Incompatible(f"a ledger keeps channels of {', '.join(KEPT)}; got a {name}.")
    kind: Any = type(channel)
    fields = attrs.fields(kind)
    return {"kind": name, **{f.alias: _plain(getattr(channel, f.name)) for f in fields if f.init}}


def channel_of_table(table: Mapping[str, Any]) -> Any:
    """Return the channel that a table was made of.

    >>> channel_of_table({"kind": "Diagonal", "variances": [1.0]}).dense()
    array([[1.]])
    """
    given = {key: _read(value) for key, value in table.items() if key != "kind"}
    if table.get("kind") not in KEPT:
        raise DataError(f"a channel must be one of {', '.join(KEPT)}; got {table.get('kind')!r}.")
    return KEPT[table["kind"]](**given)


def _plain(value: Any) -> Any:
    if type(value).__name__ in KEPT:
        return table_of_channel(value)
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise Incompatible(f"a ledger keeps numbers and names; got a {type(value).__name__}.")


def _read(value: Any) -> Any:
    if isinstance(value, Mapping):
        return channel_of_table(value)
    if isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
        return tuple(_read(item) for item in value)
    if isinstance(value, list) and value and isinstance(value[0], list):
        # Visits are pairs of whole numbers, tables of several shapes stay a list of lists.
        return tuple(tuple(v) for v in value) if isinstance(value[0][0], int) else value
    return value
