"""Formats by name, the framework's (GPX among them) and the plugins', and how one is told."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import attrs

from sfumato.datasets.records import RealTrace
from sfumato.datasets.tables import (
    BadRow,
    BadRows,
    latitude,
    longitude,
    read_state_table,
    read_trace_table,
    table_columns,
    unix_seconds,
    value_columns,
)
from sfumato.errors import DataError, DuplicateName
from sfumato.plugin_registry import default_registry

Suits = Callable[[Path], bool]


@attrs.frozen(kw_only=True)
class Published:
    """How the literature prepares a data set: what is read, what is made of it, and how fitted.

    `seconds` is the unit of time of what it makes of traces; `replay` makes of the sequences to
    be released, with the states that were fitted, what was fitted, where times are no samples.
    """

    prepare: Callable[[Iterable[Any]], Sequence[Any]]
    reading: Mapping[str, Any] = attrs.field(factory=dict)
    options: Mapping[str, Any] = attrs.field(factory=dict)
    seconds: float = 1.0
    replay: Callable[[Iterable[Any], Sequence[Hashable]], Sequence[Any]] | None = None
    note: str


@attrs.frozen
class Format:
    """How a data set is read, and what it holds.

    `kind` is what the records are: traces of numbers, sequences of states, or days of one home.
    `reader` returns or yields them from a path and ``bad_rows=``; of days, also ``minutes=``.
    `suits` is whether a path looks like this format, `in_degrees` whether its values are
    (latitude, longitude), and `published` how the literature prepares the data set, if it does.

    >>> from sfumato.datasets import read_trace_table
    >>> from sfumato.datasets.formats import Format
    >>> Format("traces", read_trace_table, lambda path: path.suffix == ".log").published
    """

    kind: Literal["traces", "sequences", "days"]
    reader: Callable[..., Any]
    suits: Suits
    in_degrees: Suits = lambda _: False
    published: Published | None = None

    def read(
        self, path: str | Path, bad_rows: BadRows, *, minutes: int = 30, **options: Any
    ) -> Iterator[Any]:
        """Yield the records; the steps of days have this many minutes."""
        if self.kind == "days":
            options["minutes"] = minutes
        found = self.reader(path, bad_rows=bad_rows, **options)
        yield from found if isinstance(found, (Iterator, list)) else [found]


def has_columns(*names: str) -> Suits:
    """Return the test whether a path is a table with these columns."""
    return lambda path: path.is_file() and set(names) <= set(table_columns(path))


# GPX: tracks recorded by phones and watches -------------------------------------------------------

POINT = re.compile(r"<trkpt\b[^>]*?(/?)>")
PLACE = re.compile(r"""\b(lat|lon)\s*=\s*["']\s*([-+.\deE]+)\s*["']""")
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)

Fix = tuple[float, float, float]


def read_gpx(path: str | Path, *, bad_rows: BadRows | None = None) -> Iterator[RealTrace]:
    """Yield one trace for each track segment: (latitude, longitude) at seconds since 1970.

    A point without a place or a time, or before its predecessor, is a bad row.
    """
    import gpxpy.gpx

    path, policy = Path(path), bad_rows or BadRows()
    text = path.read_text(encoding="utf-8-sig", errors="replace")
    text = COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), text)
    before, entity, _ = text.partition("<!ENTITY")
    if entity:  # a track needs none, and a few lines of them can fill the memory
        line = before.count("\n") + 1
        raise BadRow(f"{path.name}, line {line}: a track must be without entities; got one.")
    try:
        tracks = gpxpy.parse(POINT.sub(_with_place, text)).tracks
    except gpxpy.gpx.GPXException as error:
        where = re.search(r"line \d+", str(error))
        raise BadRow(f"{path.name}, {where[0] if where else 'all'}: not GPX ({error}).") from None
    lines, count = _lines_of_points(text), 0
    for segment in (segment for track in tracks for segment in track.segments):
        fixes: list[Fix] = []
        for point, line in zip(segment.points, lines, strict=False):
            try:
                fixes.append(_fix(point, fixes))
            except ValueError as error:
                policy.report(path, line, str(error))
        if fixes:
            count += 1
            times, places = [fix[0] for fix in fixes], [fix[1:] for fix in fixes]
            yield RealTrace(path.stem, times, places, f"segment {count}", named=False)


def _with_place(tag: re.Match[str]) -> str:
    """Return a point's tag with two numbers: for gpxpy, one bad point makes a bad file."""
    given = dict(PLACE.findall(tag[0]))
    return f'<trkpt lat="{given.get("lat", "nan")}" lon="{given.get("lon", "nan")}"{tag[1]}>'


def _lines_of_points(text: str) -> Iterator[int]:
    """Yield the line of each point: gpxpy forgets them, but keeps the points in order."""
    line, before = 1, 0
    for tag in POINT.finditer(text):
        line += text.count("\n", before, tag.start())
        before = tag.start()
        yield line


def _fix(point: Any, before: list[Fix]) -> Fix:
    """Return (seconds, latitude, longitude)."""
    if math.isnan(point.latitude + point.longitude):
        raise ValueError("a point must have 'lat' and 'lon', finite numbers; got others or none")
    if point.time is None:
        raise ValueError("a time must be an ISO date; got none")
    time = unix_seconds(point.time)
    if before and time < before[-1][0]:
        raise ValueError("the clock must not run back")
    return time, latitude(str(point.latitude)), longitude(str(point.longitude))


# Which format ------------------------------------------------------------------------------------

OWN: Mapping[str, Format] = {
    "gpx": Format("traces", read_gpx, lambda path: path.suffix == ".gpx", lambda _: True),
    "states": Format("sequences", read_state_table, has_columns("time", "state")),
    "traces": Format(
        "traces",
        read_trace_table,
        lambda path: has_columns("time")(path) and bool(value_columns(table_columns(path))),
        lambda path: value_columns(table_columns(path)) == ["lat", "lon"],
    ),
}
"""What the framework reads without a plugin."""


def formats() -> dict[str, Format]:
    """Return every format by name: those of plugins first, as they are the more particular."""
    registry = default_registry()
    brought = {name: registry.get("format", name) for name in registry.names("format")}
    for name in brought.keys() & OWN:
        raise DuplicateName(f"the format '{name}' is sfumato's own; rename that of the plugin.")
    return {**brought, **OWN}


def format_of(path: str | Path) -> str:
    """Return the name of the format that a path looks like, or say which to choose from.

    >>> from sfumato.datasets.formats import format_of
    >>> format_of("monday.gpx"), format_of("houseA.activities")
    ('gpx', 'kasteren')
    """
    for name, form in formats().items():
        if form.suits(Path(path)):
            return name
    raise DataError(
        f"the format of {Path(path).name} cannot be told; give --format with one of "
        f"{', '.join(formats())}."
    )
