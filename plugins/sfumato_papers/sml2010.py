"""SML2010: the sensors of one house, a row every 15 minutes, and the windows that were fitted."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import numpy as np

from sfumato.datasets import BadRows, RealTrace
from sfumato.datasets.formats import Format, Published
from sfumato.datasets.tables import finite, numbered_lines, read_rows, unix_seconds
from sfumato.errors import DataError

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
    return RealTrace(Path(path).stem, times, rows[column])


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
        windows.append(RealTrace(trace.user, np.arange(48.0), hourly, name=f"day {start // 96}"))
    return windows


FORMATS = {
    "sml2010": Format(
        "traces",
        read_sml2010,
        lambda path: path.name.endswith(".T15.txt"),
        published=Published(
            prepare=lambda traces: sml2010_as_published(*traces),
            reading={"column": WEATHER},
            options={
                "noise": 0.1,
                "normalise": False,  # the windows were scaled before they were filtered
                "variance": 1.0,
                "bounds": {"length_scale": (0.01, 100.0), "period": (16.0, 34.0)},
            },
            note="ten windows of two days, one value an hour, of the weather forecast's column, "
            "which the published code takes for the dining room",
        ),
    )
}
