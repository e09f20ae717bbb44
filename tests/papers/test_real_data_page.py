"""The tutorial on real data: every command prints what the page says, where the data are."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from sfumato.commands import cli

PAGE = Path(__file__).parents[2] / "docs" / "tutorials" / "real-data.md"
NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?:e[-+]\d+)?")


def commands(page: str) -> list[tuple[str, str]]:
    """Return each command of the page, and what it is said to print."""
    blocks = re.findall(r"^```console\n(.*?)^```$", page, flags=re.DOTALL | re.MULTILINE)
    steps = [step for block in blocks for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
    return [
        re.fullmatch(r"((?:[^\n]*\\\n)*[^\n]*)\n(.*)", step, re.DOTALL).groups() for step in steps
    ]


def words_and_numbers(text: str) -> tuple[list[str], list[float]]:
    numbers = [float(found.replace(",", "").rstrip(".")) for found in NUMBER.findall(text)]
    return NUMBER.sub("#", text).split(), numbers


@pytest.mark.parametrize(
    ("section", "folder"), [(1, "geolife"), (2, "sml2010"), (3, "adl_homes"), (4, "gowalla_nyc")]
)
@pytest.mark.usefixtures("fresh_registry")
def test_every_command_prints_what_the_page_says(section, folder, real_data, tmp_path, monkeypatch):
    data = real_data(folder).parent
    monkeypatch.chdir(tmp_path)
    steps = commands(PAGE.read_text("utf-8").split("\n## ")[section])
    assert len(steps) == (4 if folder == "gowalla_nyc" else 3)
    for command, printed in steps:
        line = command.replace("\\\n", " ").replace("../shared/data", str(data))
        done = CliRunner().invoke(cli, shlex.split(line)[1:])
        text = done.output
        if done.exception is not None:
            text += f"sfumato: {done.exception}"
        words, numbers = words_and_numbers(text)
        said, expected = words_and_numbers(printed)
        assert words == said, command
        assert numbers == pytest.approx(expected, rel=2e-3), command
