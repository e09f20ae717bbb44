"""Activities of daily living recorded in homes, in two formats."""

from __future__ import annotations

import re
from pathlib import Path

from sfumato.datasets.records import ActivityLog
from sfumato.datasets.rows import BadRows, finite, numbered_lines, seconds

Interval = tuple[float, float, str]


def read_ordonez(path: str | Path, *, bad_rows: BadRows | None = None) -> ActivityLog:
    """Return the activities of a file of rows "date time, date time, activity" under two titles.

    Fields are separated by tabs or blanks, in any mixture.
    """

    def parse(line: str) -> Interval:
        cells = re.split(r"\s+", line.strip())
        if len(cells) != 5:
            raise ValueError(f"a row must have two dates with times and a name; got {line!r}")
        begin, end = seconds(f"{cells[0]} {cells[1]}"), seconds(f"{cells[2]} {cells[3]}")
        return _interval(begin, end, cells[4])

    policy = BadRows() if bad_rows is None else bad_rows
    return _log(path, list(policy.parsed(path, numbered_lines(path, skip=2), parse)))


def read_kasteren(path: str | Path, *, bad_rows: BadRows | None = None) -> ActivityLog:
    """Return the activities of a ``.activities`` file of (beginning, seconds, number) rows.

    The names come from the ``.activity_names`` file beside it.
    """
    path = Path(path)
    policy = BadRows() if bad_rows is None else bad_rows
    names_file = path.with_suffix(".activity_names")
    named = policy.parsed(names_file, numbered_lines(names_file), _number_and_name)
    names = dict(named)

    def parse(line: str) -> Interval:
        cells = line.split()
        if len(cells) != 3:
            raise ValueError(f"a row must have 3 fields; got {len(cells)}")
        if cells[2] not in names:
            raise ValueError(f"the activity must have a name; got number {cells[2]}")
        begin = finite(cells[0])
        return _interval(begin, begin + finite(cells[1]), names[cells[2]])

    return _log(path, list(policy.parsed(path, numbered_lines(path), parse)))


def _interval(begin: float, end: float, activity: str) -> Interval:
    if end < begin:
        raise ValueError("an activity must not end before it begins")
    return begin, end, activity


def _number_and_name(line: str) -> tuple[str, str]:
    number, name = line.split(maxsplit=1)
    return number, name.strip()


def _log(path: str | Path, rows: list[Interval]) -> ActivityLog:
    begins, ends, activities = zip(*rows, strict=True) if rows else ((), (), ())
    return ActivityLog(Path(path).stem, begins, ends, activities)
