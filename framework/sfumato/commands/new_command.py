"""`sfumato new KIND NAME`: a plugin package that installs, appears and passes `verify`."""

from __future__ import annotations

import importlib.util
import keyword
import re
from pathlib import Path

import click

from sfumato.commands._plugin_templates import BODIES, PROJECT, TEST
from sfumato.commands._plugins import with_plugins
from sfumato.plugin_registry import default_registry


@click.command("new")
@with_plugins
@click.argument("kind", type=click.Choice(sorted(BODIES)))
@click.argument("name")
@click.option(
    "--into",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(),
    help="The folder in which the package's folder is made; the current one by default.",
)
def command(kind: str, name: str, into: Path) -> None:
    """Write a plugin package NAME: one file with a KIND, its test and its entry point."""
    _require_free(kind, name)
    folder = into / name
    if folder.exists():
        raise click.UsageError(f"{folder} exists already; choose another name or folder.")
    folder.mkdir(parents=True)
    words = {
        "name": name,
        "cls": _class_name(name),
        "kind": kind,
        "project": name.replace("_", "-"),
    }
    for file, template in {
        f"{name}.py": BODIES[kind],
        f"test_{name}.py": TEST,
        "pyproject.toml": PROJECT,
    }.items():
        (folder / file).write_text(_filled(template, words), encoding="utf-8")
    click.echo(
        f"wrote {folder}: try\n"
        f"  sfumato verify {name} --plugin {folder / name}.py\n"
        f"  pip install -e {folder} && sfumato verify {name} && pytest {folder}"
    )


def _require_free(kind: str, name: str) -> None:
    if not name.isidentifier() or name != name.lower():
        raise click.UsageError(f"NAME must be a lower-case identifier; got {name!r}.")
    cls = _class_name(name)
    if keyword.iskeyword(name) or keyword.iskeyword(cls):
        raise click.UsageError(f"NAME must not be a word of Python; got {name!r}.")
    if re.search(rf"\b{cls}\b", BODIES[kind]):
        raise click.UsageError(
            f"NAME must leave {cls} to what a {kind} imports; got {name!r}: choose another name."
        )
    if name in default_registry().names(kind):
        raise click.UsageError(f"there is a {kind} named '{name}' already; choose another name.")
    found = importlib.util.find_spec(name)
    if found is not None and found.origin is not None:  # None: only a folder of that name
        raise click.UsageError(
            f"NAME must not hide a module that can be imported; got {name!r}: choose another name."
        )


def _class_name(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def _filled(template: str, words: dict[str, str]) -> str:
    """Replace @name@ and its like; braces are left to Python."""
    for word, value in words.items():
        template = template.replace(f"@{word}@", value)
    return template.lstrip("\n")
