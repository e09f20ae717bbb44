"""The command line: one file for each subcommand, found by its name."""

from __future__ import annotations

import importlib
import pkgutil
import sys

import click

from sfumato import __version__, errors
from sfumato.commands.supervisor import INTERRUPTED, supervise

SUFFIX = "_command"
COMPLETION = """\b
Tab completes commands and options after, in bash (or zsh, fish):
  eval "$(_SFUMATO_COMPLETE=bash_source sfumato)"
"""


class WholeSentences(click.Group):
    """A group that lists its commands with whole sentences and knows near misses of their names."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands with whole sentences, broken but never cut."""
        found = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, command.get_short_help_str(10**4)) for name, command in found if command]
            )

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command, or say which was meant."""
        known = self.list_commands(ctx)
        if not ctx.resilient_parsing and not args[0].startswith("-") and args[0] not in known:
            said = errors.did_you_mean(args[0], known)
            raise click.UsageError(f"there is no command named '{args[0]}'; {said}", ctx)
        return super().resolve_command(ctx, args)


class Commands(WholeSentences):
    """A group whose subcommands are the modules NAME_command of this package."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        del ctx
        names = (module.name for module in pkgutil.iter_modules(__path__))
        return sorted(name[: -len(SUFFIX)] for name in names if name.endswith(SUFFIX))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of that name and return its command."""
        if cmd_name not in self.list_commands(ctx):
            return None
        module = importlib.import_module(f"{__name__}.{cmd_name}{SUFFIX}")
        command: click.Command = module.command
        return command

    def invoke(self, ctx: click.Context) -> object:
        """Run a command; one that Ctrl-C stops ends with the status that shells expect."""
        try:
            return super().invoke(ctx)
        except click.ClickException as error:
            from sfumato.values import printable

            error.message = printable(error.message)  # type: ignore[misc]  # shown as it stands
            raise
        except KeyboardInterrupt:
            click.echo("interrupted.", err=True)
            sys.exit(INTERRUPTED)


@click.group(
    cls=Commands, context_settings={"help_option_names": ["-h", "--help"]}, epilog=COMPLETION
)
@click.version_option(__version__, prog_name="sfumato")
def cli() -> None:
    """Inferential privacy of correlated data: state the question, see every definition's answer."""


DECLARED = (value for value in vars(errors).values() if isinstance(value, type))
# Anything else is a mistake of the program, and keeps its traceback.
USERS_PROBLEMS: tuple[type[Exception], ...] = (
    OSError,
    *(error for error in DECLARED if issubclass(error, Exception)),
)


def start() -> None:
    """Run the command line as a program of its own, which Ctrl-C ends within a second."""
    supervise(main)


def main() -> None:
    """Run the command line; a problem the user can mend is one sentence and exit status 2."""
    try:
        cli()
    except USERS_PROBLEMS as error:
        from sfumato.values import printable

        click.echo(f"sfumato: {printable(str(error))}", err=True)
        sys.exit(2)
