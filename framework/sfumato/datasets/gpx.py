"""GPX: tracks recorded by phones and watches."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sfumato.datasets.records import RealTrace
from sfumato.datasets.tables import BadRow, BadRows, latitude, longitude, unix_seconds

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
            times = [fix[0] for fix in fixes]
            yield RealTrace(path.stem, times, [fix[1:] for fix in fixes], name=f"segment {count}")


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
