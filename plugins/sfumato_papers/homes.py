"""Days of contexts: recorded in homes, in two formats, from one's own files, or made up."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from datetime import UTC, datetime, time
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.datasets import BadRows, StateSequence, labels_of
from sfumato.datasets.formats import Format, format_of, formats
from sfumato.datasets.tables import Converter, finite, numbered_lines, read_rows, unix_seconds
from sfumato.errors import DataError
from sfumato.plugin_registry import priors
from sfumato.values import ByContent, read_only

SECONDS_PER_DAY = 86400


def _names(activities: Iterable[str]) -> tuple[str, ...]:
    return tuple(activities)


@attrs.frozen(eq=False)
class ActivityLog(ByContent):
    """Activities of one home with their beginnings and ends (seconds since 1970).

    >>> from sfumato_papers.homes import ActivityLog
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
            streams.append(StateSequence(f"{self.home} {date}", moments, states, named=False))
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
    lines = numbered_lines(path, skip=2)
    rows = read_rows(path, lines, list(kinds), kinds, separator=None, bad_rows=bad_rows)
    begins, ends = rows.day + rows.hour, rows.last_day + rows.last_hour
    return _log(path, rows.assign(begin=begins, end=ends), bad_rows)


def read_kasteren(path: str | Path, *, bad_rows: BadRows | None = None) -> ActivityLog:
    """Return the activities of a ``.activities`` file of (beginning, seconds, number) rows.

    The names come from the ``.activity_names`` file beside it.
    """
    file = Path(path).with_suffix(".activity_names")
    named = ((number, line.split(maxsplit=1)) for number, line in numbered_lines(file))
    kinds: dict[str, Converter] = {"key": str, "name": str.strip}
    found = read_rows(file, named, list(kinds), kinds, bad_rows=bad_rows)
    names: dict[str, str] = dict(zip(found.key, found.name, strict=True))

    def name_of(number: str) -> str:
        if number not in names:
            raise ValueError(f"the activity must have a name; got number {number}")
        return names[number]

    kinds = {"begin": finite, "length": finite, "activity": name_of}
    lines = numbered_lines(path)
    rows = read_rows(path, lines, list(kinds), kinds, separator=None, bad_rows=bad_rows)
    return _log(path, rows.assign(end=rows.begin + rows.length), bad_rows)


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

STAND_IN = """
    The data are a stand-in: {count} made-up people with a routine for each of {steps} hours, 6 to
    14 places, and {days} days drawn from their own chains.
    The paper's Reality Mining data (91 people, 7 to 40 places, chains trained on the first half of
    each trace) are not shipped; give your own days of contexts with --data.
"""
OWN = """
    The data are your own: {count} people, {steps} steps a day; {bad} bad rows were skipped.
"""
MINUTES = 60
"""The step of a day."""
SMOOTHING = 0.02
"""Added to the count of every move, so that an unseen move of the second half is not impossible."""


@attrs.frozen(eq=False)
class Person:
    """Someone's chain of contexts, with a matrix for each step, and days it was not fitted to."""

    name: str
    chain: Any
    days: tuple[tuple[Hashable, ...], ...]

    @property
    def home(self) -> Hashable:
        """The context in which most time is spent."""
        time_spent = self.chain.belief().marginals().sum(axis=0)
        return self.chain.states[int(np.argmax(time_spent))]  # type: ignore[no-any-return]

    def some_contexts(self, count: int) -> list[Hashable]:
        """Return contexts drawn at random without repetition, always the same for one person."""
        states = self.chain.states
        rng = np.random.default_rng([len(states), *self.name.encode()])
        return [states[place] for place in rng.permutation(len(states))[:count]]


def people(data: Path | None, count: int = 12) -> tuple[list[Person], str]:
    """Return the people of a file or folder, or made-up ones, and how to speak of them."""
    if data is None:
        found = [simulated_person(number) for number in range(count)]
        words = STAND_IN.format(
            count=len(found), days=len(found[0].days), steps=len(found[0].days[0])
        )
        return found, words
    files = sorted(data.iterdir()) if data.is_dir() else [data]
    rows = BadRows(skip=True)
    found = [person for file in files if file.is_file() for person in _people_of(file, rows)]
    if not found:
        raise DataError(f"{data} must have people with four days of contexts or more; got none.")
    return found, OWN.format(count=len(found), steps=len(found[0].days[0]), bad=rows.count)


def simulated_person(number: int, days: int = 30, steps: int = 24) -> Person:
    """Make up someone: a routine for each hour, and a habit of staying.

    At night there is only home; every other place is open for some hours of the day.
    """
    rng = np.random.default_rng([2012, number])
    places = int(rng.integers(6, 15))
    opening = rng.integers(7, 19, size=places - 2)
    closing = opening + rng.integers(2, 6, size=places - 2)
    visits = rng.dirichlet(np.full(places - 2, 0.6))
    habits = np.array(
        [_habit(hour, visits * ((opening <= hour) & (hour < closing))) for hour in range(steps)]
    )
    chain = priors.markov_chain(
        initial=habits[0],
        transitions=np.stack([_moves(habit) for habit in habits[1:]]),
        steps=steps,
        states=("home", "work", *(f"place {k}" for k in range(2, places))),
    )
    walked = tuple(tuple(chain.belief().sample(rng)) for _ in range(days))
    return Person(f"made-up {number}", chain, walked)


def _habit(hour: int, visits: Any) -> Any:
    """Return where a person goes at an hour of the day, when they go."""
    if hour < 7 or hour >= 23:
        weights = (1.0, 0.0, 0.0)
    elif 9 <= hour < 17:
        weights = (0.1, 0.75, 0.15)
    else:
        weights = (0.55, 0.1, 0.35)
    law = np.concatenate((weights[:2], weights[2] * visits))
    return law / law.sum()


def _moves(habit: Any) -> Any:
    """Return the law of the next place: stay with chance 0.6 where that is open, or as habit is."""
    stay = np.where(habit > 0, 0.6, 0.0)
    return np.diag(stay) + (1 - stay)[:, None] * habit


def _people_of(file: Path, rows: BadRows) -> Iterator[Person]:
    """Yield who is recorded in a file: one home, or each user of sequences of states."""
    try:
        form = formats()[format_of(file)]
    except ValueError:
        return  # not a file of contexts
    if form.kind == "traces":
        return
    records = form.read(file, rows, minutes=MINUTES)
    everyone = (
        [(file.stem, list(records))]
        if form.kind == "days"
        else [(one.user, _days(one)) for one in records]
    )
    for name, days in everyone:
        if len(days) < 4:
            continue
        states, half = [day.states for day in days], len(days) // 2
        chain = priors.markov_chain.fit(
            states[:half], homogeneous=False, smoothing=SMOOTHING, states=labels_of(days)
        )
        yield Person(name, chain, tuple(states[half:]))


def _days(record: StateSequence) -> list[StateSequence]:
    """Return the days of a stream whose states are each in force until the next."""
    ends = np.append(record.times[1:], record.times[-1] + 3600.0)
    log = ActivityLog(record.user, record.times, ends, [str(state) for state in record.states])
    return log.day_streams(minutes=MINUTES)
