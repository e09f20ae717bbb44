"""People with days of contexts: from one's own files, or made up where there are none."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from sfumato.datasets import BadRows, StateSequence, labels_of
from sfumato.datasets.formats import format_of, formats
from sfumato.errors import DataError
from sfumato.plugin_registry import priors
from sfumato_papers.homes import ActivityLog

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

    >>> person = simulated_person(0)
    >>> len(person.days), len(person.days[0]), person.home
    (30, 24, 'home')
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
