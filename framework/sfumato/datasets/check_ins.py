"""Check-ins of people at places: Gowalla and Foursquare."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from pathlib import Path

import numpy as np

from sfumato.comparison.executors import watched
from sfumato.datasets.records import StateSequence
from sfumato.datasets.rows import (
    BadRows,
    dated_seconds,
    finite,
    named,
    numbered_lines,
    on_globe,
    seconds,
    sequences_of,
)
from sfumato.errors import DataError

FOURSQUARE_DATE = "%a %b %d %H:%M:%S %z %Y"
SECONDS_PER_MINUTE = 60.0


def read_gowalla(path: str | Path, *, bad_rows: BadRows | None = None) -> Iterator[StateSequence]:
    """Yield each person's venues in order of time (seconds since 1970).

    Rows are separated by tabs: user, time, latitude, longitude, venue; ``.gz`` is read through.
    """

    def parse(line: str) -> tuple[str, str, float, str]:
        user, time, latitude, longitude, venue = _cells(line, 5)
        on_globe(finite(latitude), finite(longitude))
        return named(user, "user"), "", seconds(time), named(venue, "venue")

    policy = BadRows() if bad_rows is None else bad_rows
    rows = policy.parsed(path, watched(numbered_lines(path), "reading Gowalla"), parse)
    yield from sequences_of(rows)


def read_foursquare(
    path: str | Path, *, bad_rows: BadRows | None = None
) -> Iterator[StateSequence]:
    """Yield each person's venues in order of time (seconds since 1970, or minutes' seconds).

    Three forms are told apart: tab-separated rows of 8 fields (one city: user, venue, category id,
    category, latitude, longitude, offset, time), of 4 fields (the world: user, venue, time,
    offset), and a ``.npy`` array of whole numbers (user, venue, minute).
    """
    if Path(path).suffix == ".npy":
        yield from sequences_of(_array_rows(path, BadRows() if bad_rows is None else bad_rows))
        return

    def parse(line: str) -> tuple[str, str, float, str]:
        cells = line.split("\t")
        if len(cells) not in (4, 8):
            raise ValueError(f"a row must have 4 or 8 fields; got {len(cells)}")
        time = cells[7] if len(cells) == 8 else cells[2]
        when = dated_seconds(time, FOURSQUARE_DATE)
        return named(cells[0], "user"), "", when, named(cells[1], "venue")

    policy = BadRows() if bad_rows is None else bad_rows
    rows = policy.parsed(path, watched(numbered_lines(path), "reading Foursquare"), parse)
    yield from sequences_of(rows)


def _array_rows(path: str | Path, policy: BadRows) -> Iterable[tuple[str, str, float, str]]:
    import numpy as np

    try:
        table = np.load(path, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise DataError(f"{Path(path).name} must be an array of numbers; got {error}.") from None
    if table.ndim != 2 or table.shape[1] != 3:
        raise DataError(
            f"{Path(path).name} must have rows of (user, venue, minute); got shape {table.shape}."
        )
    finite_rows = np.isfinite(table).all(axis=1).tolist()
    rows = zip(table.tolist(), finite_rows, strict=True)
    for number, ((user, venue, minute), known) in enumerate(rows, start=1):
        if known:
            yield str(user), "", minute * SECONDS_PER_MINUTE, str(venue)
        else:
            policy.report(path, number, "a row must have finite numbers")


def _cells(line: str, count: int) -> list[str]:
    cells = line.split("\t")
    if len(cells) != count:
        raise ValueError(f"a row must have {count} fields; got {len(cells)}")
    return cells


SECONDS_PER_DAY = 86400.0
ELSEWHERE = "somewhere else"


def check_ins_as_published(
    people: Iterable[StateSequence], *, days: float = 20.0, places: int = 100, fewest: int = 10
) -> list[StateSequence]:
    """Return one state for each window of `days`: the place visited, or "somewhere else".

    Only the `places` most visited places count (ties in order of first appearance), and only
    people who have checked in there in at least `fewest` windows.
    Windows start at the first check-in of anybody; a last window that is not complete counts.
    Where a person visits several places in one window, the one visited most often stands for it,
    the earliest of equals; the paper does not say.

    Reference: Koga, Meehan and Chaudhuri (2024), section 4.1.

    >>> ann = StateSequence("ann", [0.0, 1.0, 5.0], ["a", "b", "b"])
    >>> [p.states for p in check_ins_as_published([ann], days=2 / 86400, places=1, fewest=1)]
    [('b', 'somewhere else', 'b')]
    """
    everybody = list(people)
    if not everybody:
        return []
    visits = Counter(state for person in everybody for state in person.states)
    popular = {state for state, _ in visits.most_common(places)}
    begin = min(float(person.times[0]) for person in everybody)
    end = max(float(person.times[-1]) for person in everybody)
    length = days * SECONDS_PER_DAY
    count = int((end - begin) // length) + 1
    starts = begin + length * np.arange(count)
    windowed = []
    for person in everybody:
        seen: list[Counter[Hashable]] = [Counter() for _ in range(count)]
        for time, state in zip(person.times.tolist(), person.states, strict=True):
            if state in popular:
                seen[int((time - begin) // length)][state] += 1
        if sum(bool(window) for window in seen) >= fewest:
            states = [window.most_common(1)[0][0] if window else ELSEWHERE for window in seen]
            windowed.append(StateSequence(person.user, starts, states))
    return windowed
