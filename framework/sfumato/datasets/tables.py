"""Plain tables: CSV or Parquet of (user, time, x, y, ...) or (user, time, state)."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from sfumato.datasets.records import RealTrace, StateSequence
from sfumato.datasets.rows import (
    BadRow,
    BadRows,
    finite,
    named,
    numbered_lines,
    on_globe,
    require_text,
    seconds,
    sequences_of,
    traces_of,
)
from sfumato.errors import DataError

SEPARATORS = {".tsv": "\t"}

Split = Callable[[Any], Sequence[str]]


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

    def row_reader(columns: Sequence[str]) -> Callable[[Sequence[str]], Any]:
        wanted = _values(columns) if values is None else values
        at_time, *at_values = (_place(columns, name, path) for name in (time, *wanted))
        at_user, at_trace = _optional(columns, user), _optional(columns, trace)
        places = tuple(wanted) == ("lat", "lon")

        def parse(cells: Sequence[str]) -> tuple[str, str, float, tuple[float, ...]]:
            found = tuple([finite(cells[place]) for place in at_values])
            if places:
                on_globe(*found)
            return (
                Path(path).stem if at_user is None else named(cells[at_user], "user"),
                "" if at_trace is None else cells[at_trace],
                seconds(cells[at_time]),
                found,
            )

        return parse

    yield from traces_of(_rows(path, row_reader, bad_rows))


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

    def row_reader(columns: Sequence[str]) -> Callable[[Sequence[str]], Any]:
        at_time, at_state = (_place(columns, name, path) for name in (time, state))
        at_user, at_trace = _optional(columns, user), _optional(columns, trace)

        def parse(cells: Sequence[str]) -> tuple[str, str, float, str]:
            who = Path(path).stem if at_user is None else named(cells[at_user], "user")
            name = "" if at_trace is None else cells[at_trace]
            return who, name, seconds(cells[at_time]), named(cells[at_state], "state")

        return parse

    yield from sequences_of(_rows(path, row_reader, bad_rows))


def table_columns(path: str | Path) -> list[str]:
    """Return the names in a table's header."""
    return _opened(path)[0]


def _rows(
    path: str | Path,
    row_reader: Callable[[Sequence[str]], Callable[[Sequence[str]], Any]],
    bad_rows: BadRows | None,
) -> Iterator[Any]:
    columns, rows, split = _opened(path)
    policy = BadRows() if bad_rows is None else bad_rows
    parse = row_reader(columns)

    def whole(row: Any) -> Any:
        cells = split(row)
        if len(cells) != len(columns):
            raise ValueError(f"a row must have {len(columns)} cells; got {len(cells)}")
        return parse(cells)

    return policy.parsed(path, rows, whole)


def _opened(path: str | Path) -> tuple[list[str], Iterator[tuple[int, Any]], Split]:
    """Return the header, the numbered rows and what cuts a row into cells."""
    if Path(path).suffix == ".parquet":
        return _opened_parquet(path)
    lines = numbered_lines(path)
    separator = SEPARATORS.get(Path(path).with_suffix("").suffix) or SEPARATORS.get(
        Path(path).suffix, ","
    )
    header = next(lines, None)
    if header is None:
        raise BadRow(f"{Path(path).name}, line 1: a table must have a header; got an empty file.")
    split = _splitter(separator)
    try:
        require_text(header[1])
        columns = [column.strip() for column in split(header[1])]
    except ValueError as error:
        raise BadRow(f"{Path(path).name}, line {header[0]}: {error}.") from None
    return columns, lines, split


def _splitter(separator: str) -> Split:
    """Return what cuts one line into cells; an open quote never swallows the lines after it."""

    def split(line: str) -> Sequence[str]:
        if '"' not in line:
            return line.split(separator)
        try:
            return next(csv.reader([line], delimiter=separator, strict=True))
        except csv.Error:
            raise ValueError("a quote must be closed on its own line") from None

    return split


def _opened_parquet(path: str | Path) -> tuple[list[str], Iterator[tuple[int, Any]], Split]:
    try:
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise ImportError(
            "Parquet files need pyarrow; install it with: pip install 'sfumato[parquet]'."
        ) from None
    try:
        file = ParquetFile(path)
    except ValueError as error:
        raise DataError(f"{Path(path).name} must be a Parquet file; got {error}.") from None

    def rows() -> Iterator[tuple[int, Any]]:
        number = 0
        for batch in file.iter_batches():
            for cells in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                number += 1
                yield number, ["" if cell is None else str(cell) for cell in cells]

    return list(file.schema_arrow.names), rows(), list


def _values(columns: Sequence[str]) -> Sequence[str]:
    return [name for name in ("x", "y", "z") if name in columns] or ("lat", "lon")


def _place(columns: Sequence[str], name: str, path: str | Path) -> int:
    place = _optional(columns, name)
    if place is None:
        raise BadRow(
            f"{Path(path).name}, line 1: the header must have a column '{name}'; got "
            f"{', '.join(columns)}."
        )
    return place


def _optional(columns: Sequence[str], name: str) -> int | None:
    return columns.index(name) if name in columns else None
