"""`sfumato reproduce [NAME]`: the figures and tables of the papers, computed again."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import click

from sfumato.commands.arguments import DATA, PATH, plain_table, print_json, with_json, with_plugins
from sfumato.errors import DataError, did_you_mean
from sfumato.plugin_registry import Registry, default_registry


@click.command("reproduce")
@with_plugins
@click.argument("names", nargs=-1)
@click.option(
    "--folder", "-o", type=PATH, default="figures", show_default=True,
    help="Where tables and pictures go.",
)  # fmt: skip
@click.option("--data", type=DATA, help="Your own copy of the data, for figures that need one.")
@click.option("--ours", is_flag=True, help="Leave out the published programs.")
@click.option("--jobs", type=click.IntRange(1), help="Processes; one for each core by default.")
@with_json
def command(
    *,
    names: tuple[str, ...],
    folder: Path,
    data: Path | None,
    ours: bool,
    jobs: int | None,
    as_json: bool,
) -> None:
    """Compute published figures again: their numbers, a picture, and what differs and why.

    Without NAMES, list them. A name stands for every figure that begins with it.
    """
    from sfumato.figures import FigureRequest, account_text, write_drawing

    registry = default_registry()
    if not names:
        _list(registry, as_json=as_json)
        return
    request = FigureRequest(data=data, ours=ours, jobs=jobs or os.cpu_count() or 1)
    missing, done = False, []
    for name in _matching(registry, names):
        figure = registry.get("figure", name)
        began = time.perf_counter()
        try:
            drawing = figure.compute(request)
        except DataError as error:  # the others may do without these data
            click.echo(f"sfumato: {name}: {error}\n", err=True)
            missing = True
            continue
        paths = write_drawing(drawing, folder, name, figure.reference)
        written = list(map(str, paths))
        told = {"name": name, "reference": figure.reference, "account": drawing.account}
        done.append({**told, "written": written})
        if as_json:
            continue
        click.echo(account_text(drawing, figure.reference), nl=False)
        spent = time.perf_counter() - began
        click.echo(f"Written in {spent:.1f} s: {', '.join(written)}\n")
    if as_json:
        print_json(done)
    if missing:
        sys.exit(2)


def _matching(registry: Registry, names: tuple[str, ...]) -> list[str]:
    """Return every figure that a name is, or that begins with it."""
    known = registry.names("figure")
    chosen: dict[str, None] = {}
    for name in names:
        matches = [name] if name in known else [one for one in known if one.startswith(name)]
        if not matches:
            raise click.UsageError(f"there is no figure '{name}'; {did_you_mean(name, known)}")
        chosen.update(dict.fromkeys(matches))
    return list(chosen)


def _list(registry: Registry, *, as_json: bool) -> None:
    from rich.console import Console

    if as_json:
        figures = {name: registry.get("figure", name) for name in registry.names("figure")}
        told = [
            {"name": name, "reference": figure.reference, "needs": figure.needs}
            for name, figure in figures.items()
        ]
        print_json(told)
        return

    table = plain_table("name", "what it is", "")
    notes: dict[str, str] = {}  # what each kind of data is, below the table
    for name in registry.names("figure"):
        figure = registry.get("figure", name)
        mark = notes.setdefault(figure.needs, "*" * (len(notes) + 1)) if figure.needs else ""
        table.add_row(f"[bold]{name}[/bold]", figure.reference, mark)
    console = Console()
    console.print(table)
    for needs, mark in notes.items():
        console.print(f"{mark} takes data of yours with --data: {needs}")
