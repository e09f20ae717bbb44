"""The options of commands that read data, and the records they give."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import click

from sfumato.datasets import ActivityLog, BadRows, RealTrace, StateSequence
from sfumato.datasets.formats import FORMATS, format_of
from sfumato.datasets.local_metres import LocalMetres
from sfumato.datasets.tables import table_columns
from sfumato.errors import DataError


@attrs.frozen
class Source:
    """A data file and how it is to be read."""

    path: Path
    form: str
    minutes: int
    latitude: float | None
    bad_rows: BadRows

    @property
    def kind(self) -> str:
        """What the file holds: traces, sequences or activities."""
        return FORMATS[self.form].kind

    @property
    def flat(self) -> LocalMetres | None:
        """The map to metres, where one was asked for."""
        return None if self.latitude is None else LocalMetres(self.latitude)

    def records(self) -> Iterator[Any]:
        """Yield traces (in metres where asked for) or sequences; activities as days."""
        if self.flat is not None and not self._in_degrees():
            raise DataError(
                f"--metres must have data in degrees, (latitude, longitude); got {self.path.name}, "
                f"which has none."
            )
        for record in FORMATS[self.form].read(self.path, self.bad_rows):
            if isinstance(record, ActivityLog):
                yield from record.day_streams(minutes=self.minutes)
            elif isinstance(record, RealTrace) and self.flat is not None:
                yield attrs.evolve(record, values=self.flat.metres(record.values))
            else:
                yield record

    def _in_degrees(self) -> bool:
        if self.form == "traces":
            columns = set(table_columns(self.path))
            return not columns & {"x", "y", "z"}
        return self.form in {"gpx", "geolife", "geolife-table"}

    def report_skipped(self) -> None:
        """Say how many rows were left out."""
        if self.bad_rows.count:
            click.echo(
                f"{self.bad_rows.count} bad rows were skipped; the first: {self.bad_rows.first}",
                err=True,
            )


def with_source(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say how data are read."""
    for option in reversed(
        (
            click.option("--format", "form", type=click.Choice(list(FORMATS)), help="Data format."),
            click.option("--skip-bad", is_flag=True, help="Leave out bad rows, with a count."),
            click.option(
                "--minutes", default=30, show_default=True, help="Step of an activity home's days."
            ),
            click.option(
                "--metres",
                "latitude",
                type=float,
                metavar="LATITUDE",
                help="Map (latitude, longitude) to metres around this public latitude.",
            ),
        )
    ):
        function = option(function)
    return function


def source(
    path: Path, form: str | None, minutes: int, latitude: float | None, *, skip_bad: bool
) -> Source:
    """Return the source; the format is told from the path where it is not given."""
    return Source(path, form or format_of(path), minutes, latitude, BadRows(skip=skip_bad))


def user_records(records: Iterator[Any], user: str | None) -> list[RealTrace | StateSequence]:
    """Return the records, only those of `user` where one is named."""
    found = [record for record in records if user is None or record.user == user]
    if not found:
        raise DataError(f"the data must have a trace{f' of {user}' if user else ''}; got none.")
    return found
