"""What the documentation is written from: the parts of docstrings, and fences around examples."""

from __future__ import annotations

import itertools
import re
import shlex
from pathlib import Path

import click
import pytest

from sfumato.commands import cli
from sfumato.commands.arguments import noun
from sfumato.plugin_registry import default_registry

ROOT = Path(__file__).parents[2]
PAGES = sorted(page.relative_to(ROOT).as_posix() for page in (ROOT / "docs").rglob("*.md"))
MEASURES = [
    name
    for name in default_registry().names("measure")
    if default_registry().get("measure", name).__module__.startswith("sfumato_")
]


@pytest.mark.parametrize("name", MEASURES)
def test_a_measure_states_formula_assumptions_guarantee_reference_and_an_example(name):
    text = default_registry().get("measure", name).__doc__
    for part in ("Formula", "Assumptions", "Guarantee", "Reference"):
        assert re.search(rf"^ *{part}: ", text, flags=re.MULTILINE), part
    assert ">>> " in text


@pytest.mark.parametrize("kind", ["prior", "secret", "mechanism", "adversary", "measure"])
def test_an_example_does_more_than_to_show_what_was_typed(kind):
    registry = default_registry()
    for name in registry.names(kind):
        if registry.get(kind, name).__module__.startswith("sfumato_"):
            _, mark, example = registry.get(kind, name).__doc__.partition(">>> ")
            assert mark, name
            assert not re.search(rf"\n *sf\.\w+\.{name}\(", example), name


@pytest.mark.parametrize("page", PAGES)
def test_examples_of_a_page_are_fenced(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    fenced = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    assert ">>>" not in fenced


@pytest.mark.parametrize("name", MEASURES)
def test_formulas_of_a_measure_are_marked_to_be_typeset(name):
    text = default_registry().get("measure", name).__doc__.partition(">>> ")[0]
    _, _, rest = text.partition("\n\n")  # the first paragraph is a terminal's, too
    plain = re.sub(r"``.*?``|`.*?`|\$.*?\$", "", rest, flags=re.DOTALL)
    assert not re.search(r"[∑√ᵀ⁻½^]|\b[A-Za-z]_\w", plain)


def commands_of(page):
    """Return the commands that a page shows after a prompt, as lists of words."""
    for block in re.findall(r"^```console\n(.*?)^```$", page, flags=re.DOTALL | re.MULTILINE):
        for line in re.findall(r"^\$ (sfumato .*)$", block.replace("\\\n", ""), re.MULTILINE):
            yield shlex.split(line, comments=True)[1:]


@pytest.mark.parametrize("page", ["README.md", *PAGES], ids=str)
def test_the_program_knows_every_command_that_a_page_shows(page):
    for name, *words in commands_of((ROOT / page).read_text(encoding="utf-8")):
        command = cli.get_command(click.Context(cli), name)
        assert command is not None, name
        while isinstance(command, click.Group):
            command = command.get_command(click.Context(command), words.pop(0))
        command.make_parser(click.Context(command)).parse_args(list(words))
        for option, text in itertools.pairwise(words):
            if option[2:] in ("secret", "mechanism", "measure"):
                noun(option[2:], text, default_registry())


def test_definitions_compared_has_every_world_and_gives_what_must_be_given():
    page = (ROOT / "docs" / "definitions-compared.md").read_text(encoding="utf-8")
    registry = default_registry()
    worlds = [registry.get("world", title) for title in registry.names("world")]
    assert all(f"secrets.{world['secret']['name']}(" in page for world in worlds)
    for name in registry.names("measure"):
        if any(one.required for one in registry.get("measure", name).parameters()):
            assert f"measures.{name}(" in page
