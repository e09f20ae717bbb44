"""Formats by name, the framework's and the plugins', and which one a path looks like."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import attrs

from sfumato.datasets.gpx import read_gpx
from sfumato.datasets.tables import (
    BadRows,
    read_state_table,
    read_trace_table,
    table_columns,
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
