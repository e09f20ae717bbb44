"""Activities of daily living recorded in homes, in two formats, and their days."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, time
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.datasets import BadRows, StateSequence
from sfumato.datasets.formats import Format
from sfumato.datasets.tables import Converter, finite, numbered_lines, read_rows, unix_seconds
from sfumato.errors import DataError
from sfumato.values import ByContent, read_only

SECONDS_PER_DAY = 86400


def _names(activities: Iterable[str]) -> tuple[str, ...]:
    return tuple(activities)


@attrs.frozen(eq=False)
class ActivityLog(ByContent):
    """Activities of one home with their beginnings and ends (seconds since 1970).

    >>> log = ActivityLog("A", [0.0, 43200.0], [30000.0, 90000.0], ["sleep", "out"])
    >>> [day.states for day in log.day_streams(minutes=360)]
    [('sleep', 'sleep', 'out', 'out')]
    """

    home: str
    begins: NDArray[np.float64] = attrs.field(converter=read_only)
    ends: NDArray[np.float64] = attrs.field(converter=read_only)
    activities: tuple[str, ...] = attrs.field(converter=_names)

    def __attrs_post_init__(self) -> None:
        count = len(self.activities)
        if count == 0 or self.begins.shape != (count,) or self.ends.shape != (count,):
            raise DataError(
                f"an activity log must have a beginning and an end for each activity; got "
                f"{count} activities, {self.begins.shape} and {self.ends.shape}."
            )
        if not (self.begins <= self.ends).all():  # written so that NaN fails
            raise DataError(f"an activity must not end before it begins; got one of {self.home}.")

    def day_streams(self, *, minutes: int = 30, idle: str = "nothing") -> list[StateSequence]:
        """Return one stream for each day that the log covers from midnight to midnight.

        Step k of a day holds the activity in force at k · `minutes` after midnight: of those that
        have begun and not ended the one begun last, or `idle` where there is none.
        The first and the last day count only where the log covers all of their steps.
        """
        if minutes < 1 or (24 * 60) % minutes:
            raise DataError(f"minutes must divide a day; got {minutes}.")
        steps = np.arange(0, SECONDS_PER_DAY, minutes * 60)
        first = int(np.ceil(self.begins.min() / SECONDS_PER_DAY))
        last = int(np.floor((self.ends.max() - steps[-1]) / SECONDS_PER_DAY))
        return [
            StateSequence(
                f"{self.home} {_date(day)}",
                day * SECONDS_PER_DAY + steps.astype(np.float64),
                self._in_force(day * SECONDS_PER_DAY + steps, idle),
            )
            for day in range(first, last + 1)
        ]

    def _in_force(self, moments: NDArray[np.int64], idle: str) -> list[str]:
        open_now = (self.begins <= moments[:, None]) & (moments[:, None] < self.ends)
        newest = np.where(open_now, self.begins, -np.inf).argmax(axis=1)
        labels = np.array([*self.activities, idle], dtype=object)
        labelled = np.where(np.any(open_now, axis=1), newest, len(self.activities))
        return [str(label) for label in labels[labelled]]


def _date(day: int) -> str:
    return datetime.fromtimestamp(day * SECONDS_PER_DAY, UTC).date().isoformat()


def read_ordonez(path: str | Path, *, bad_rows: BadRows | None = None) -> ActivityLog:
    """Return the activities of a file of rows "date time, date time, activity" under two titles.

    Fields are separated by tabs or blanks, in any mixture.
    """
    columns = ("day", "hour", "last_day", "last_hour", "activity")
    converters: dict[str, Converter] = dict(
        zip(columns, (_day, _clock, _day, _clock, str), strict=True)
    )
    rows = read_rows(
        path, numbered_lines(path, skip=2), columns, converters, separator=None, bad_rows=bad_rows
    )
    begins, ends = rows.day + rows.hour, rows.last_day + rows.last_hour
    return _log(path, rows.assign(begin=begins, end=ends), bad_rows)


def read_kasteren(path: str | Path, *, bad_rows: BadRows | None = None) -> ActivityLog:
    """Return the activities of a ``.activities`` file of (beginning, seconds, number) rows.

    The names come from the ``.activity_names`` file beside it.
    """
    policy = BadRows() if bad_rows is None else bad_rows
    names: dict[str, str] = {}
    names_file = Path(path).with_suffix(".activity_names")
    for number, line in numbered_lines(names_file):
        key, _, name = line.partition("\t")
        if name:
            names[key.strip()] = name.strip()
        else:
            policy.report(names_file, number, f"a row must have a number and a name; got {line!r}")

    def name_of(number: str) -> str:
        if number not in names:
            raise ValueError(f"the activity must have a name; got number {number}")
        return names[number]

    converters: dict[str, Converter] = {"begin": finite, "length": finite, "activity": name_of}
    rows = read_rows(
        path, numbered_lines(path), list(converters), converters, separator=None, bad_rows=policy
    )
    return _log(path, rows.assign(end=rows.begin + rows.length), policy)


def _log(path: str | Path, rows: Any, bad_rows: BadRows | None) -> ActivityLog:
    policy = BadRows() if bad_rows is None else bad_rows
    rows = policy.drop(
        path, rows, rows.end < rows.begin, "an activity must not end before it begins"
    )
    return ActivityLog(Path(path).stem, rows.begin, rows.end, rows.activity)


def _day(text: str) -> float:
    return unix_seconds(datetime.fromisoformat(text))


def _clock(text: str) -> float:
    moment = time.fromisoformat(text)
    return 3600.0 * moment.hour + 60.0 * moment.minute + moment.second


def _ordonez_days(path: str | Path, *, bad_rows: BadRows, minutes: int) -> list[StateSequence]:
    return read_ordonez(path, bad_rows=bad_rows).day_streams(minutes=minutes)


def _kasteren_days(path: str | Path, *, bad_rows: BadRows, minutes: int) -> list[StateSequence]:
    return read_kasteren(path, bad_rows=bad_rows).day_streams(minutes=minutes)


FORMATS = {
    "kasteren": Format("days", _kasteren_days, lambda path: path.suffix == ".activities"),
    "ordonez": Format("days", _ordonez_days, lambda path: path.name.endswith("_ADLs.txt")),
}
