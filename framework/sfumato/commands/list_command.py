"""`sfumato list`: everything registered, or what fits together."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterator

import click

from sfumato.commands.arguments import plain_table, require_known, with_plugins
from sfumato.compatibility import why_no_loss, why_no_release
from sfumato.plugin_registry import Registry, default_registry
from sfumato.protocols import NOUNS


@click.command("list")
@with_plugins
@click.option(
    "--compatible",
    is_flag=False,
    flag_value="",
    default=None,
    metavar="[NAME]",
    help="Show which combinations fit together, all of them or those with NAME.",
)
@click.option(
    "--matrix",
    is_flag=True,
    help="Show which definition can be read in which world, tried on small scenarios.",
)
def command(compatible: str | None, *, matrix: bool) -> None:
    """List every registered prior, secret, mechanism, adversary and measure."""
    from rich.console import Console

    registry = default_registry()
    if matrix:
        _print_matrix(registry)
        return
    if compatible is None:
        table, rows = plain_table("noun", "name", "what it is", "from"), _summaries(registry)
    else:
        table = plain_table(*list(NOUNS)[:3], "measures")
        rows = _scenarios(registry, compatible)
    for row in rows:
        table.add_row(*row)
    Console().print(table)


def _summaries(registry: Registry) -> Iterator[tuple[str, ...]]:
    from rich.markup import escape

    for entry in (registry.entry(kind, name) for kind in NOUNS for name in registry.names(kind)):
        summary = (inspect.getdoc(entry.value) or "").split("\n\n")[0].replace("\n", " ")
        origin = entry.origin.split("'")[1]
        yield entry.kind, f"[bold]{entry.name}[/bold]", escape(summary), escape(origin)


def _scenarios(registry: Registry, name: str) -> Iterator[tuple[str, ...]]:
    """Yield each (prior, secret, mechanism) that fits, with the measures that apply to it.

    Nothing is constructed: the classes' declared types decide.
    """
    if name:
        require_known(name, registry)
    kinds = [[registry.get(kind, one) for one in registry.names(kind)] for kind in NOUNS]
    priors, secrets, mechanisms, _, measures = kinds
    for prior, secret, mechanism in itertools.product(priors, secrets, mechanisms):
        if why_no_release(mechanism, prior, secret):
            continue
        fitting = [
            measure.name
            for measure in measures
            if not why_no_loss(measure, prior, secret, mechanism.yields, mechanism.name)
        ]
        triple = (prior.name, secret.name, mechanism.name)
        if name in ("", *triple):
            yield *triple, ", ".join(fitting)
        elif name in fitting:
            yield *triple, name


def _print_matrix(registry: Registry) -> None:
    """Print definitions by worlds, with a numbered reason for each that is impossible."""
    from rich.console import Console

    from sfumato.comparison.matrix import MARKS, definitions_by_world

    places = definitions_by_world(registry)
    worlds = list(dict.fromkeys(place.world for place in places))
    table = plain_table("definition", *worlds)
    table.columns[0].no_wrap = True
    reasons: dict[str, int] = {}
    rows: dict[str, dict[str, str]] = {}
    for place in places:
        mark = MARKS[place.standing]
        if place.standing == "impossible":
            mark += f" {reasons.setdefault(place.reason, len(reasons) + 1)}"
        rows.setdefault(place.measure, {})[place.world] = mark
    for measure in sorted(rows):
        table.add_row(measure, *(rows[measure][world] for world in worlds))
    console = Console()
    console.print(table)
    console.print("● exact   ◐ bounded   – impossible, because:")
    for reason, number in reasons.items():
        console.print(f"{number:>3}  {reason}", highlight=False, markup=False)
