"""GeoLife and SML2010: their files, and the traces that length scales were fitted to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from pathlib import Path

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.comparison.executors import with_progress
from sfumato.datasets import BadRows, RealTrace, read_trace_table
from sfumato.datasets.formats import Format, Published, has_columns
from sfumato.datasets.records import EARTH_RADIUS
from sfumato.datasets.tables import (
    Converter,
    finite,
    latitude,
    longitude,
    numbered_lines,
    read_rows,
    unix_seconds,
)
from sfumato.errors import DataError

COLUMNS = ("lat", "lon", "zero", "feet", "day", "date", "clock")
CONVERTERS: dict[str, Converter] = {"lat": latitude, "lon": longitude, "day": finite}
SECONDS_PER_DAY = 86400.0
DAY_OF_1970 = 25569.0  # days are counted from the end of 1899

LONGEST = 320.0
SHORTEST = 240.0
MOST_POINTS = 50
FEWEST_TRACES = 10
MOST_TRACES = 50


def read_geolife(folder: str | Path, *, bad_rows: BadRows | None = None) -> Iterator[RealTrace]:
    """Yield one trace for each ``.plt`` file, by user and file name, one file in memory at a time.

    `folder` is the folder ``Data`` of the data set, or any folder above it.
    Values are (latitude, longitude) in degrees; times are seconds since the first fix, from the
    day number (which has 10 decimals, unlike the clock next to it); the trace's name is the file's.
    """
    files = sorted(
        Path(folder).rglob("Trajectory/*.plt"),
        key=lambda file: (file.parent.parent.name, file.name),
    )
    if not files:
        raise FileNotFoundError(f"there are no <user>/Trajectory/*.plt files in {folder}.")
    policy = bad_rows or BadRows()
    for file in with_progress(files, "reading GeoLife", len(files)):
        lines = numbered_lines(file, skip=6)
        rows = read_rows(file, lines, COLUMNS, CONVERTERS, bad_rows=policy)
        rows = policy.drop(file, rows, rows.day < rows.day.cummax(), "the clock must not run back")
        if not rows.empty:
            times = (rows.day - rows.day.iloc[0]) * SECONDS_PER_DAY
            since = (rows.day.iloc[0] - DAY_OF_1970) * SECONDS_PER_DAY
            user, places = file.parent.parent.name, rows[["lat", "lon"]]
            yield RealTrace(user, times, places, name=file.stem, since=since)


def read_geolife_table(path: str | Path, *, bad_rows: BadRows | None = None) -> Iterator[RealTrace]:
    """Yield the same traces from one table with columns user, traj, lat, lon and days_1899."""
    for trace in read_trace_table(
        path, values=("lat", "lon"), time="days_1899", trace="traj", bad_rows=bad_rows
    ):
        since_first = (trace.times - trace.times[0]) * SECONDS_PER_DAY
        since = (trace.times[0] - DAY_OF_1970) * SECONDS_PER_DAY
        yield attrs.evolve(trace, times=since_first, columns=(), since=since)


def geolife_as_published(traces: Iterable[RealTrace]) -> list[RealTrace]:
    """Return the traces that the published length scales were fitted to, standardised.

    Each trace of (latitude, longitude) is mapped to metres; cut after 320 s; thinned to at most
    50 points; kept if its last point lies at least 240 s after its first fix; and scaled to mean
    zero and variance one in each coordinate (a coordinate that never changes drops the trace).
    Users with fewer than 10 such traces are dropped; of each other user the first 50 count, and of
    these the ones whose median time step is positive (the effective length scale divides by it).

    The thinning rule decides how many traces survive, by a factor of two: of N > 50 points it
    keeps the 50 numbered k, 2k, ..., 50k (from 1) with k = ⌊N / 50⌋, so that the end of the trace
    is lost where 50 does not divide N.
    """
    by_user: dict[str, list[RealTrace]] = defaultdict(list)
    for trace in traces:
        short = five_minutes(trace)
        if short is None:
            continue
        centred = short.values - short.values.mean(axis=0)
        spread = centred.std(axis=0)
        if spread.all():
            by_user[trace.user].append(attrs.evolve(short, values=centred / spread))
    return [
        trace
        for kept in by_user.values()
        if len(kept) >= FEWEST_TRACES
        for trace in kept[:MOST_TRACES]
        if np.median(np.diff(trace.times)) > 0
    ]


def five_minutes(trace: RealTrace) -> RealTrace | None:
    """Return the trace in metres from its first fix, cut and thinned; None if it is too short."""
    inside = np.flatnonzero(trace.times - trace.times[0] <= LONGEST)
    chosen = inside[_positions_kept(len(inside))]
    times = trace.times[chosen] - trace.times[0]
    if times[-1] < SHORTEST:
        return None
    places = metres(trace.values)
    own = places[chosen] - places[0]
    return attrs.evolve(trace, times=times, values=own, columns=(), since=0.0)


def _positions_kept(points: int, most: int = MOST_POINTS) -> NDArray[np.intp]:
    """Return which of `points` positions are kept: every k-th, k = ⌊points / most⌋, from k - 1 on.

    >>> from sfumato_papers.traces import _positions_kept
    >>> _positions_kept(7, most=3), _positions_kept(3, most=3)
    (array([1, 3, 5]), array([0, 1, 2]))
    """
    if points <= most:
        return np.arange(points)
    return np.arange(1, most + 1) * (points // most) - 1


def metres(degrees: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (latitude, longitude) as the published code maps it: R cos φ (cos λ, sin λ)."""
    phi, lam = np.radians(degrees).T
    ring = EARTH_RADIUS * np.cos(phi)
    return np.column_stack((ring * np.cos(lam), ring * np.sin(lam)))


