"""The option that every command has: one-file plugins."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any

import click

from sfumato.errors import BrokenPluginWarning
from sfumato.plugin_registry import ENVIRONMENT, Registry, use_registry


def with_plugins(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--plugin FILE`` to a command and load the registry with those files."""
    return click.option(
        "--plugin",
        "plugin_files",
        multiple=True,
        metavar="FILE",
        expose_value=False,
        is_eager=True,
        type=click.Path(dir_okay=False),
        callback=_load,
        help="Load a one-file plugin; may be given several times.",
    )(function)


def _load(_context: click.Context, _option: click.Parameter, files: tuple[str, ...]) -> None:
    named = [path for path in os.environ.get(ENVIRONMENT, "").split(os.pathsep) if path]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BrokenPluginWarning)  # reported below, in one line each
        registry = Registry.load([*named, *files])
    use_registry(registry)
    for problem in registry.problems:
        click.secho(f"plugin {problem.origin} was skipped: {problem.reason}", err=True, fg="yellow")
