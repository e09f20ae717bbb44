"""The terminal: grouped lists, matrices, JSON, notebooks, and Ctrl-C."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter

import click
import pytest
from click.testing import CliRunner
from rich.cells import cell_len

import sfumato as sf
from sfumato.commands import cli
from sfumato.protocols import NOUNS

STUDY = """\
title = "Smooth or rough?"
notes = 'Said with "quotes" and \\\\ slashes.'
priors = [{ name = "rbf", length_scale = { sweep = [1.0, 2.0, 3.0] }, times = 6 }]
secrets = [{ name = "basic", index = 2 }]
mechanisms = [{ name = "gaussian_uniform", mse = 0.1 }, { name = "gaussian_optimal", mse = 0.1 }]
measures = ["renyi", "reconstruction"]
"""


def run(*arguments, width=80):
    return CliRunner().invoke(cli, list(arguments), env={"COLUMNS": str(width)})


@pytest.fixture
def study(tmp_path):
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    return tmp_path / "study.toml"


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_list_is_grouped_and_fits(width):
    lines = run("list", width=width).output.splitlines()
    assert max(map(cell_len, lines)) <= width
    plurals = [noun.plural for noun in NOUNS.values()]
    assert [line for line in lines if line in plurals] == plurals
    for kind in NOUNS:
        for name in sf.registry.names(kind):
            assert any(line.startswith(f"  {name} ") for line in lines)


def fitting(*arguments):
    return json.loads(run("list", "--compatible", *arguments, "--json").output)


@pytest.mark.parametrize("width", [60, 80, 200])
def test_what_fits_is_a_matrix_of_ticks_however_narrow(width):
    rows = fitting()
    text = run("list", "--compatible", width=width).output
    for block in text.strip().split("\n\n"):
        heading, _, table = block.partition("\n mechanism")
        first = [part.split()[1].strip(",") for part in " ".join(heading.split()).split("; ")]
        own = {row["mechanism"]: row["measures"] for row in rows if [*row.values()][:2] == first}
        ticks = Counter()
        for line in table.splitlines():
            ticks[line.split()[0]] += line.count("✓")
        assert +ticks == {name: len(measures) for name, measures in own.items() if measures}
        assert all(name in block for measures in own.values() for name in measures)
    assert max(map(len, text.splitlines())) <= width
    assert {row["mechanism"] for row in fitting("renyi")} == {
        row["mechanism"] for row in rows if "renyi" in row["measures"]
    }


@pytest.mark.parametrize("width", [80, 200])
def test_worlds_are_named_whole_in_the_matrix(width):
    text = run("list", "--matrix", width=width).output
    worlds = {place["world"] for place in json.loads(run("list", "--matrix", "--json").output)}
    assert all(world in " ".join(text.split()) for world in worlds)
    assert max(map(len, text.splitlines())) <= width
    table, _, reasons = text.partition("impossible, because:")
    numbers = {line.split()[0] for line in reasons.splitlines() if line[:4].strip().isdigit()}
    assert {mark[1:] for mark in table.split() if mark[0] == "–" and mark != "–"} == numbers
    lines = text.partition("● exact")[0].splitlines()
    assert not any(line.strip().replace(" ", "").isdigit() for line in lines), "a number is broken"


def test_results_are_also_json(study):
    found = json.loads(run("compare", str(study), "--json", "--no-cache").stdout)
    assert found["title"] == "Smooth or rough?"
    (part,) = found["parts"]
    assert part["findings"]
    assert [cell["outcome"] for cell in part["cells"]].count("measured") == 6
    assert {cell["value"] for cell in part["cells"] if cell["outcome"] == "refused"} == {None}
    names = {entry["name"] for entry in json.loads(run("list", "--json").output)}
    assert {"rbf", "basic", "renyi", "map"} <= names
    (rbf,) = json.loads(run("describe", "rbf", "--json").output)
    assert rbf["parameters"][0]["name"] == "length_scale"
    figures = json.loads(run("reproduce", "--json").output)
    assert [figure["name"] for figure in figures] == sf.registry.names("figure")


def test_infinities_are_words_in_json():
    chain = "{ name = 'markov_chain', initial = [0.5, 0.5], transitions = [[0.9, 0.1], [0.2, 0.8]]"
    nouns = ("--prior", f"{chain}, steps = 3 }}", "--secret", "trajectory mistakes=0")
    attack = '{ name = "attack_success", trials = 20, adversary = { name = "map" } }'
    rest = ("--mechanism", "sensor_counts sensors=[0, 1, 0]", "--measure", attack)
    found = json.loads(run("compare", *nouns, *rest, "--json", "--no-cache").stdout)
    (cell,) = found["parts"][0]["cells"]
    assert cell["ceiling"] == "inf"  # an attack limits nothing above
    assert cell["bound"] == "estimate"


def test_a_study_becomes_a_notebook_that_runs(study, tmp_path):
    import nbformat
    from nbclient import NotebookClient

    target = tmp_path / "out.ipynb"
    done = run("compare", str(study), "--notebook", str(target), "--no-cache")
    assert done.exit_code == 0, done.output
    book = nbformat.read(target, as_version=4)
    nbformat.validate(book)
    NotebookClient(book, timeout=200).execute()
    shown = [output.get("data", {}) for cell in book.cells for output in cell.get("outputs", [])]
    assert any("Under gaussian_optimal" in data.get("text/html", "") for data in shown)
    assert any("image/svg+xml" in data for data in shown)
    assert any("prior.length_scale" in data.get("text/html", "") for data in shown)
    refused = run("compare", str(study), "--notebook", str(tmp_path / "out.txt"))
    assert "must end in .ipynb" in refused.output


def test_python_runs_it_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "sfumato", "--version"], capture_output=True, text=True, check=True
    )
    assert sf.__version__ in done.stdout


def test_ctrl_c_ends_every_command_alike(monkeypatch):
    def interrupt(*_given, **_settings):
        raise KeyboardInterrupt

    for name in cli.list_commands(click.Context(cli)):
        command = cli.get_command(click.Context(cli), name)
        monkeypatch.setattr(type(command), "invoke", interrupt)
        wanted = {"describe": ["rbf"], "new": ["prior", "x"], "fit": [__file__, "--prior", "rbf"]}
        arguments = wanted.get(name, [])
        if name == "fit":
            arguments += ["-o", "x.toml"]
        if name == "release":
            arguments = ["--prior", "x", "--secret", "x", "--mechanism", "x"]
        done = run(name, *arguments)
        assert done.exit_code == 130, (name, done.output)


def test_text_without_quotes_is_explained():
    done = run(
        "compare", "--prior", "rbf length_scale=2 times=4", "--secret", "basic index=1",
        "--mechanism", "gaussian_uniform mse=0.1", "--measure", "attack_success adversary=blind",
    )  # fmt: skip
    assert "quote text" in str(done.exception)


def test_help_of_commands_is_never_cut():
    told = run("--help").output
    assert "how DATA were prepared." in " ".join(told.split())
    for said in (told, run("certificate", "--help").output):
        assert "..." not in said.split("Commands:")[1]
        assert max(map(len, said.splitlines())) <= 80


def test_a_command_that_is_misspelt_is_told_which_was_meant():
    done = run("relase")
    assert done.exit_code == 2
    assert "there is no command named 'relase'; did you mean 'release'?" in done.output


def test_no_parameter_that_is_described_is_broken():
    for kind in NOUNS:
        for name in sf.registry.names(kind):
            told = run("describe", name).output
            for item in sf.registry.get(kind, name).parameters():
                assert re.search(rf"^{item.name} ", told, re.MULTILINE), (name, item.name)
            assert "``" not in told
            assert "\n\nparameter " in told or not sf.registry.get(kind, name).parameters()


def test_completion_is_told():
    assert "_SFUMATO_COMPLETE=bash_source" in run("--help").output
