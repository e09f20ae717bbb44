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
    done = run("list", "--compatible", "renyi")
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
    wrong = run("describe", "rfb")
    assert wrong.exit_code == 2
    assert "did you mean 'rbf'" in wrong.output


def test_compare_without_a_study_runs_the_default():
    done = run("compare")
    assert done.exit_code == 0
    for words in ("Rényi divergence", "posterior gap", "reconstruction success"):
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
    'priors = [{ name = "rbf", lengthscale = 1.0, times = 5 }]': "no parameter 'lengthscale'",
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
