"""Every format by name, and which one a path looks like."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import attrs

from sfumato.datasets.check_ins import read_foursquare, read_gowalla
from sfumato.datasets.geolife import read_geolife, read_geolife_table
from sfumato.datasets.gpx import read_gpx
from sfumato.datasets.homes import read_kasteren, read_ordonez
from sfumato.datasets.rows import BadRows
from sfumato.datasets.sml2010 import read_sml2010
from sfumato.datasets.tables import read_state_table, read_trace_table, table_columns
from sfumato.errors import DataError

Kind = Literal["traces", "sequences", "activities"]
Reader = Callable[..., Any]


@attrs.frozen
class Format:
    """How a data set is read, and what it holds."""

    kind: Kind
    reader: Reader

    def read(self, path: str | Path, bad_rows: BadRows) -> Iterator[Any]:
        """Yield the records."""
        found = self.reader(path, bad_rows=bad_rows)
        yield from found if isinstance(found, Iterator) else [found]


FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        "geolife": Format("traces", read_geolife),
        "geolife-table": Format("traces", read_geolife_table),
        "sml2010": Format("traces", read_sml2010),
        "gpx": Format("traces", read_gpx),
        "traces": Format("traces", read_trace_table),
        "states": Format("sequences", read_state_table),
        "gowalla": Format("sequences", read_gowalla),
        "foursquare": Format("sequences", read_foursquare),
        "ordonez": Format("activities", read_ordonez),
        "kasteren": Format("activities", read_kasteren),
    }
)


def format_of(path: str | Path) -> str:
    """Return the name of the format that a path looks like, or say which to choose from.

    >>> format_of("monday.gpx"), format_of("houseA.activities")
    ('gpx', 'kasteren')
    """
    path = Path(path)
    if path.is_dir():
        return "geolife"
    by_ending = {".gpx": "gpx", ".activities": "kasteren", ".npy": "foursquare"}
    if path.suffix in by_ending:
        return by_ending[path.suffix]
    if path.name.endswith("_ADLs.txt"):
        return "ordonez"
    if path.name.endswith(".T15.txt"):
        return "sml2010"
    if path.is_file():
        columns = set(table_columns(path))
        for name, needed in (
            ("geolife-table", {"traj", "days_1899", "lat", "lon"}),
            ("states", {"time", "state"}),
            ("traces", {"time", "x"}),
            ("traces", {"time", "lat", "lon"}),
        ):
            if needed <= columns:
                return name
    raise DataError(
        f"the format of {path.name} cannot be told; give --format with one of {', '.join(FORMATS)}."
    )
