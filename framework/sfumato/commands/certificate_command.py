"""`sfumato certificate check`: prove again what a certificate says, by a file that stands alone."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from sfumato.commands import WholeSentences
from sfumato.commands.arguments import DATA, with_json


@click.group("certificate", cls=WholeSentences)
def command() -> None:
    """Check a certificate, without trusting who wrote it."""


@command.command("check")
@click.argument("certificate", required=False, type=DATA)
@click.option("--trace", type=DATA, help="The released trace that it came with.")
@click.option("--ledger", type=DATA, help="The ledger that it was counted in.")
@with_json
@click.option("--program", is_flag=True, help="Print the checker itself: one file of plain Python.")
def check(
    certificate: Path | None,
    trace: Path | None,
    ledger: Path | None,
    *,
    as_json: bool,
    program: bool,
) -> None:
    """Prove in exact arithmetic what CERTIFICATE claims, and compare its hashes.

    Whatever is not of a kind that is proved is listed as not checked. The exit status is 0 only if
    something was proved and nothing is false. The checker is one file on Python's standard library
    alone: with --program it is printed, to be read and run where sfumato is not.
    """
    from sfumato.release import checker

    if program:
        click.echo(Path(checker.__file__).read_text(encoding="utf-8"), nl=False)
        return
    if certificate is None:
        raise click.UsageError("name a CERTIFICATE, or give --program.")
    given = {"--trace": trace, "--ledger": ledger}
    options = [part for key, path in given.items() if path for part in (key, str(path))]
    sys.exit(checker.main([str(certificate), *options, *(["--json"] if as_json else [])]))
