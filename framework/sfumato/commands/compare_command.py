"""`sfumato compare [STUDY.toml]`: run a study, print its tables, write its files."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sfumato.commands.arguments import FORMS, noun, print_json, with_json, with_plugins
from sfumato.commands.supervisor import INTERRUPTED
from sfumato.plugin_registry import Registry, default_registry
from sfumato.protocols import NOUNS
from sfumato.values import write_whole

if TYPE_CHECKING:
    from sfumato.comparison.study import Study, StudyResult


ENDINGS = {"--notebook": (".ipynb",), "--plot": (".pdf", ".png", ".svg")}

BESIDE = "beside the study"
"""What an output option holds that was given without a file."""


def is_study(file: Path | str) -> bool:
    """Whether a file is called as studies are."""
    return str(file).lower().endswith(".toml")


def beside(study: Path | None, file: Path | None, suffix: str) -> Path | None:
    """Return the file to write: as named, or named like the study where no name was given."""
    if file is None or str(file) != BESIDE:
        return file
    return (study or Path("sfumato-compare.toml")).with_suffix(suffix)


def check_outputs(files: Mapping[str, Path | None], read: Iterable[str]) -> None:
    """Refuse what could not be written, or would overwrite, before anything is computed.

    `files` are by option, and `read` is what the command may itself read.
    """
    inputs = [Path(text) for text in read if os.path.isfile(text)]  # noqa: PTH113 - any text
    outputs = {option: file for option, file in files.items() if file}
    for option, file in outputs.items():
        if not file.parent.is_dir():
            raise click.UsageError(f"{file} must be in a folder that exists; {file.parent} is not.")
        if is_study(file):
            raise click.UsageError(
                f"{option} must not be a study, to be overwritten; got {file}: write "
                "sfumato compare STUDY.toml, then the options."
            )
        if any(_same(file, other) for other in inputs):
            raise click.UsageError(f"{option} must not overwrite what is compared; got {file}.")
    for (one, file), (other, second) in itertools.combinations(outputs.items(), 2):
        if _same(file, second):
            raise click.UsageError(f"{one} and {other} must be two files; both are {file}.")
    for option, endings in ENDINGS.items():
        if option in outputs and outputs[option].suffix.lower() not in endings:
            raise click.UsageError(
                f"{option} must end in {', '.join(endings)}; got {outputs[option]}."
            )


def _same(one: Path, other: Path) -> bool:
    """Whether two names are of one file, also where one is a link to the other."""
    if one.exists() and other.exists():
        return one.samefile(other)
    return one.resolve() == other.resolve()


def write_output(file: Path, write: Callable[[Path], object]) -> bool:
    """Write a file beside its place, then move it there; say so, or that it could not be written.

    Another output may still be written where this one could not.
    """
    part = file.with_name(f".{file.stem}.part{file.suffix}")
    try:
        write(part)
        part.replace(file)
    except OSError as error:
        part.unlink(missing_ok=True)
        reason = os.strerror(error.errno) if error.errno else str(error)
        click.echo(f"sfumato: {file} cannot be written: {reason}.", err=True)
        return False
    click.echo(f"written: {file}", err=True)
    return True


_FILE = click.Path(path_type=Path, dir_okay=False)
_BESIDE: dict[str, Any] = {
    "type": _FILE, "is_flag": False, "flag_value": BESIDE, "metavar": "[FILE]"
}  # fmt: skip


@click.command("compare")
@with_plugins
@click.argument("study", required=False, type=click.Path(path_type=Path))
@click.option("--prior", "priors", multiple=True, help=f"In place of STUDY: {FORMS}.")
@click.option("--secret", "secrets", multiple=True, help="The same for secrets.")
@click.option("--mechanism", "mechanisms", multiple=True, help="The same for mechanisms.")
@click.option("--measure", "measures", multiple=True, help="The same for measures.")
@click.option("--html", type=_FILE, metavar="FILE", help="Write one self-contained page.")
@click.option(
    "--csv", **_BESIDE, help="Write the tidy table, a row a cell, beside the study or to FILE."
)
@click.option("--parquet", **_BESIDE, help="Write the tidy table as Parquet.")
@click.option("--plot", type=_FILE, metavar="FILE", help="Draw the losses (.svg, .pdf or .png).")
@click.option("--notebook", type=_FILE, metavar="FILE", help="Write the study as a notebook.")
@with_json
@click.option(
    "--jobs",
    type=click.IntRange(1),
    is_flag=False,
    flag_value=os.cpu_count() or 1,
    default=1,
    metavar="[N]",
    help="Worker processes to use; without N, one for each core.",
)
@click.option("--dask", metavar="ADDRESS", help="Run on the Dask cluster of this scheduler.")
@click.option(
    "--cache",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Where finished cells are kept; by default the user's cache folder.",
)
@click.option("--no-cache", is_flag=True, help="Keep nothing and compute everything.")
def command(  # noqa: PLR0917 - click passes one for each option, by name
    study: Path | None,
    priors: tuple[str, ...],
    secrets: tuple[str, ...],
    mechanisms: tuple[str, ...],
    measures: tuple[str, ...],
    html: Path | None,
    csv: Path | None,
    parquet: Path | None,
    plot: Path | None,
    jobs: int,
    dask: str | None,
    cache: Path | None,
    no_cache: bool,
    notebook: Path | None,
    as_json: bool,
) -> None:
    """Compare definitions side by side; without STUDY, on a bundled example of three worlds.

    STUDY is a TOML file, or the name of a study that a plugin brings.
    Instead of it, priors (such as the file that sfumato fit has written), secrets, mechanisms and
    measures can be given here, each as often as wanted.

    Finished cells are kept: the same command run again, also after Ctrl-C, goes on where it was.
    The exit status is 1 when a cell failed; that a definition does not apply is an answer.
    """
    from sfumato.comparison.cache import default_cache_folder
    from sfumato.report.notebook import notebook as notebook_text
    from sfumato.report.style import save_figure
    from sfumato.report.tables import without_formula

    csv, parquet = beside(study, csv, ".csv"), beside(study, parquet, ".parquet")
    check_outputs(
        {
            "--csv": csv,
            "--parquet": parquet,
            "--plot": plot,
            "--html": html,
            "--notebook": notebook,
        },
        read=(str(study), *priors, *secrets, *mechanisms, *measures),
    )
    if cache and no_cache:
        raise click.UsageError("give --cache DIR or --no-cache, not both.")
    given = {"prior": priors, "secret": secrets, "mechanism": mechanisms, "measure": measures}
    question = _question(study, given, default_registry())
    folder = None if no_cache else cache or default_cache_folder()
    result = _run(question, jobs=jobs, dask=dask, cache=folder, maps=html is not None)
    if as_json:
        print_json(_plain_result(result))
    else:
        _print(result)
    outputs: list[tuple[Path | None, Callable[[Path], object]]] = [
        (csv, lambda file: result.to_pandas().map(without_formula).to_csv(file, index=False)),
        (parquet, lambda file: result.to_pandas().to_parquet(file, index=False)),
        (plot, lambda file: save_figure(result.plot(), file)),
        (html, result.to_html),
        (notebook, lambda file: write_whole(file, notebook_text(question))),
    ]
    done = [write_output(file, write) for file, write in outputs if file]
    if not all(done):
        sys.exit(2)
    if any(comparison.failed for comparison in result.comparisons):
        sys.exit(1)


def _question(
    study: Path | None, given: Mapping[str, tuple[str, ...]], registry: Registry
) -> Study:
    """Return the study: in a file, a plugin's, the bundled one, or of nouns given instead."""
    from sfumato.comparison.study import Study
    from sfumato.comparison.study_files import bundled_study, default_study, read_study

    if not any(given.values()):
        if study is None:
            return default_study(registry)
        if str(study) in registry.names("study") and not study.exists():
            return bundled_study(str(study), registry)
        return read_study(study, registry)
    if study is not None or not all(given.values()):
        raise click.UsageError(
            "give a STUDY, or --prior, --secret, --mechanism and --measure, each once or more."
        )
    nouns = {
        NOUNS[kind].plural: [noun(kind, text, registry) for text in texts]
        for kind, texts in given.items()
    }
    return Study.from_table({"title": "Given on the command line", **nouns}, registry)


