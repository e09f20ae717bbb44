"""The option that every command has: one-file plugins."""

from __future__ import annotations

import os
import re
import tomllib
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import click

from sfumato.datasets import ActivityLog, BadRows, RealTrace, StateSequence
from sfumato.datasets.formats import FORMATS, format_of
from sfumato.datasets.records import LocalMetres
from sfumato.datasets.tables import table_columns
from sfumato.errors import BrokenPluginWarning, DataError
from sfumato.plugin_registry import ENVIRONMENT, Registry, use_registry


def with_plugins(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--plugin FILE`` to a command and load the registry with those files."""
    return click.option(
        "--plugin",
        "plugin_files",
        multiple=True,
        metavar="FILE",
        expose_value=False,
        is_eager=True,
        type=click.Path(dir_okay=False),
        callback=_load,
        help="Load a one-file plugin; may be given several times.",
    )(function)


def _load(_context: click.Context, _option: click.Parameter, files: tuple[str, ...]) -> None:
    named = [path for path in os.environ.get(ENVIRONMENT, "").split(os.pathsep) if path]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BrokenPluginWarning)  # reported below, in one line each
        registry = Registry.load([*named, *files])
    use_registry(registry)
    for problem in registry.problems:
        click.secho(f"plugin {problem.origin} was skipped: {problem.reason}", err=True, fg="yellow")


FORMS = "a name and parameters (basic index=24 radius=0.5), an inline table, or a .toml file"


def noun(kind: str, text: str, registry: Registry) -> Any:
    """Build one noun from what was written: see `specification`."""
    return registry.build(kind, specification(kind, text))


def specification(kind: str, text: str) -> dict[str, Any]:
    """Return the plain table of a noun.

    Three forms: a name with ``key=value`` pairs, whose values are TOML; an inline TOML table;
    the name of a TOML file with a table of that kind, as ``sfumato fit`` writes it.

    >>> specification("secret", "basic index=24 radius=0.5")
    {'name': 'basic', 'index': 24, 'radius': 0.5}
    >>> specification("secret", '{ name = "contexts", states = ["bar"] }')
    {'name': 'contexts', 'states': ['bar']}
    """
    words = text.strip()
    if words.endswith(".toml"):
        return _from_file(kind, Path(words))
    if words.startswith("{"):
        return dict(_table(kind, f"noun = {words}", text)["noun"])
    name, *pairs = re.split(r"\s+(?=\w+\s*=)", words)
    return {"name": name, **_table(kind, "\n".join(pairs), text)}


def fitted_step(text: str) -> float | None:
    """Return the seconds between samples that a prior was fitted to, where its file says so."""
    words = text.strip()
    if not words.endswith(".toml"):
        return None
    step = _read(Path(words)).get("fitted", {}).get("seconds_per_sample")
    return None if step is None else float(step)


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"{path.name} is not TOML: {error}.") from None


def _from_file(kind: str, path: Path) -> dict[str, Any]:
    table = _read(path)
    if kind not in table:
        raise DataError(f"{path.name} must have a table [{kind}]; got {', '.join(table)}.")
    return dict(table[kind])


def _table(kind: str, toml: str, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(toml)
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"the {kind} must be {FORMS}; got {text!r} ({error}).") from None


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
