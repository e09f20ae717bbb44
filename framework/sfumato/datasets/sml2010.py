"""SML2010: the sensors of one house, a row every 15 minutes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from sfumato.datasets.records import RealTrace
from sfumato.datasets.rows import BadRow, BadRows, dated_seconds, finite, numbered_lines
from sfumato.errors import DataError

DINING_ROOM = "Temperature_Comedor_Sensor"
WEATHER = "Weather_Temperature"
PUBLISHED_ROWS = 800 + 10 * 192
DATE = "%d/%m/%Y %H:%M"


def read_sml2010(
    path: str | Path, *, column: str = DINING_ROOM, bad_rows: BadRows | None = None
) -> RealTrace:
    """Return one column of a file as a trace; times are seconds since 1970.

    The header begins with ``#`` and two blanks, which are no columns: a reader that splits it at
    blanks shifts every name by two, and takes the weather forecast for the dining room.
    """
    lines = numbered_lines(path)
    names = _names(next(lines, (1, ""))[1])
    if column not in names:
        raise BadRow(
            f"{Path(path).name}, line 1: the header must have a column '{column}'; got "
            f"{', '.join(names) or 'none'}."
        )
    policy = BadRows() if bad_rows is None else bad_rows
    rows = list(policy.parsed(path, lines, _row_reader(names.index(column), len(names))))
    return RealTrace(Path(path).stem, [row[0] for row in rows], [row[1] for row in rows])


def sml2010_as_published(trace: RealTrace) -> list[RealTrace]:
    """Return the ten windows of two days that the published length scales were fitted to.

    The first 800 rows are left out; a window is what lies strictly inside two days (191 rows);
    it is scaled to mean zero and variance one, then filtered and thinned to one value an hour
    (48 values, times 0, 1, ..., 47).

    Meehan and Chaudhuri (2021) meant the dining room, but the published code reads the column of
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
        scaled = (window - window.mean()) / window.std()
        hourly = decimate(scaled, 4, ftype="iir")
        windows.append(RealTrace(trace.user, np.arange(48.0), hourly, name=f"day {start // 96}"))
    return windows


def _names(header: str) -> list[str]:
    """Return the names of "#  1:Date 2:Time ..." without the marks and numbers."""
    return [token.partition(":")[2] for token in header.split() if ":" in token]


def _row_reader(place: int, width: int) -> Callable[[str], tuple[float, float]]:
    def parse(line: str) -> tuple[float, float]:
        cells = line.split()
        if len(cells) != width:
            raise ValueError(f"a row must have {width} fields; got {len(cells)}")
        return dated_seconds(f"{cells[0]} {cells[1]}", DATE), finite(cells[place])

    return parse
