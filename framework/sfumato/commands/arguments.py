"""What several commands take: plugin files, nouns written in one line, and data files."""

from __future__ import annotations

import functools
import os
import tomllib
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import click

from sfumato.datasets import BadRows, LocalMetres, Preparation, RealTrace, StateSequence
from sfumato.datasets.formats import Format, Published, format_of, formats
from sfumato.errors import BrokenPluginWarning, DataError, ParameterError, did_you_mean
from sfumato.plugin_registry import ENVIRONMENT, Entry, Registry, table_of_text, use_registry
from sfumato.protocols import NOUNS

if TYPE_CHECKING:
    from rich.table import Table

PATH = click.Path(path_type=Path)
DATA = click.Path(exists=True, path_type=Path)


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


with_json = click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")


def print_json(value: Any) -> None:
    """Print plain values as JSON; infinities are the words "inf" and "-inf", NaN is null."""
    from sfumato.release.certificates import certificate_text

    click.echo(certificate_text(value))


def plain_table(*headings: str) -> Table:
    """Return an empty table without lines whose cells are never cut."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for heading in headings:
        table.add_column(heading, overflow="fold")
    return table


def require_known(name: str, registry: Registry) -> list[Entry]:
    """Return what is registered under a name, whatever its noun, or say what was meant."""
    found = [entry for entry in registry.find(name) if entry.kind in NOUNS]
    if not found:
        known = [one for kind in NOUNS for one in registry.names(kind)]
        raise click.UsageError(f"nothing is named '{name}'; {did_you_mean(name, known)}")
    return found


FORMS = "a name and parameters (such as rbf length_scale=3 times=50), a table, or a .toml file"


def noun(kind: str, text: str, registry: Registry) -> Any:
    """Build what `specification` says."""
    return registry.build(kind, specification(kind, text))


def specification(kind: str, text: str) -> dict[str, Any]:
    """Return the plain table of a noun.

    Three forms: a name with ``key=value`` pairs, whose values are TOML; an inline TOML table;
    the name of a TOML file with a table of that kind, as ``sfumato fit`` writes it.

    >>> from sfumato.commands.arguments import specification
    >>> specification("secret", "basic index=24 radius=0.5")
    {'name': 'basic', 'index': 24, 'radius': 0.5}
    >>> specification("secret", '{ name = "contexts", states = ["bar"] }')
    {'name': 'contexts', 'states': ['bar']}
    """
    words = text.strip()
    if words.endswith(".toml"):
        table = _read(Path(words))
        if kind not in table:
            raise DataError(f"{words} must have a table [{kind}]; got {', '.join(table)}.")
        return dict(table[kind])
    expected = f"the {kind} must be {FORMS}"
    if words.startswith("{"):
        return dict(_parse(f"noun = {words}", expected)["noun"])
    try:
        return table_of_text(words)
    except ParameterError as error:
        raise DataError(f"the {kind}: {error}") from None


def preparation_of(text: str) -> Preparation:
    """Return how the traces were prepared that a prior was fitted to, where its file says so."""
    path = Path(text.strip())
    table = _read(path).get("preparation", {}) if path.suffix == ".toml" else {}
    try:
        return Preparation(**table)
    except TypeError:
        raise DataError(
            f"{path.name} must have the [preparation] that sfumato fit has written; got others."
        ) from None


def _read(path: Path) -> dict[str, Any]:
    return _parse(path.read_text(encoding="utf-8"), f"{path.name} must be TOML")


def _parse(toml: str, expected: str) -> dict[str, Any]:
    try:
        return tomllib.loads(toml)
    except RecursionError:
        raise DataError(f"{expected}; got one that is nested too deeply.") from None
    except ValueError as error:
        raise DataError(f"{expected}; got something else: {error}.") from None


@attrs.frozen
class Source:
    """A data file and how it is to be read."""

    path: Path
    form: str
    minutes: int
    flat: LocalMetres | None
    bad_rows: BadRows

    @property
    def format(self) -> Format:
        """How the file is read."""
        return formats()[self.form]

    def records(self) -> Iterator[Any]:
        """Yield traces (in metres where asked for) or sequences."""
        if self.flat is not None and not self.format.in_degrees(self.path):
            raise DataError(
                f"--metres must have data in degrees, (latitude, longitude); got {self.path.name}."
            )
        for record in self.format.read(self.path, self.bad_rows, minutes=self.minutes):
            flat = isinstance(record, RealTrace) and self.flat
            yield attrs.evolve(record, values=flat.metres(record.values)) if flat else record

    def published(self, user: str | None) -> list[Any]:
        """Return the records, or those of one user, as the literature has prepared them."""
        recipe = self.recipe
        prepared = recipe.prepare(self.format.read(self.path, self.bad_rows, **recipe.reading))
        kept = [record for record in prepared if user in (None, record.user)]
        if not kept:
            raise DataError(
                f"the published preparation must leave a trace{f' of {user}' if user else ''}; it "
                f"leaves none of {self.path.name} ({recipe.note}): fit without --published."
            )
        return kept

    @property
    def recipe(self) -> Published:
        """How the literature prepares such data."""
        if self.format.published is None:
            known = [name for name, form in formats().items() if form.published]
            raise click.UsageError(
                f"--published must have one of {', '.join(known)}; got {self.form}."
            )
        return self.format.published

    def of_user(self, records: Iterable[Any], user: str | None) -> list[RealTrace | StateSequence]:
        """Return the records, only those of `user` where one is named; say what was skipped."""
        found = [record for record in records if user is None or record.user == user]
        if not found:
            raise DataError(f"the data must have a trace{f' of {user}' if user else ''}; got none.")
        if bad := self.bad_rows.count:
            click.echo(f"{bad} bad rows were skipped; the first: {self.bad_rows.first}", err=True)
        return found


def _known_format(_context: click.Context, _option: click.Parameter, name: str | None) -> Any:
    if name is not None and name not in formats():
        raise click.BadParameter(f"there is no format '{name}'; {did_you_mean(name, formats())}")
    return name


def with_source(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say how data are read, and give the command ``source(path)``."""

    @click.option(
        "--format",
        "form",
        metavar="NAME",
        callback=_known_format,
        help="Data format (gpx, states, traces, or a plugin's); told from the file by default.",
    )
    @click.option("--skip-bad", is_flag=True, help="Leave out bad rows, with a count.")
    @click.option("--minutes", type=int, help="Step of a home's days; 30, or as the prior has.")
    @click.option(
        "--metres",
        "latitude",
        type=float,
        metavar="LATITUDE",
        help="Map degrees to metres around this public latitude; or as the prior has.",
    )
    @functools.wraps(function)
    def wrapped(
        *,
        form: str | None,
        skip_bad: bool,
        minutes: int | None,
        latitude: float | None,
        **others: Any,
    ) -> Any:
        def source(path: Path, fitted: Preparation = Preparation()) -> Source:  # noqa: B008 - frozen
            step = _as_fitted("--minutes", minutes, fitted.minutes)
            north = _as_fitted("--metres", latitude, fitted.metres)
            flat = None if north is None else LocalMetres(north)
            bad_rows = BadRows(skip=skip_bad)
            return Source(path, form or format_of(path), step or 30, flat, bad_rows)

        return function(source=source, **others)

    return wrapped


def _as_fitted(option: str, given: float | None, fitted: float | None) -> Any:
    """Return what an option says, or what the prior was fitted with; refuse two answers."""
    if given is not None and fitted is not None and given != fitted:
        raise DataError(f"{option} must be {fitted:g}, as the prior was fitted; got {given:g}.")
    return fitted if given is None else given
