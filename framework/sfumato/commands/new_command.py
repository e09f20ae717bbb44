"""`sfumato new KIND NAME`: a plugin package that installs, appears and passes `verify`."""

from __future__ import annotations

import doctest
import importlib.util
import keyword
import re
from pathlib import Path

import click

from sfumato import hookspecs
from sfumato.commands.arguments import with_plugins
from sfumato.plugin_registry import default_registry
from sfumato.protocols import NOUNS

PROJECT = """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "{project}"
version = "0.1.0"
description = "A {kind} for sfumato."
requires-python = ">=3.11"
dependencies = ["sfumato"]

[project.entry-points.sfumato]
{name} = "{name}"

[tool.hatch.build]
include = ["{name}.py"]
"""

TEST = '''\
"""Every law of sfumato, tried on {name}; each is a test of its own."""

from {name} import {cls}
from sfumato.laws import conformance

test_laws = conformance({cls})
'''


@click.command("new")
@with_plugins
@click.argument("kind", type=click.Choice(list(NOUNS)))
@click.argument("name")
@click.option(
    "--into",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(),
    help="The folder in which the package's folder is made; the current one by default.",
)
def command(kind: str, name: str, into: Path) -> None:
    """Write a plugin package NAME: one file with a KIND, its test and its entry point."""
    cls = "".join(part.capitalize() for part in name.split("_"))
    text = plugin_text(kind, name, cls)
    _require_free(kind, name, cls)
    folder = into / name
    if folder.exists():
        raise click.UsageError(f"{folder} exists already; choose another name or folder.")
    folder.mkdir(parents=True)
    words = {"kind": kind, "name": name, "cls": cls, "project": name.replace("_", "-")}
    files = {
        f"{name}.py": text,
        f"test_{name}.py": TEST.format(**words),
        "pyproject.toml": PROJECT.format(**words),
    }
    for file, content in files.items():
        (folder / file).write_text(content, encoding="utf-8")
    click.echo(
        f"wrote {folder}: try\n"
        f"  sfumato verify {name} --plugin {folder / name}.py\n"
        f"  pip install -e {folder} && sfumato verify {name} && pytest {folder}"
    )


def example(kind: str) -> tuple[list[str], str, str]:
    """Return the plugin that the hook of a noun shows: its statements, its class and its name."""
    document = getattr(hookspecs, f"sfumato_{NOUNS[kind].plural}").__doc__
    shown = doctest.DocTestParser().get_examples(document)
    statements = [statement.source for statement in shown if not statement.want]
    pattern = r'class (\w+)\(.*?name = "(\w+)"'
    ((cls, name),) = re.findall(pattern, "".join(statements), re.DOTALL)
    return statements, cls, name


def plugin_text(kind: str, name: str, cls: str) -> str:
    """Return the hook's example as a file of its own, under another name.

    >>> from sfumato.commands.new_command import plugin_text
    >>> "class Ending(sf.Secret):" in plugin_text("secret", "ending", "Ending")
    True
    """
    statements, own_class, own_name = example(kind)
    imports = [part for part in statements if part.startswith(("import", "from"))]
    others = [part for part in statements if part not in imports]
    text = "\n\n".join([f'"""The {kind} {name}."""\n\n{"".join(imports)}', *others])
    return re.sub(rf"\b{own_class}\b", cls, text.replace(f'"{own_name}"', f'"{name}"'))


def _require_free(kind: str, name: str, cls: str) -> None:
    if not name.isidentifier() or name != name.lower():
        raise click.UsageError(f"NAME must be a lower-case identifier; got {name!r}.")
    statements, own_class, _ = example(kind)
    module = importlib.util.find_spec(name)
    problems = {
        "not be a word of Python": keyword.iskeyword(name) or keyword.iskeyword(cls),
        f"leave {cls} to what a {kind} imports": cls != own_class
        and re.search(rf"\b{cls}\b", "".join(statements)),
        f"be new: there is a {kind} named '{name}' already": name in default_registry().names(kind),
        # Without an origin it is only a folder of that name.
        "not hide a module that can be imported": module is not None and module.origin is not None,
    }
    for words, wrong in problems.items():
        if wrong:
            raise click.UsageError(f"NAME must {words}; got {name!r}: choose another name.")
