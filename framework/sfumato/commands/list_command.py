"""`sfumato list`: everything registered, or what fits together."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterator

import click

from sfumato.commands.arguments import require_known, with_plugins
from sfumato.compatibility import why_no_loss, why_no_release
from sfumato.plugin_registry import Registry, default_registry
from sfumato.protocols import NOUNS

SUMMARY = ("noun", "name", "what it is", "from")
SCENARIO = ("prior", "secret", "mechanism", "measures")


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
def command(compatible: str | None) -> None:
    """List every registered prior, secret, mechanism, adversary and measure."""
    from rich.console import Console
    from rich.table import Table

    registry = default_registry()
    table = Table(box=None, pad_edge=False)
    for heading in SUMMARY if compatible is None else SCENARIO:
        table.add_column(heading, overflow="fold")
    for row in _summaries(registry) if compatible is None else _scenarios(registry, compatible):
        table.add_row(*row)
    Console().print(table)


def _summaries(registry: Registry) -> Iterator[tuple[str, ...]]:
    from rich.markup import escape

    for entry in (registry.entry(kind, name) for kind in NOUNS for name in registry.names(kind)):
        summary = (inspect.getdoc(entry.value) or "").split("\n\n")[0].replace("\n", " ")
        origin = entry.origin.split("'")[1]
        yield entry.kind, f"[bold]{entry.name}[/bold]", escape(summary), escape(origin)


def _scenarios(registry: Registry, name: str) -> Iterator[tuple[str, ...]]:
    """Yield each (prior, secret, mechanism) that fits, with the measures that apply to it."""
    if name:
        require_known(name, registry)
    for *triple, measures in compatible_scenarios(registry):
        if name in ("", *triple):
            yield *triple, ", ".join(measures)
        elif name in measures:
            yield *triple, name


def compatible_scenarios(registry: Registry) -> Iterator[tuple[str, str, str, list[str]]]:
    """Yield each (prior, secret, mechanism) that fits, with the measures that apply to it.

    Nothing is constructed: the classes' declared types decide.
    """
    kinds = [[registry.get(kind, name) for name in registry.names(kind)] for kind in NOUNS]
    priors, secrets, mechanisms, _, measures = kinds
    for prior, secret, mechanism in itertools.product(priors, secrets, mechanisms):
        if not why_no_release(mechanism, prior, secret):
            fitting = [
                measure.name
                for measure in measures
                if not why_no_loss(measure, prior, secret, mechanism.yields, mechanism.name)
            ]
            yield prior.name, secret.name, mechanism.name, fitting
