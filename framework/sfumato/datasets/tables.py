"""Tables in text files or Parquet: rows converted cell by cell, and what becomes of a bad one."""

from __future__ import annotations

import csv
import gzip
import itertools
import math
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.datasets.records import RealTrace, StateSequence
from sfumato.errors import DataError

if TYPE_CHECKING:
    import pandas as pd  # imported where it is needed: formats are known to every command

Converter = Callable[[str], Any]
Rows = Iterator[tuple[int, Any]]

BATCH = 50_000
"""Rows that are Python objects at one time; those before are columns of numbers."""


class BadRow(DataError):
    """A row of a data file cannot be read; the text names file, line and reason."""


@attrs.define
class BadRows:
    """How bad rows are treated, and how many there were.

    With `skip`, bad rows are left out and counted; without, the first one is an error.

    >>> from sfumato.datasets import BadRows
    >>> rows = BadRows(skip=True)
    >>> rows.report("numbers.txt", 2, "a value must be a finite number; got 'x'")
    >>> rows.count, rows.first
    (1, "numbers.txt, line 2: a value must be a finite number; got 'x'.")
    """

    skip: bool = False
    count: int = 0
    first: str = ""

    def report(self, path: str | Path, line: int, reason: str) -> None:
        """Count the row, or raise `BadRow` for it."""
        text = f"{Path(path).name}, line {line}: {reason}"
        if not self.skip:
            raise BadRow(
                f"{text}; mend the row, or skip bad ones (--skip-bad, or in Python "
                "bad_rows=BadRows(skip=True))."
            )
        self.count += 1
        self.first = self.first or f"{text}."

    def drop(self, path: str | Path, rows: pd.DataFrame, bad: Any, reason: str) -> pd.DataFrame:
        """Return the rows, by line number, without the bad ones, each of which is reported."""
        for line in rows.index[bad]:
            self.report(path, line, reason)
        return rows.drop(index=list(rows.index[bad]))


def finite(text: str, most: float = math.inf) -> float:
    """Return a finite number, at most `most` in size."""
    try:
        value = math.nan if "_" in text else float(text)  # 1_0 is 10 only for Python
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"a value must be a finite number; got {text!r}")
    if abs(value) > most:
        raise ValueError(f"a fix must lie on the globe, within ±{most} degrees; got {text}")
    return value


latitude, longitude = partial(finite, most=90), partial(finite, most=180)


def named(text: str) -> str:
    """Return a name that is not empty."""
    if not text:
        raise ValueError("a name must not be empty")
    return text


def seconds(text: str) -> float:
    """Return seconds: a number as it is, an ISO 8601 date since 1970 (UTC unless it says).

    >>> from sfumato.datasets.tables import seconds
    >>> seconds("12.5"), seconds("1970-01-02T00:00:00Z"), seconds("1970-01-01 01:00:00+0000")
    (12.5, 86400.0, 3600.0)
    """
    for convert in (finite, lambda date: unix_seconds(datetime.fromisoformat(date.strip()))):
        try:
            return convert(text)
        except ValueError:
            pass
    raise ValueError(f"a time must be a finite number or an ISO date; got {text!r}")


def unix_seconds(moment: datetime) -> float:
    """Return the seconds since 1970; a time without a zone is taken for UTC."""
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def numbered_lines(path: str | Path, *, skip: int = 0) -> Rows:
    """Yield (line number from 1, line) of the lines after the first `skip` that are not blank."""
    opener = gzip.open if Path(path).suffix == ".gz" else open
    number = 0
    try:
        # Spreadsheets begin a file with a mark that is no part of the first name (utf-8-sig);
        # bytes that are not UTF-8 are kept, for their row to be bad.
        with opener(path, "rt", encoding="utf-8-sig", errors="surrogateescape") as stream:
            for number, line in enumerate(stream, start=1):
                if number > skip and line.strip():
                    yield number, line.rstrip("\r\n")
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(
            f"{Path(path).name} must be a text in UTF-8, plain or in a whole .gz file; after line "
            f"{number} it is not ({error})."
        ) from None


def split(line: str, separator: str | None) -> list[str]:
    """Return the cells of one line; without a separator they lie between blanks.

    An open quote is an error of its own line, and never swallows the lines after it: that is why
    a file is not given to `pandas.read_csv` as a whole.
    """
    if not line.isascii() and any("\udc80" <= letter <= "\udcff" for letter in line):
        raise ValueError("a line must be a text in UTF-8; got other bytes")
    if separator is None or '"' not in line:
        return line.split(separator)
    try:
        return next(csv.reader([line], delimiter=separator, strict=True))
    except csv.Error:
        raise ValueError("a quote must be closed on its own line") from None


