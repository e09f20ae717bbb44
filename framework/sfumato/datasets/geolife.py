"""GeoLife: a folder of people, each with ``Trajectory/*.plt`` files."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path

from sfumato.datasets.bad_rows import BadRows
from sfumato.datasets.fields import finite, on_globe
from sfumato.datasets.real_trace import RealTrace
from sfumato.datasets.tables import read_trace_table
from sfumato.datasets.text_lines import numbered_lines
from sfumato.progress import watched

HEADER_LINES = 6
SECONDS_PER_DAY = 86400.0


def read_geolife(folder: str | Path, *, bad_rows: BadRows | None = None) -> Iterator[RealTrace]:
    """Yield one trace for each ``.plt`` file, by user and file name, one file in memory at a time.

    Values are (latitude, longitude) in degrees; times are seconds since the first fix, from the
    day number (which has 10 decimals, unlike the clock next to it); the trace's name is the file's.

    Parameters
    ----------
    folder
        The folder ``Data`` of the data set, or any folder above it.
    bad_rows
        What to do with rows that cannot be read; an error by default.
    """
    files = sorted(
        Path(folder).rglob("Trajectory/*.plt"),
        key=lambda file: (file.parent.parent.name, file.name),
    )
    if not files:
        raise FileNotFoundError(f"there are no <user>/Trajectory/*.plt files in {folder}.")
    for file in watched(files, "reading GeoLife", len(files)):
        trace = read_plt(file, bad_rows=bad_rows)
        if trace is not None:
            yield trace


def read_plt(file: str | Path, *, bad_rows: BadRows | None = None) -> RealTrace | None:
    """Return the trace of one ``.plt`` file, or None where no row can be read."""
    policy = BadRows() if bad_rows is None else bad_rows
    path = Path(file)
    rows = list(policy.parsed(path, numbered_lines(path, skip=HEADER_LINES), _fix_reader()))
    if not rows:
        return None
    began = rows[0][0]
    return RealTrace(
        path.parent.parent.name,
        [(day - began) * SECONDS_PER_DAY for day, _, _ in rows],
        [(latitude, longitude) for _, latitude, longitude in rows],
        name=path.stem,
    )


def read_geolife_table(path: str | Path, *, bad_rows: BadRows | None = None) -> Iterator[RealTrace]:
    """Yield the same traces from one table with columns user, traj, lat, lon and days_1899."""
    for trace in read_trace_table(
        path, values=("lat", "lon"), time="days_1899", trace="traj", bad_rows=bad_rows
    ):
        since_first = (trace.times - trace.times[0]) * SECONDS_PER_DAY
        yield RealTrace(trace.user, since_first, trace.values, name=trace.name)


def _fix_reader() -> Callable[[str], tuple[float, float, float]]:
    """Return a reader of (day, latitude, longitude) that remembers the time of the last fix."""
    last = -math.inf

    def parse(line: str) -> tuple[float, float, float]:
        nonlocal last
        cells = line.split(",")
        latitude, longitude, day = finite(cells[0]), finite(cells[1]), finite(cells[4])
        on_globe(latitude, longitude)
        if day < last:
            raise ValueError(f"the clock must not run back; got day {day} after {last}")
        last = day
        return day, latitude, longitude

    return parse
