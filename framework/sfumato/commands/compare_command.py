"""`sfumato compare [STUDY.toml]`: run a study and print its table."""

from __future__ import annotations

from pathlib import Path

import click

from sfumato.commands._plugins import with_plugins
from sfumato.plugin_registry import default_registry


@click.command("compare")
@with_plugins
@click.argument("study", required=False, type=click.Path(path_type=Path))
def command(study: Path | None) -> None:
    """Compare definitions side by side; without STUDY, on a bundled example of three worlds."""
    from rich.console import Console

    from sfumato.studies import default_study, read_study

    registry = default_registry()
    question = default_study(registry) if study is None else read_study(study, registry)
    console = Console()
    for part, comparison in question.run():
        console.rule(f"[bold]{part.title or question.title}")
        console.print(comparison)
