"""What happens to a row that cannot be read: an error that names it, or a count."""

from __future__ import annotations

import gzip
import math
import zlib
from array import array
from collections.abc import Callable, Hashable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.datasets.records import RealTrace, StateSequence
from sfumato.errors import DataError


def finite(text: str) -> float:
    """Return a finite number.

    >>> finite("2.5")
    2.5
    """
    if "_" in text:  # Python's own way to write 10, not a file's
        raise ValueError(f"a value must be a number; got {text!r}")
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"a value must be finite; got {text!r}")
    return value


def named(text: str, what: str) -> str:
    """Return a name that is not empty.

    >>> named("ann", "user")
    'ann'
    """
    if not text:
        raise ValueError(f"a {what} must have a name; got none")
    return text


def on_globe(latitude: float, longitude: float) -> tuple[float, float]:
    """Return the place, in degrees, if there is one like it.

    >>> on_globe(48.0, 11.5)
    (48.0, 11.5)
    """
    if not (-90 <= latitude <= 90 and -180 <= longitude <= 180):
        raise ValueError(f"a fix must lie on the globe; got {latitude}, {longitude}")
    return latitude, longitude


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


def dated_seconds(text: str, form: str) -> float:
    """Return the seconds since 1970 of a date in the given form (see `datetime.strptime`).

    >>> dated_seconds("02/01/1970 00:00", "%d/%m/%Y %H:%M")
    86400.0
    """
    return unix_seconds(datetime.strptime(text.strip(), form))  # noqa: DTZ007 - zone added there


def unix_seconds(moment: datetime) -> float:
    """Return the seconds since 1970; a time without a zone is taken for UTC."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return aware.timestamp()


def numbered_lines(path: str | Path, *, skip: int = 0) -> Iterator[tuple[int, str]]:
    """Yield (line number from 1, line without its end); ``.gz`` files are read through.

    Blank lines are left out, and so are the first `skip` lines (a header). Bytes that are not
    UTF-8 are kept as they are, for `require_text` to find them where their line is used.
    """
    opener = gzip.open if Path(path).suffix == ".gz" else open
    number = 0
    try:
        # utf-8-sig: spreadsheets begin a file with a mark that is no part of the first name.
        with opener(
            path, "rt", encoding="utf-8-sig", errors="surrogateescape", newline=None
        ) as stream:
            for number, line in enumerate(stream, start=1):
                if number > skip and line.strip():
                    yield number, line.rstrip("\r\n")
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(
            f"{Path(path).name} must be a text in UTF-8, plain or in a whole .gz file; after line "
            f"{number} it is not ({error})."
        ) from None


def require_text(line: str) -> None:
    """Refuse a line that was not UTF-8.

    >>> require_text("café")
    """
    if not line.isascii() and any("\udc80" <= letter <= "\udcff" for letter in line):
        raise ValueError("a line must be a text in UTF-8; got other bytes")


Raw = TypeVar("Raw")
Row = TypeVar("Row")


class BadRow(DataError):
    """A row of a data file cannot be read; the text names file, line and reason."""


@attrs.define
class BadRows:
    """How bad rows are treated, and how many there were.

    With `skip`, bad rows are left out and counted; without, the first one is an error.

    >>> rows = BadRows(skip=True)
    >>> list(rows.parsed("numbers.txt", enumerate(["1", "x", "3"], start=1), int))
    [1, 3]
    >>> rows.count, rows.first
    (1, "numbers.txt, line 2: invalid literal for int() with base 10: 'x'.")
    """

    skip: bool = False
    count: int = 0
    first: str = ""

    def parsed(
        self, path: str | Path, lines: Iterable[tuple[int, Raw]], parse: Callable[[Raw], Row]
    ) -> Iterator[Row]:
        """Yield the parsed lines; `lines` are pairs of line number and content."""
        for number, line in lines:
            try:
                if isinstance(line, str):
                    require_text(line)
                row = parse(line)
            except IndexError:
                self.report(path, number, "a row must have all its cells; got too few")
                continue
            except (ValueError, KeyError) as error:
                self.report(path, number, str(error))
                continue
            yield row

    def report(self, path: str | Path, line: int, reason: str) -> None:
        """Count the row, or raise `BadRow` for it."""
        text = f"{Path(path).name}, line {line}: {reason.rstrip('.')}."
        if not self.skip:
            raise BadRow(
                f"{text[:-1]}; mend the row, or skip bad ones (--skip-bad, or in Python "
                "bad_rows=BadRows(skip=True))."
            )
        self.count += 1
        self.first = self.first or text


def traces_of(
    rows: Iterable[tuple[str, str, float, tuple[float, ...]]],
) -> Iterator[RealTrace]:
    """Yield a trace for each (user, name), in order of appearance, from (user, name, time, values).

    >>> [trace.times.tolist() for trace in traces_of([("a", "", 2.0, (0.0,)),
    ...     ("b", "", 0.0, (1.0,)), ("a", "", 1.0, (5.0,))])]
    [[1.0, 2.0], [0.0]]
    """
    codes: dict[tuple[str, str], int] = {}
    groups, times, values = array("q"), array("d"), array("d")
    width = 0
    for user, name, time, value in rows:
        groups.append(codes.setdefault((user, name), len(codes)))
        times.append(time)
        values.extend(value)
        width = len(value)
    if not groups:
        return
    stamps = np.frombuffer(times)
    table = np.frombuffer(values).reshape(len(stamps), width)
    for (user, name), rows_of in zip(codes, _groups(groups, stamps), strict=True):
        yield RealTrace(user, stamps[rows_of], table[rows_of], name=name)


def sequences_of(rows: Iterable[tuple[str, str, float, Hashable]]) -> Iterator[StateSequence]:
    """Yield a sequence for each (user, name), in order of appearance.

    Rows are (user, name, time, state).

    >>> rows = [("a", "", 2.0, "y"), ("a", "", 1.0, "x"), ("a", "later", 1.5, "x")]
    >>> [day.states for day in sequences_of(rows)]
    [('x', 'y'), ('x',)]
    """
    codes: dict[tuple[str, str], int] = {}
    labels: dict[Hashable, int] = {}
    groups, times, states = array("q"), array("d"), array("q")
    for user, name, time, state in rows:
        groups.append(codes.setdefault((user, name), len(codes)))
        times.append(time)
        states.append(labels.setdefault(state, len(labels)))
    if not groups:
        return
    names = list(labels)
    stamps = np.frombuffer(times)
    visited = np.frombuffer(states, dtype=np.int64)
    for (user, name), rows_of in zip(codes, _groups(groups, stamps), strict=True):
        states_of = tuple(names[k] for k in visited[rows_of])
        yield StateSequence(user, stamps[rows_of], states_of, name=name)


def _groups(groups: array[int], stamps: NDArray[np.float64]) -> list[NDArray[np.intp]]:
    """Return the row numbers of each group in order of time; equal times keep their order."""
    codes = np.frombuffer(groups, dtype=np.int64)
    order = np.lexsort((stamps, codes))
    return np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)
