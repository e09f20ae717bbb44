"""`sfumato list`: everything registered."""

from __future__ import annotations

import inspect
import itertools

import click

from sfumato import compatibility
from sfumato.commands.arguments import with_plugins
from sfumato.plugin_registry import NOUNS, Registry, default_registry


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
    from rich.markup import escape
    from rich.table import Table

    registry = default_registry()
    console = Console()
    if compatible is not None:
        _print_compatible(registry, compatible, console)
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("noun", "name", "what it is", "from"):
        table.add_column(heading, overflow="fold")
    for kind in NOUNS:
        for name in registry.names(kind):
            entry = registry.entry(kind, name)
            summary = (inspect.getdoc(entry.value) or "").split("\n\n")[0].replace("\n", " ")
            table.add_row(kind, f"[bold]{name}[/bold]", escape(summary), entry.origin.split("'")[1])
    console.print(table)


def _print_compatible(registry: Registry, name: str, console: object) -> None:
    """Print, for each (prior, secret, mechanism) that fits, the measures that read it."""
    from rich.table import Table

    if name and not registry.find(name):
        kinds = [kind for kind in NOUNS if kind != "adversary"]
        known = sorted(n for kind in kinds for n in registry.names(kind))
        from sfumato.plugin_registry import did_you_mean

        raise click.UsageError(f"nothing is named '{name}'; {did_you_mean(name, known)}")
    table = Table(box=None, pad_edge=False)
    for heading in ("prior", "secret", "mechanism", "measures"):
        table.add_column(heading, overflow="fold")
    for prior, secret, mechanism, measures in compatible_scenarios(registry):
        if name in ("", prior, secret, mechanism):
            table.add_row(prior, secret, mechanism, ", ".join(measures))
        elif name in measures:
            table.add_row(prior, secret, mechanism, name)
    console.print(table)  # type: ignore[attr-defined]  # a rich console


def compatible_scenarios(registry: Registry) -> list[tuple[str, str, str, list[str]]]:
    """Return each (prior, secret, mechanism) that fits, with the measures that read it.

    Nothing is constructed: the classes' declared types decide.
    """
    fitting = []
    triples = itertools.product(*map(registry.names, ("prior", "secret", "mechanism")))
    for prior_name, secret_name, mechanism_name in triples:
        prior = registry.get("prior", prior_name)
        secret = registry.get("secret", secret_name)
        mechanism = registry.get("mechanism", mechanism_name)
        if compatibility.why_no_release(mechanism, prior, secret):
            continue
        measures = [
            name
            for name in registry.names("measure")
            if not compatibility.why_no_loss(
                registry.get("measure", name), prior, secret, mechanism.yields, mechanism_name
            )
        ]
        fitting.append((prior_name, secret_name, mechanism_name, measures))
    return fitting