GEOLIFE = Published(
    prepare=geolife_as_published,
    options={"noise": 0.0025, "normalise": True, "bounds": {"length_scale": (1.0, 40.0)}},
    note="240 to 320 s, at most 50 points, users with 10 traces or more, 50 of each",
)
is_table = has_columns("traj", "days_1899", "lat", "lon")

DINING_ROOM = "Temperature_Comedor_Sensor"
WEATHER = "Weather_Temperature"
PUBLISHED_ROWS = 800 + 10 * 192


def read_sml2010(
    path: str | Path, *, column: str = DINING_ROOM, bad_rows: BadRows | None = None
) -> RealTrace:
    """Return one column of a file as a trace; times are seconds since 1970.

    The header begins with ``#`` and two blanks, which are no columns: a reader that splits it at
    blanks shifts every name by two, and takes the weather forecast for the dining room.
    """
    lines = numbered_lines(path)
    header = next(lines, (1, ""))[1].split()
    names = [token.partition(":")[2] for token in header if ":" in token]
    converters = {column: finite, "Date": _seconds("%d/%m/%Y"), "Time": _seconds("%H:%M")}
    rows = read_rows(path, lines, names, converters, separator=None, bad_rows=bad_rows)
    times = rows.Date + rows.Time - _seconds("%H:%M")("00:00")
    return RealTrace(Path(path).stem, times, rows[column], named=False)


def _seconds(form: str) -> Callable[[str], float]:
    return lambda text: unix_seconds(datetime.strptime(text, form))  # noqa: DTZ007 - UTC there


def sml2010_as_published(trace: RealTrace) -> list[RealTrace]:
    """Return the ten windows of two days that the published length scales were fitted to.

    The first 800 rows are left out; a window is what lies strictly inside two days (191 rows);
    it is scaled to mean zero and variance one, then filtered and thinned to one value an hour
    (48 values, times 0, 1, ..., 47).

    Meehan and Chaudhuri (2021) meant the dining room, but the published code takes the column of
    the weather forecast (see `read_sml2010`): their quartiles come from `WEATHER`.
    """
    from scipy.signal import decimate

    if len(trace) < PUBLISHED_ROWS:
        raise DataError(
            f"the published preparation must have {PUBLISHED_ROWS} rows, as the first file of "
            f"SML2010 has; got {len(trace)}."
        )
    values = trace.values[800:, 0]
    windows = []
    for start in range(0, 1920, 192):
        window = values[start + 1 : start + 192]
        hourly = decimate((window - window.mean()) / window.std(), 4, ftype="iir")
        day = attrs.evolve(trace, times=np.arange(48.0), values=hourly, name=f"day {start // 96}")
        windows.append(day)
    return windows


SML2010 = Published(
    prepare=lambda traces: sml2010_as_published(*traces),
    reading={"column": WEATHER},
    options={
        "noise": 0.1,
        "normalise": False,  # the windows were scaled before they were filtered
        "variance": 1.0,
        "bounds": {"length_scale": (0.01, 100.0), "period": (16.0, 34.0)},
    },
    seconds=3600.0,
    note="ten windows of two days, one value an hour, of the weather forecast's column, which the "
    "published code takes for the dining room",
)
FORMATS = {
    "geolife": Format("traces", read_geolife, Path.is_dir, lambda _: True, GEOLIFE),
    "geolife-table": Format("traces", read_geolife_table, is_table, lambda _: True, GEOLIFE),
    "sml2010": Format(
        "traces", read_sml2010, lambda path: path.name.endswith(".T15.txt"), published=SML2010
    ),
}
