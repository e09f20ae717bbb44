"""Text files row by row: cells converted one by one, and what becomes of a bad row."""

from __future__ import annotations

import csv
import gzip
import itertools
import math
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import attrs
import pandas as pd

from sfumato.errors import DataError

Converter = Callable[[str], Any]
BATCH = 50_000
"""Rows that are Python objects at one time; those before are columns of numbers."""


class BadRow(DataError):
    """A row of a data file cannot be read; the text names file, line and reason."""


@attrs.define
class BadRows:
    """How bad rows are treated, and how many there were.

    With `skip`, bad rows are left out and counted; without, the first one is an error.

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
        return rows[~bad]


def finite(text: str, most: float = math.inf) -> float:
    """Return a finite number, at most `most` in size.

    >>> finite("2.5")
    2.5
    """
    try:
        value = math.nan if "_" in text else float(text)  # 1_0 is 10 only for Python
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"a value must be a finite number; got {text!r}")
    if abs(value) > most:
        raise ValueError(f"a fix must lie on the globe, within ±{most} degrees; got {text}")
    return value


def latitude(text: str) -> float:
    """Return degrees between the poles."""
    return finite(text, 90)


def longitude(text: str) -> float:
    """Return degrees around the equator."""
    return finite(text, 180)


def named(text: str) -> str:
    """Return a name that is not empty."""
    if not text:
        raise ValueError("a name must not be empty")
    return text


def seconds(text: str) -> float:
    """Return seconds: a number as it is, an ISO 8601 date since 1970 (UTC unless it says).

    >>> seconds("12.5"), seconds("1970-01-02T00:00:00Z"), seconds("1970-01-01 01:00:00+0000")
    (12.5, 86400.0, 3600.0)
    """
    try:
        return finite(text)
    except ValueError:
        pass
    try:
        return unix_seconds(datetime.fromisoformat(text.strip()))
    except ValueError:
        raise ValueError(f"a time must be a finite number or an ISO date; got {text!r}") from None


def unix_seconds(moment: datetime) -> float:
    """Return the seconds since 1970; a time without a zone is taken for UTC."""
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def numbered_lines(path: str | Path, *, skip: int = 0) -> Iterator[tuple[int, str]]:
    """Yield (line number from 1, line) of the lines after the first `skip` that are not blank.

    ``.gz`` files are read through; bytes that are not UTF-8 are kept, for their row to be bad.
    """
    opener = gzip.open if Path(path).suffix == ".gz" else open
    number = 0
    try:
        # utf-8-sig: spreadsheets begin a file with a mark that is no part of the first name.
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

    >>> bad = BadRows(skip=True)
    >>> lines = [(1, "ann 2"), (2, "bob two"), (3, "eve")]
    >>> read_rows("t", lines, ["who", "x"], {"x": finite}, separator=None, bad_rows=bad).x.to_dict()
    {1: 2.0}
    >>> bad.count, bad.first
    (2, "t, line 2: a value must be a finite number; got 'two'.")
    """
    policy = BadRows() if bad_rows is None else bad_rows
    places = [(columns.index(name), converter) for name, converter in converters.items()]

    def convert(row: Any) -> list[Any]:
        cells = split(row, separator) if isinstance(row, str) else row
        if len(cells) != len(columns):
            raise ValueError(f"a row must have {len(columns)} cells; got {len(cells)}")
        return [converter(cells[place]) for place, converter in places]

    def converted() -> Iterator[tuple[int, list[Any]]]:
        for number, row in rows:
            try:
                yield number, convert(row)
            except ValueError as error:
                policy.report(path, number, str(error))

    left, parts = converted(), []
    while batch := dict(itertools.islice(left, BATCH)):
        parts.append(pd.DataFrame(batch.values(), index=list(batch), columns=list(converters)))
    return pd.concat(parts) if parts else pd.DataFrame(columns=list(converters), dtype=float)
