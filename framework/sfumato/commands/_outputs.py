"""The files that `sfumato compare` writes: where they go, and what they may not overwrite."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import click

FIGURES = (".pdf", ".png", ".svg")

BESIDE = "beside the study"
"""What an output option holds that was given without a file."""

VALUE_OPTIONAL = ("--csv", "--parquet", "--jobs")
STUDY = ".toml"


class StudyAnywhere(click.Command):
    """A command whose STUDY may also follow an option that can go without its value."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse, the study first."""
        return super().parse_args(ctx, study_first(args))


def study_first(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with the study before an option that would take it for its value.

    >>> study_first(["--csv", "study.toml", "--html", "page.html"])
    ['study.toml', '--csv', '--html', 'page.html']
    """
    studies = [place for place, text in enumerate(arguments) if is_study(text)]
    if len(studies) != 1 or arguments[max(0, studies[0] - 1)] not in VALUE_OPTIONAL:
        return list(arguments)
    (place,) = studies
    return [arguments[place], *arguments[:place], *arguments[place + 1 :]]


def is_study(file: Path | str) -> bool:
    """Whether a file is called as studies are."""
    return str(file).lower().endswith(STUDY)


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
    _check_plot(outputs.get("--plot"))
    if "--parquet" in outputs:
        try:
            import pyarrow as pa  # noqa: F401 - only whether it is there
        except ImportError:
            raise click.UsageError(
                "--parquet must have the package 'pyarrow'; install sfumato[parquet]."
            ) from None


def _check_plot(plot: Path | None) -> None:
    if plot and plot.suffix.lower() not in FIGURES:
        raise click.UsageError(f"--plot must end in {', '.join(FIGURES)}; got {plot}.")


def _same(one: Path, other: Path) -> bool:
    """Whether two names are of one file, also where one is a link to the other."""
    if one.exists() and other.exists():
        return one.samefile(other)
    return one.resolve() == other.resolve()


def written(file: Path, write: Callable[[Path], object]) -> bool:
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
