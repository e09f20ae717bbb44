"""Activities of daily living recorded in homes, in two formats, and their days."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
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
        if not self.activities or not len(self.begins) == len(self.ends) == len(self.activities):
            raise DataError(
                f"an activity log must have a beginning and an end for each activity, at least "
                f"one; got {len(self.activities)} activities of {self.home}."
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
        streams = []
        for midnight in SECONDS_PER_DAY * np.arange(first, last + 1):
            moments = midnight + steps
            date = datetime.fromtimestamp(int(midnight), UTC).date().isoformat()
            states = [self._in_force(moment, idle) for moment in moments]
            streams.append(StateSequence(f"{self.home} {date}", moments, states))
        return streams

    def _in_force(self, moment: int, idle: str) -> str:
        going_on = (self.begins <= moment) & (moment < self.ends)
        newest = np.where(going_on, self.begins, -np.inf).argmax()
        return self.activities[newest] if going_on.any() else idle


def read_ordonez(path: str | Path, *, bad_rows: BadRows | None = None) -> ActivityLog:
    """Return the activities of a file of rows "date time, date time, activity" under two titles.

    Fields are separated by tabs or blanks, in any mixture.
    """
    kinds: dict[str, Converter] = {
        "day": _day, "hour": _clock, "last_day": _day, "last_hour": _clock, "activity": str
    }  # fmt: skip
    rows = _rows(path, kinds, bad_rows, titles=2)
    begins, ends = rows.day + rows.hour, rows.last_day + rows.last_hour
    return _log(path, rows.assign(begin=begins, end=ends), bad_rows)


def read_kasteren(path: str | Path, *, bad_rows: BadRows | None = None) -> ActivityLog:
    """Return the activities of a ``.activities`` file of (beginning, seconds, number) rows.

    The names come from the ``.activity_names`` file beside it.
    """
    file = Path(path).with_suffix(".activity_names")
    lines = ((number, line.split(maxsplit=1)) for number, line in numbered_lines(file))
    kinds: dict[str, Converter] = {"key": str, "name": str.strip}
    found = read_rows(file, lines, list(kinds), kinds, bad_rows=bad_rows)
    names: dict[str, str] = dict(zip(found.key, found.name, strict=True))

    def name_of(number: str) -> str:
        if number not in names:
            raise ValueError(f"the activity must have a name; got number {number}")
        return names[number]

    rows = _rows(path, {"begin": finite, "length": finite, "activity": name_of}, bad_rows)
    return _log(path, rows.assign(end=rows.begin + rows.length), bad_rows)


def _rows(
    path: str | Path, kinds: Mapping[str, Converter], bad_rows: BadRows | None, titles: int = 0
) -> Any:
    lines = numbered_lines(path, skip=titles)
    return read_rows(path, lines, list(kinds), kinds, separator=None, bad_rows=bad_rows)


def _log(path: str | Path, rows: Any, bad_rows: BadRows | None) -> ActivityLog:
    backwards = rows.end < rows.begin
    policy = bad_rows or BadRows()
    rows = policy.drop(path, rows, backwards, "an activity must not end before it begins")
    return ActivityLog(Path(path).stem, rows.begin, rows.end, rows.activity)


def _day(text: str) -> float:
    return unix_seconds(datetime.fromisoformat(text))


def _clock(text: str) -> float:
    moment = time.fromisoformat(text)
    return 3600.0 * moment.hour + 60.0 * moment.minute + moment.second


def _format(read: Callable[..., ActivityLog], suits: Callable[[Path], bool]) -> Format:
    def days(path: Path, *, bad_rows: BadRows, minutes: int) -> list[StateSequence]:
        return read(path, bad_rows=bad_rows).day_streams(minutes=minutes)

    return Format("days", days, suits)


FORMATS = {
    "kasteren": _format(read_kasteren, lambda path: path.suffix == ".activities"),
    "ordonez": _format(read_ordonez, lambda path: path.name.endswith("_ADLs.txt")),
}
