"""People with days of contexts: from one's own files, or made up where there are none."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from sfumato.datasets import ActivityLog, BadRows, StateSequence, labels_of
from sfumato.datasets.formats import FORMATS, format_of
from sfumato.namespaces import priors

STAND_IN = """
    The data are a stand-in: {count} made-up people with {days} days of {steps} hours each, a daily
    routine with chance departures from it, and 6 to 14 places.
    The paper's Reality Mining data (91 people, hourly, 7 to 40 places) are not shipped; give your
    own days of contexts with --data.
"""
OWN = """
    The data are your own: {count} people, {steps} steps a day.
"""
SMOOTHING = 0.02
"""Added to the count of every move, so that an unseen move of the second half is not impossible."""


@attrs.frozen
class Person:
    """Someone's days of contexts; the first half trains the chain, the second is released."""

    name: str
    states: tuple[Hashable, ...]
    days: tuple[tuple[Hashable, ...], ...]

    @property
    def training(self) -> tuple[tuple[Hashable, ...], ...]:
        """The first half of the days."""
        return self.days[: len(self.days) // 2]

    @property
    def evaluation(self) -> tuple[tuple[Hashable, ...], ...]:
        """The second half of the days."""
        return self.days[len(self.days) // 2 :]

    @property
    def home(self) -> Hashable:
        """The context in which most time is spent."""
        spent = [state for day in self.training for state in day]
        return max(self.states, key=spent.count)

    def chain(self) -> Any:
        """Return the chain of the first half, with a matrix for each step of the day."""
        return priors.markov_chain.fit(
            self.training, homogeneous=False, smoothing=SMOOTHING, states=self.states
        )

    def some_contexts(self, count: int) -> list[Hashable]:
        """Return contexts drawn at random, always the same for one person."""
        rng = np.random.default_rng([len(self.states), *self.name.encode()])
        chosen = rng.choice(len(self.states), size=min(count, len(self.states)), replace=False)
        return [self.states[place] for place in sorted(chosen)]


def people(data: Path | None, count: int = 12) -> tuple[list[Person], str]:
    """Return the people of a file or folder, or made-up ones, and how to speak of them."""
    if data is None:
        found = [simulated_person(number) for number in range(count)]
        words = STAND_IN.format(
            count=len(found), days=len(found[0].days), steps=len(found[0].days[0])
        )
        return found, words
    files = sorted(data.iterdir()) if data.is_dir() else [data]
    found = [person for file in files if file.is_file() for person in _people_of(file)]
    if not found:
        raise ValueError(f"{data} must have people with four days of contexts or more; got none.")
    return found, OWN.format(count=len(found), steps=len(found[0].days[0]))


def simulated_person(number: int, days: int = 60, steps: int = 24) -> Person:
    """Make up someone: a routine for each hour, followed or not, and a habit of staying.

    >>> person = simulated_person(0)
    >>> len(person.days), len(person.days[0]), person.home
    (60, 24, 'home')
    """
    rng = np.random.default_rng([2012, number])
    places = int(rng.integers(6, 15))
    states = ("home", "work", *(f"place {k}" for k in range(2, places)))
    visits = rng.dirichlet(np.full(places - 2, 0.6))
    habits = np.array([_habit(hour * 24 / steps, visits) for hour in range(steps)])
    walked = [_day(rng, habits, states) for _ in range(days)]
    return Person(f"made-up {number}", states, tuple(walked))


def _habit(hour: float, visits: Any) -> Any:
    """Return where a person goes at an hour of the day, when they go."""
    if hour < 7 or hour >= 22:
        weights = (0.97, 0.01, 0.02)
    elif 9 <= hour < 17:
        weights = (0.12, 0.7, 0.18)
    else:
        weights = (0.45, 0.15, 0.4)
    return np.concatenate(([weights[0], weights[1]], weights[2] * visits))


def _day(rng: Any, habits: Any, states: Sequence[Hashable]) -> tuple[Hashable, ...]:
    day = []
    place = int(rng.choice(len(states), p=habits[0]))
    for habit in habits:
        if rng.random() > 0.55:  # otherwise they stay where they are
            place = int(rng.choice(len(states), p=habit))
        day.append(states[place])
    return tuple(day)


def _people_of(file: Path) -> Iterator[Person]:
    try:
        form = FORMATS[format_of(file)]
    except ValueError:
        return  # not a file of contexts
    if form.kind == "traces":
        return
    for record in form.read(file, BadRows(skip=True)):
        days = (record if isinstance(record, ActivityLog) else _log(record)).day_streams(minutes=60)
        if len(days) >= 4:
            name = record.home if isinstance(record, ActivityLog) else record.user
            yield Person(name, labels_of(days), tuple(day.states for day in days))


def _log(record: StateSequence) -> ActivityLog:
    """Return the states of a stream, each in force until the next."""
    ends = np.append(record.times[1:], record.times[-1] + 3600.0)
    return ActivityLog(record.user, record.times, ends, [str(state) for state in record.states])
