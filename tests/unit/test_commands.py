"""The command line, as a newcomer would try it."""

from __future__ import annotations

import subprocess
import sys

import pytest
from click.testing import CliRunner

from sfumato.commands import cli, main


def run(*arguments):
    return CliRunner().invoke(cli, list(arguments), env={"COLUMNS": "240"})


@pytest.fixture(autouse=True)
def _restore(fresh_registry):
    """Every command loads the registry anew."""


def test_list_shows_every_noun():
    done = run("list")
    assert done.exit_code == 0
    for name in ("rbf", "contexts", "gaussian_uniform", "map", "posterior_gap"):
        assert name in done.output


def test_list_compatible_needs_no_objects():
    done = run("list", "--compatible", "posterior_interval")
    assert done.exit_code == 0
    assert "gaussian_uniform" in done.output
    assert "suppress_given" not in done.output
    assert "suppress_given" in run("list", "--compatible").output
    assert "did you mean 'renyi'" in run("list", "--compatible", "reny").output


def test_describe_tells_signature_domain_formula_and_reference():
    done = run("describe", "rbf")
    assert done.exit_code == 0
    for words in ("length_scale", "positive", "exp(", "Reference", "Gaussian"):
        assert words in done.output
    told = run("describe", "renyi").output
    assert "Gaussian traces with pairs of real values with added Gaussian noise" in told
    assert "$" not in told
    assert "OwnQuestion" not in told
    wrong = run("describe", "rfb")
    assert wrong.exit_code == 2
    assert "did you mean 'rbf'" in wrong.output


def test_compare_without_a_study_runs_the_default():
    done = run("compare")
    assert done.exit_code == 0
    for words in ("Rényi divergence", "posterior gap", "advantage", "Bayes success"):
        assert words in done.output
    assert "failed" not in done.output


def test_a_plugin_file_works_on_every_command(plugin_file):
    assert "ornstein_uhlenbeck" in run("list", "--plugin", str(plugin_file)).output
    assert run("describe", "--plugin", str(plugin_file), "ornstein_uhlenbeck").exit_code == 0


def test_a_plugin_file_works_in_a_study(plugin_file, tmp_path):
    study = tmp_path / "study.toml"
    study.write_text(
        'title = "A stranger\'s prior"\n'
        'priors = [{ name = "ornstein_uhlenbeck", length_scale = 2.0, times = 9 }]\n'
        'secrets = [{ name = "basic", index = 4 }]\n'
        'mechanisms = [{ name = "gaussian_uniform", mse = 0.5 }]\n'
        'measures = [{ name = "renyi", order = 2.0 }]\n'
    )
    done = run("compare", "--plugin", str(plugin_file), str(study))
    assert done.exit_code == 0
    assert "ornstein" in done.output


BAD_STUDIES = {
    'titel = "x"': "no key 'titel'; did you mean 'title'",
    "priors = 3": "must have a list 'priors'",
    "x = = 1": "is not TOML",
    'priors = [{ name = "rfb" }]': r"priors[0]: there is no prior named 'rfb'",
    'priors = [{ name = "rbf", length_scale = -1.0, times = 5 }]': (
        "priors[0].length_scale must be positive; got -1.0."
    ),
    'priors = [{ name = "rbf", lengthscale = 1.0, times = 5 }]': "priors[0].lengthscale is no",
    "parts = 3": "parts must be a list",
}


@pytest.mark.parametrize("text", BAD_STUDIES)
def test_a_bad_study_names_the_place(text, tmp_path, monkeypatch, capsys):
    study = tmp_path / "study.toml"
    study.write_text(text)
    monkeypatch.setattr(sys, "argv", ["sfumato", "compare", str(study)])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    message = capsys.readouterr().err
    assert BAD_STUDIES[text] in message
    assert "Traceback" not in message


def test_a_broken_plugin_is_reported_and_the_command_goes_on(tmp_path):
    broken = tmp_path / "broken.py"
    broken.write_text("raise RuntimeError('no luck')")
    done = run("list", "--plugin", str(broken))
    assert done.exit_code == 0
    assert "no luck" in done.output
    assert "rbf" in done.output