def _run(question: Study, *, cache: Path | None, **where: Any) -> StudyResult:
    """Run with live progress; Ctrl-C says how to go on."""
    from sfumato.comparison.executors import progress

    finished = [0, question.size]

    def note(done: int, total: int) -> None:
        finished[:] = [done, total]
        update(completed=done, total=total)

    try:
        with progress("cells") as update:
            return question.run(cache=cache, progress=note, **where)
    except KeyboardInterrupt:
        kept = "nothing was kept, as --no-cache says."
        if cache:
            kept = f"they are kept in {cache}, and the same command goes on from there."
        done, total = finished
        click.echo(f"interrupted: {done} of {total} cells are finished; {kept}", err=True)
        sys.exit(INTERRUPTED)


def _plain_result(result: StudyResult) -> dict[str, Any]:
    """Return the findings and the cells of every part in plain values."""
    parts = [
        {
            "title": comparison.title,
            "findings": list(comparison.findings),
            "cells": [cell.row() for cell in comparison.cells],
        }
        for comparison in result.comparisons
    ]
    return {"title": result.study.title, "seed": result.study.seed, "parts": parts}


def _print(result: StudyResult) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console()
    console.print(Text(result.study.title, style="bold"))
    if result.study.notes:
        console.print(Text(result.study.notes.strip()))
    for comparison in result.comparisons:
        console.print()
        if comparison.title != result.study.title:
            console.print(Text(comparison.title, style="bold underline"))
        console.print(comparison)
    for problem in result.problems:
        click.secho(f"sfumato: {problem}", err=True, fg="red")