def read_rows(
    path: str | Path,
    rows: Iterable[tuple[int, Any]],
    columns: Sequence[str],
    converters: Mapping[str, Converter],
    *,
    separator: str | None = ",",
    bad_rows: BadRows | None = None,
) -> pd.DataFrame:
    """Return the columns that have a converter, by line number; `rows` are lines, or cells.

    A row is bad that has another number of cells than `columns`, or a cell for which its
    converter raises a `ValueError`.
    """
    import pandas as pd

    policy = bad_rows or BadRows()
    for missing in (name for name in converters if name not in columns):
        raise BadRow(
            f"{Path(path).name}, line 1: the header must have a column '{missing}'; got "
            f"{', '.join(columns) or 'none'}."
        )
    places = [(columns.index(name), converter) for name, converter in converters.items()]

    def converted_rows() -> Rows:
        for number, row in rows:
            try:
                cells = split(row, separator) if isinstance(row, str) else row
                if len(cells) != len(columns):
                    message = f"a row must have {len(columns)} cells; got {len(cells)}"
                    raise ValueError(message)  # noqa: TRY301 - a bad row, as a bad cell is
                yield number, [converter(cells[place]) for place, converter in places]
            except ValueError as error:
                policy.report(path, number, str(error))

    left, parts = converted_rows(), []
    while batch := dict(itertools.islice(left, BATCH)):
        parts.append(pd.DataFrame(batch.values(), index=list(batch), columns=list(converters)))
    return pd.concat(parts) if parts else pd.DataFrame(columns=list(converters), dtype=float)


def by_trace(
    frame: pd.DataFrame, columns: Any, time: str = "time"
) -> Iterator[tuple[str, str, NDArray[np.float64], NDArray[Any]]]:
    """Yield (user, trace, times, `columns`) in order of appearance, each in order of time."""
    if frame.empty:
        return
    who = frame[["user", "trace"]]
    codes = who.groupby(["user", "trace"], sort=False).ngroup().to_numpy()
    times, cells = frame[time].to_numpy(), frame[columns].to_numpy()
    order = np.lexsort((times, codes))
    parts = np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)
    for (user, trace), rows in zip(who.drop_duplicates().to_numpy(), parts, strict=True):
        yield user, trace, times[rows], cells[rows]


def read_trace_table(
    path: str | Path,
    *,
    values: Sequence[str] | None = None,
    time: str = "time",
    trace: str = "trace",
    bad_rows: BadRows | None = None,
) -> Iterator[RealTrace]:
    """Yield the traces of a table with a header, one for each user (and `trace`, if it has one).

    Times are seconds, or ISO dates; without a column user all rows belong to one.
    The values are in the columns named, or in those that `value_columns` finds.
    """
    header = table_columns(path)
    if values is None:
        values = value_columns(header)
    if not values:
        raise BadRow(f"{Path(path).name}, line 1: the header must have a column of values.")
    on_globe = {"lat": latitude, "lon": longitude} if list(values) == ["lat", "lon"] else {}
    converters = {time: seconds, **{name: on_globe.get(name, finite) for name in values}}
    frame = _read_table(path, converters, trace, bad_rows)
    for who, name, times, cells in by_trace(frame, list(values), time):
        yield RealTrace(who, times, cells, name, tuple(values), named="user" in header)


def value_columns(columns: Sequence[str]) -> Sequence[str]:
    """Return the columns that hold values: of x, y, z what there is, or lat and lon, or all."""
    if flat := [name for name in ("x", "y", "z") if name in columns]:
        return flat
    if {"lat", "lon"} <= set(columns):
        return ["lat", "lon"]
    return [name for name in columns if name not in ("user", "trace", "time")]


def read_state_table(
    path: str | Path, *, bad_rows: BadRows | None = None
) -> Iterator[StateSequence]:
    """Yield the sequences of a table with a header, one for each user (and trace, if any)."""
    frame = _read_table(path, {"time": seconds, "state": named}, "trace", bad_rows)
    has_user = "user" in table_columns(path)
    for who, name, times, states in by_trace(frame, "state"):
        yield StateSequence(who, times, states, name, named=has_user)


def table_columns(path: str | Path) -> list[str]:
    """Return the names in a table's header."""
    return _open(Path(path))[0]


def _read_table(
    path: str | Path, converters: Mapping[str, Converter], trace: str, bad_rows: BadRows | None
) -> pd.DataFrame:
    """Return the converted columns, and "user" and "trace", which a table need not have."""
    columns, rows, separator = _open(Path(path))
    who = {name: kind for name, kind in (("user", named), (trace, str)) if name in columns}
    wanted = {**converters, **who}
    frame = read_rows(path, rows, columns, wanted, separator=separator, bad_rows=bad_rows)
    return frame.assign(user=frame.get("user", Path(path).stem), trace=frame.get(trace, ""))


def _open(path: Path) -> tuple[list[str], Rows, str]:
    """Return the header, the numbered rows and what separates their cells."""
    if path.suffix == ".parquet":
        import pandas as pd

        try:
            table = pd.read_parquet(path, dtype_backend="numpy_nullable").astype(object)
        except ValueError as error:
            raise DataError(f"{path.name} must be a Parquet file; got {error}.") from None
        cells = table.map(lambda cell: "" if pd.isna(cell) else str(cell))
        return list(table.columns), enumerate(cells.itertuples(index=False), start=1), ""
    separator = "\t" if ".tsv" in path.suffixes[-2:] else ","
    lines = numbered_lines(path)
    for number, header in lines:
        try:
            return [name.strip() for name in split(header, separator)], lines, separator
        except ValueError as error:
            raise BadRow(f"{path.name}, line {number}: {error}.") from None
    raise BadRow(f"{path.name}, line 1: a table must have a header; got an empty file.")