def test_the_installed_command_runs():
    done = subprocess.run(
        [sys.executable, "-c", "from sfumato.commands import main; main()", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "sfumato" in done.stdout


STUDY = """
title = "How much does smoothness give away?"
priors = [{ name = "rbf", length_scale = { linspace = [1, 4, 4] }, times = 9 }]
secrets = [{ name = "basic", index = 4 }]
mechanisms = [{ name = "gaussian_uniform", mse = 0.1, label = "noise" }]
measures = ["renyi", "released_fraction"]
"""


@pytest.fixture
def study(tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "study.toml"
    file.write_text(STUDY)
    return file


def test_compare_writes_every_kind_of_file(study, tmp_path):
    import pandas as pd

    files = {kind: tmp_path / f"out.{kind}" for kind in ("html", "csv", "parquet", "svg")}
    done = run(
        "compare", str(study), "--html", str(files["html"]), "--csv", str(files["csv"]),
        "--parquet", str(files["parquet"]), "--plot", str(files["svg"]),
    )  # fmt: skip
    assert done.exit_code == 0
    assert "4 × released_fraction needs Markov chains" in done.output
    table = pd.read_csv(files["csv"])
    assert len(table) == len(pd.read_parquet(files["parquet"])) == 8
    assert list(table["prior.length_scale"]) == [1, 1, 2, 2, 3, 3, 4, 4]
    assert list(table.outcome) == ["measured", "refused"] * 4
    assert files["html"].read_text().startswith("<!doctype html>")
    assert files["svg"].read_text().startswith("<?xml")


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("--csv", "write sfumato compare STUDY.toml, then the options"),
        ("--parquet", "write sfumato compare STUDY.toml, then the options"),
        ("--jobs", "is not a valid integer"),
    ],
)
def test_a_study_after_an_option_without_a_value_is_refused(study, option, words):
    done = run("compare", option, str(study))
    assert done.exit_code == 2
    assert words in " ".join(done.output.split())
    assert study.read_text() == STUDY


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["study.toml", "--csv", "study.toml"], "--csv must not be a study"),
        (["study.toml", "--html", "other.TOML"], "--html must not be a study"),
        (["--csv=study.toml"], "--csv must not be a study"),
        (["--plot", "study.toml"], "--plot must not be a study"),
        (["study.txt", "--csv", "study.txt"], "--csv must not overwrite what is compared"),
        (["study.txt", "--csv", "link.csv"], "--csv must not overwrite what is compared"),
        (["study.csv", "--csv"], "--csv must not overwrite what is compared"),
        (["study.toml", "--csv", "--html", "study.csv"], "--csv and --html must be two files"),
    ],
)
def test_outputs_never_overwrite_the_study_or_each_other(
    study, tmp_path, monkeypatch, arguments, message
):
    monkeypatch.chdir(tmp_path)
    if not arguments[0].startswith("-"):
        study.rename(arguments[0])
    (tmp_path / "link.csv").symlink_to("study.txt")
    done = run("compare", *arguments)
    assert done.exit_code == 2
    assert message in " ".join(done.output.split())
    assert [p.read_text() for p in tmp_path.iterdir() if p.exists()].count(STUDY) >= 1
    assert not (tmp_path / "cache").exists()


def test_compare_keeps_cells_in_the_cache_unless_told_otherwise(study, tmp_path):
    assert run("compare", "--no-cache", str(study)).exit_code == 0
    assert not (tmp_path / "cache").exists()
    run("compare", "--cache", str(tmp_path / "own"), str(study))
    assert len(list((tmp_path / "own").rglob("*.json"))) == 8
    run("compare", str(study))
    (entry, *_) = (tmp_path / "cache").rglob("*.json")
    entry.write_text("{")
    again = run("compare", str(study))
    assert again.exit_code == 0
    assert "was damaged" in again.output
    assert "was damaged" not in run("compare", str(study)).output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--plot", "x.gif"], "--plot must end in .pdf, .png, .svg; got x.gif"),
        (["--csv", "nowhere/x.csv"], "must be in a folder that exists"),
        (["--cache", "c", "--no-cache"], "not both"),
        (["--jobs", "0"], "--jobs"),
    ],
)
def test_what_cannot_be_written_is_refused_before_anything_runs(
    study, tmp_path, monkeypatch, arguments, message
):
    monkeypatch.chdir(tmp_path)
    done = run("compare", str(study), *arguments)
    assert done.exit_code == 2
    assert message in " ".join(done.output.split())
    assert not (tmp_path / "cache").exists()


def test_a_failed_cell_is_reported_and_the_exit_status_says_so(study):
    study.write_text(STUDY.replace("index = 4", "index = 9"))
    done = run("compare", str(study))
    assert done.exit_code == 1
    assert "8 cells failed" in done.output
    assert "basic.index must be below the trace length 9; got 9" in done.output


def test_a_plugin_that_fails_is_blamed_and_the_rest_is_measured(study, tmp_path):
    plugin = tmp_path / "plugin.py"
    plugin.write_text(
        "import sfumato as sf\nfrom sfumato.parameters import declare\n\n"
        "@declare\nclass Clumsy(sf.LossMeasure):\n    'Fails.'\n    name = 'clumsy'\n"
        "    reads = ((object, object, object),)\n    quantity = sf.Quantity('x')\n"
        "    def evaluate(self, belief, question, channel):\n        raise KeyError('oops')\n\n"
        "@sf.hookimpl\ndef sfumato_measures():\n    return [Clumsy]\n"
    )
    study.write_text(STUDY.replace('"released_fraction"', '"clumsy"'))
    done = run("compare", "--plugin", str(plugin), "--jobs", "2", str(study))
    assert done.exit_code == 1
    assert "4 × KeyError: 'oops' (evaluate)" in done.output
    assert "Rényi divergence" in done.output
