"""`sfumato verify`: every law on every plugin, with counterexamples as scripts."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sfumato.commands.arguments import with_plugins

if TYPE_CHECKING:
    from rich.console import Console
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
    _require_hypothesis()
    from rich.console import Console

    from sfumato.laws.verification import verify

    console = Console(stderr=as_json)
    with _progress(console, quiet=as_json) as advance:
        found = verify(
            *names,
            profile=profile,
            audit=audit,
            workers=workers or os.cpu_count() or 1,
            progress=advance,
            kept=examples,
        )
    if as_json:
        click.echo(json.dumps(_plain(found), indent=1))
    else:
        _print(found, console)
    sys.exit(0 if found.ok else 1)


def _require_hypothesis() -> None:
    try:
        import hypothesis  # noqa: F401 - only whether it is there
    except ImportError:
        raise click.UsageError(
            "verify needs Hypothesis; install it with: pip install 'sfumato[laws]'"
        ) from None


@contextmanager
def _progress(console: Console, *, quiet: bool) -> Iterator[Any]:
    """Show how far the trials are, and the violations so far."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console, transient=True, disable=quiet) as bar:
        task = bar.add_task("verifying", total=None)
        broken = Counter[str]()

        def advance(done: int, total: int, verdict: Verdict) -> None:
            broken[verdict.outcome] += 1
            failed = broken["violated"] + broken["unverified"]
            words = f"{failed} failed  {verdict.case}"
            bar.update(task, completed=done, total=total, description=words)

        yield advance


def _plain(found: Verification) -> dict[str, Any]:
    return {
        "ok": found.ok,
        "unneeded": list(found.unneeded),
        "verdicts": [verdict.row() for verdict in found.verdicts],
    }


def _print(found: Verification, console: Console) -> None:
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
