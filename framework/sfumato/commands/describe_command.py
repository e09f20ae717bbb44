"""`sfumato describe NAME`: signature, domains, formula and reference of one plugin."""

from __future__ import annotations

import inspect
from typing import Any

import click

from sfumato.commands.arguments import with_plugins
from sfumato.plugin_registry import NOUNS, Entry, default_registry, did_you_mean


@click.command("describe")
@with_plugins
@click.argument("name")
def command(name: str) -> None:
    """Describe the plugin NAME: what it takes, what it computes, where it comes from."""
    from rich.console import Console

    registry = default_registry()
    entries = [entry for entry in registry.find(name) if entry.kind in NOUNS]
    if not entries:
        known = [known for kind in NOUNS for known in registry.names(kind)]
        raise click.UsageError(f"nothing is named '{name}'; {did_you_mean(name, known)}")
    console = Console()
    for entry in entries:
        _describe(entry, console)


def _describe(entry: Entry, console: Any) -> None:
    from rich.markup import escape
    from rich.table import Table

    cls = entry.value
    console.print(f"[bold]{entry.name}[/bold]  ({entry.kind}, from {escape(entry.origin)})\n")
    document = (inspect.getdoc(cls) or "").split("\n>>>")[0].strip()
    console.print(escape(document), "")
    if cls.parameters():
        table = Table(box=None, pad_edge=False, title_justify="left")
        for heading in ("parameter", "must be", "default", "meaning"):
            table.add_column(heading, overflow="fold")
        for item in cls.parameters():
            default = "" if item.required else repr(item.default)
            table.add_row(
                item.name, escape(item.domain.sentence), escape(default), escape(item.doc)
            )
        console.print(table, "")
    for attribute in ("asks", "reads", "yields"):
        if hasattr(cls, attribute):
            console.print(f"{attribute}: {escape(_types(getattr(cls, attribute)))}")


def _types(value: Any) -> str:
    """Show declared types by their names."""
    if isinstance(value, type):
        return "anything" if value is object else value.__name__
    if isinstance(value, dict):
        return ", ".join(f"{_types(v)} of {_types(k)} beliefs" for k, v in value.items())
    return "; ".join(" + ".join(_types(item) for item in row) for row in value)
