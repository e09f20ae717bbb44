"""Plain tables: CSV or Parquet of (user, time, x, y, ...) or (user, time, state)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sfumato.datasets.records import RealTrace, StateSequence
from sfumato.datasets.rows import (
    BadRow,
    BadRows,
    Converter,
    finite,
    latitude,
    longitude,
    named,
    numbered_lines,
    read_rows,
    seconds,
    split,
)
from sfumato.errors import DataError


def read_trace_table(
    path: str | Path,
    *,
    values: Sequence[str] | None = None,
    time: str = "time",
    user: str = "user",
    trace: str = "trace",
    bad_rows: BadRows | None = None,
) -> Iterator[RealTrace]:
    """Yield the traces of a table with a header, one for each user (and `trace`, if it has one).

    Times are seconds, or ISO dates; without a column `user` all rows belong to one.
    The values are in the columns named, or in what there is of x, y, z, or else in lat and lon.
    """
    if values is None:
        columns = table_columns(path)
        values = [name for name in ("x", "y", "z") if name in columns] or ("lat", "lon")
    in_degrees = tuple(values) == ("lat", "lon")
    kinds = (latitude, longitude) if in_degrees else (finite,) * len(values)
    converters = {time: seconds, **dict(zip(values, kinds, strict=True))}
    frame = _read(path, converters, user=user, trace=trace, bad_rows=bad_rows)
    for who, name, times, cells in by_trace(frame, list(values), time):
        yield RealTrace(who, times, cells, name=name)


def read_state_table(
    path: str | Path,
    *,
    state: str = "state",
    time: str = "time",
    user: str = "user",
    trace: str = "trace",
    bad_rows: BadRows | None = None,
) -> Iterator[StateSequence]:
    """Yield the sequences of a table with a header, one for each user (and `trace`, if any)."""
    frame = _read(path, {time: seconds, state: named}, user=user, trace=trace, bad_rows=bad_rows)
    for who, name, times, states in by_trace(frame, state, time):
        yield StateSequence(who, times, states, name=name)


def by_trace(
    frame: pd.DataFrame, columns: Any, time: str = "time"
) -> Iterator[tuple[str, str, NDArray[np.float64], NDArray[Any]]]:
    """Yield (user, trace, times, `columns`) in order of appearance, each in order of time.

    >>> frame = pd.DataFrame({"user": ["b", "a", "b"], "trace": "", "time": [2.0, 0.0, 1.0]})
    >>> [(user, times.tolist()) for user, _, times, _ in by_trace(frame, ["trace"])]
    [('b', [1.0, 2.0]), ('a', [0.0])]
    """
    if frame.empty:
        return
    who = ["user", "trace"]
    codes = frame.groupby(who, sort=False).ngroup().to_numpy()
    times, cells = frame[time].to_numpy(), frame[columns].to_numpy()
    order = np.lexsort((times, codes))
    parts = np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)
    names = frame[who].drop_duplicates().itertuples(index=False)
    for (user, trace), rows in zip(names, parts, strict=True):
        yield user, trace, times[rows], cells[rows]


def table_columns(path: str | Path) -> list[str]:
    """Return the names in a table's header."""
    return _open(path)[0]


def _open(path: str | Path) -> tuple[list[str], Iterator[tuple[int, Any]], str]:
    """Return the header, the numbered rows and what separates their cells."""
    path = Path(path)
    if path.suffix == ".parquet":
        return _open_parquet(path)
    separator = "\t" if ".tsv" in path.suffixes[-2:] else ","
    lines = numbered_lines(path)
    number, header = next(lines, (1, ""))
    try:
        columns = [name.strip() for name in split(header, separator)]
    except ValueError as error:
        raise BadRow(f"{path.name}, line {number}: {error}.") from None
    if not header:
        raise BadRow(f"{path.name}, line 1: a table must have a header; got an empty file.")
    return columns, lines, separator


def _open_parquet(path: Path) -> tuple[list[str], Iterator[tuple[int, Any]], str]:
    try:
        table = pd.read_parquet(path, dtype_backend="numpy_nullable")
    except ImportError:
        raise ImportError(
            "Parquet files need pyarrow; install it with: pip install 'sfumato[parquet]'."
        ) from None
    except ValueError as error:
        raise DataError(f"{path.name} must be a Parquet file; got {error}.") from None
    text = table.astype(object).map(lambda cell: "" if pd.isna(cell) else str(cell))
    return list(table.columns), enumerate(text.itertuples(index=False), start=1), ""


def _read(
    path: str | Path,
    converters: Mapping[str, Converter],
    *,
    user: str,
    trace: str,
    bad_rows: BadRows | None,
) -> pd.DataFrame:
    """Return the converted columns, and "user" and "trace", which a table need not have."""
    columns, rows, separator = _open(path)
    for name in converters:
        if name not in columns:
            raise BadRow(
                f"{Path(path).name}, line 1: the header must have a column '{name}'; got "
                f"{', '.join(columns)}."
            )
    who = {name: kind for name, kind in ((user, named), (trace, str)) if name in columns}
    frame = read_rows(
        path, rows, columns, {**converters, **who}, separator=separator, bad_rows=bad_rows
    )
    return frame.assign(user=frame.get(user, Path(path).stem), trace=frame.get(trace, ""))
