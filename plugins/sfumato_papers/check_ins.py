"""Check-ins of people at places, Gowalla's and Foursquare's, and the windows of the paper."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

import numpy as np

from sfumato.comparison.executors import with_progress
from sfumato.datasets import BadRows, StateSequence, tables
from sfumato.datasets.formats import Format, Published
from sfumato.errors import DataError

SECONDS_PER_MINUTE = 60.0
SECONDS_PER_DAY = 86400.0
ELSEWHERE = "somewhere else"


def _date(text: str) -> float:
    return tables.unix_seconds(datetime.strptime(text.strip(), "%a %b %d %H:%M:%S %z %Y"))


def _minutes(text: str) -> float:
    return tables.finite(text) * SECONDS_PER_MINUTE


def _number(text: str) -> str:
    tables.finite(text)
    return text


GOWALLA: dict[str, tables.Converter] = {
    "user": tables.named,
    "time": tables.seconds,
    "lat": tables.latitude,
    "lon": tables.longitude,
    "state": tables.named,
}
FOURSQUARE: dict[str, tables.Converter] = {
    "user": tables.named,
    "state": tables.named,
    "time": _date,
}
ARRAY: dict[str, tables.Converter] = {"user": _number, "state": _number, "time": _minutes}
CITY = ("user", "state", "category", "kind", "lat", "lon", "offset", "time")
WORLD = ("user", "state", "time", "offset")


def read_gowalla(path: str | Path, *, bad_rows: BadRows | None = None) -> Iterator[StateSequence]:
    """Yield each person's venues in order of time (seconds since 1970).

    Rows are separated by tabs: user, time, latitude, longitude, venue; ``.gz`` is read through.
    """
    return _people(path, tables.numbered_lines(path), list(GOWALLA), GOWALLA, bad_rows)


def read_foursquare(
    path: str | Path, *, bad_rows: BadRows | None = None
) -> Iterator[StateSequence]:
    """Yield each person's venues in order of time (seconds since 1970, or minutes' seconds).

    Three forms are told apart: tab-separated rows of 8 fields (one city: user, venue, category id,
    category, latitude, longitude, offset, time), of 4 fields (the world: user, venue, time,
    offset), and a ``.npy`` array of whole numbers (user, venue, minute).
    """
    if Path(path).suffix == ".npy":
        return _people(path, _array_rows(path), list(ARRAY), ARRAY, bad_rows)
    columns = WORLD if len(_first_cells(Path(path))) == len(WORLD) else CITY
    return _people(path, tables.numbered_lines(path), columns, FOURSQUARE, bad_rows)


def _people(
    path: str | Path,
    rows: tables.Rows,
    columns: Sequence[str],
    kinds: Mapping[str, tables.Converter],
    bad_rows: BadRows | None,
) -> Iterator[StateSequence]:
    lines = with_progress(rows, f"reading {Path(path).name}")
    found = tables.read_rows(path, lines, columns, kinds, separator="\t", bad_rows=bad_rows)
    for user, _, times, states in tables.by_trace(found.assign(trace=""), "state"):
        yield StateSequence(user, times, states)


def _array_rows(path: str | Path) -> tables.Rows:
    try:
        users, venues, minutes = np.atleast_2d(np.load(path, allow_pickle=False)).T.tolist()
    except (ValueError, EOFError) as error:
        raise DataError(
            f"{Path(path).name} must be an array of numbers, rows of (user, venue, minute); got "
            f"{error}."
        ) from None
    rows = zip(map(str, users), map(str, venues), map(str, minutes), strict=True)
    yield from enumerate(rows, start=1)


def _first_cells(path: Path) -> list[str]:
    """Return the cells of the first line of a file without a header."""
    return next(tables.numbered_lines(path), (0, ""))[1].split("\t") if path.is_file() else []


def _is_gowalla(path: Path) -> bool:
    cells = _first_cells(path)
    return len(cells) == len(GOWALLA) and cells[1][:4].isdigit()


def _is_foursquare(path: Path) -> bool:
    return path.suffix == ".npy" or (
        len(cells := _first_cells(path)) in (len(WORLD), len(CITY)) and cells[-1][-4:].isdigit()
    )


def check_ins_as_published(
    people: Iterable[StateSequence],
    *,
    days: float = 20.0,
    places: int | Iterable[Hashable] = 100,
    fewest: int = 10,
) -> list[StateSequence]:
    """Return one state for each window of `days`: the place visited, or "somewhere else".

    Only the `places` most visited places count (ties in order of first appearance), or those
    named, and only
    people who have checked in there in at least `fewest` windows.
    Windows start at the first check-in of anybody; a last window that is not complete counts.
    Where a person visits several places in one window, the one visited most often stands for it,
    the earliest of equals; the paper does not say.

    Reference: Koga, Meehan and Chaudhuri (2024), section 4.1.

    >>> from sfumato.datasets import StateSequence
    >>> from sfumato_papers.check_ins import check_ins_as_published
    >>> ann = StateSequence("ann", [0.0, 1.0, 5.0], ["a", "b", "b"])
    >>> [p.states for p in check_ins_as_published([ann], days=2 / 86400, places=1, fewest=1)]
    [('b', 'somewhere else', 'b')]
    """
    everybody = list(people)
    if not everybody:
        return []
    if isinstance(places, int):
        visits = Counter(state for person in everybody for state in person.states)
        places = [state for state, _ in visits.most_common(places)]
    popular = set(places)
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
        if sum(map(bool, seen)) >= fewest:
            states = [window.most_common(1)[0][0] if window else ELSEWHERE for window in seen]
            windowed.append(StateSequence(person.user, starts, states))
    return windowed


PUBLISHED = Published(
    prepare=check_ins_as_published,
    replay=lambda people, states: check_ins_as_published(people, places=states, fewest=0),
    note="windows of 20 days, the 100 places visited most, people seen in 10 windows",
)
FORMATS = {
    "foursquare": Format("sequences", read_foursquare, _is_foursquare, published=PUBLISHED),
    "gowalla": Format("sequences", read_gowalla, _is_gowalla, published=PUBLISHED),
}
