"""`sfumato verify`: every law on every plugin, with counterexamples as scripts."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sfumato.commands.arguments import with_plugins

if TYPE_CHECKING:
    from rich.table import Table

    from sfumato.laws.trial import Verdict
    from sfumato.laws.verification import Verification

MARKS = {
    "holds": ("✓", "green"),
    "does not apply": ("·", "dim"),
    "violated": ("✗", "bold red"),
    "unverified": ("?", "bold red"),
    "expected failure": ("e", "yellow"),
}
"""How every outcome is shown: a character and its style."""


@click.command("verify")
@with_plugins
@click.argument("names", nargs=-1, metavar="[NAME ...]")
@click.option(
    "--profile",
    type=click.Choice(["quick", "default", "thorough"]),
    default="default",
    show_default=True,
    help="How hard to look.",
)
@click.option("--audit", is_flag=True, help="Sample releases and try to reject claimed losses.")
@click.option("--json", "as_json", is_flag=True, help="Print the verdicts as JSON.")
@click.option(
    "--workers",
    type=click.IntRange(1),
    default=None,
    help="Processes to use; as many as there are cores by default.",
)
@click.option(
    "--examples",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(".sfumato") / "counterexamples",
    show_default=True,
    help="Where counterexamples are kept; they are tried first the next time.",
)
def command(
    *,
    names: tuple[str, ...],
    profile: str,
    audit: bool,
    as_json: bool,
    workers: int | None,
    examples: Path,
) -> None:
    """Try every law on every plugin, or on those NAMEd; a NAME can also be a law's.

    The exit status is 1 if a law is violated, if a measure calls exact what no brute force can
    check, or if what is declared an expected failure does not fail.
    """
    from sfumato.comparison.executors import progress
    from sfumato.laws.verification import verify

    failed = 0
    with progress("verifying") as update:

        def advance(done: int, total: int, verdict: Verdict) -> None:
            nonlocal failed
            failed += verdict.fails
            words = f"{failed} failed  {verdict.case}"
            update(completed=done, total=total, description=words)

        found = verify(
            *names,
            profile=profile,
            audit=audit,
            workers=workers or os.cpu_count() or 1,
            isolated=True,
            progress=advance,
            kept=examples,
        )
    if as_json:
        rows = [verdict.row() for verdict in found.verdicts]
        plain = {"ok": found.ok, "unneeded": list(found.unneeded), "verdicts": rows}
        click.echo(json.dumps(plain, indent=1))
    else:
        _print(found)
    sys.exit(0 if found.ok else 1)


def _print(found: Verification) -> None:
    from rich.console import Console

    console = Console()
    console.print(_matrix(found))
    counts = Counter[str](verdict.outcome for verdict in found.verdicts)
    console.print(
        ", ".join(f"{counts[outcome]} {outcome}" for outcome in MARKS if counts[outcome])
        or "no law applies"
    )
    for verdict in found.verdicts:
        if verdict.outcome in ("expected failure", "does not apply"):
            style = MARKS[verdict.outcome][1]
            sentence = f"{verdict.outcome} {verdict.case}: {verdict.message}"
            console.print(sentence, style=style, markup=False)
    for sentence in found.unneeded:
        console.print(sentence, style="bold red", markup=False)
    for verdict in found.failures:
        console.rule(f"[bold red]{verdict.case.law.name}: {verdict.case.label}")
        console.print(verdict.message, markup=False, highlight=False)
        if verdict.script:
            console.print("The smallest counterexample found, to paste and run:\n", style="dim")
            click.echo(verdict.script)


def _matrix(found: Verification) -> Table:
    """Return one row for each law, with a mark for each case and its name where it matters."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for heading in ("law", "cases", "not plain"):
        table.add_column(heading, overflow="fold")
    rows: dict[str, list[Verdict]] = defaultdict(list)
    for verdict in found.verdicts:
        rows[verdict.case.law.name].append(verdict)
    for name, verdicts in rows.items():
        marks = Text.assemble(*(MARKS[verdict.outcome] for verdict in verdicts))
        plain = ("holds", "does not apply")
        notable = [verdict.case.label for verdict in verdicts if verdict.outcome not in plain]
        table.add_row(name, marks, " ".join(notable))
    return table
