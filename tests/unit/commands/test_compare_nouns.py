"""`sfumato compare` with nouns in place of a study."""

from __future__ import annotations

import csv

import pytest
from click.testing import CliRunner

import sfumato as sf
from sfumato.commands import cli

NOUNS = (
    *("--secret", "basic index=4"),
    *("--mechanism", "gaussian_uniform mse=0.1", "--mechanism", "gaussian_optimal mse=0.1"),
    *("--measure", "renyi order=2.0"),
)


@pytest.fixture(autouse=True)
def _restore(fresh_registry):
    """Every command loads the registry anew."""


def run(*arguments):
    words = ["compare", "--no-cache", *map(str, arguments)]
    return CliRunner().invoke(cli, words, env={"COLUMNS": "200"})


def test_a_fitted_prior_is_compared_without_a_study(tmp_path):
    fitted = tmp_path / "prior.toml"
    fitted.write_text(
        '[prior]\nname = "rbf"\ntimes = 9\nlength_scale = 2.0\n[fitted]\ntraces = 3\n',
        encoding="utf-8",
    )
    table = tmp_path / "table.csv"
    done = run("--prior", fitted, *NOUNS, "--csv", table)
    assert done.exit_code == 0, done.output
    with table.open(encoding="utf-8") as stream:
        found = [float(row["value"]) for row in csv.DictReader(stream)]
    prior, secret = sf.priors.rbf(length_scale=2.0, times=9), sf.secrets.basic(4)
    truth = [
        sf.measures.renyi(order=2.0).loss(prior, secret, mechanism.protect(prior, secret)).value
        for mechanism in (
            sf.mechanisms.gaussian_uniform(mse=0.1),
            sf.mechanisms.gaussian_optimal(mse=0.1),
        )
    ]
    assert found == pytest.approx(truth, rel=1e-12)


@pytest.mark.parametrize("words", [("study.toml", "--prior", "rbf"), NOUNS])
def test_either_a_study_or_all_four_nouns(words):
    done = run(*words)
    assert done.exit_code == 2
    assert "give a STUDY, or --prior, --secret, --mechanism and --measure" in done.output


def test_the_file_of_a_noun_is_not_overwritten(tmp_path):
    fitted = tmp_path / "prior.json"
    fitted.write_text("kept", encoding="utf-8")
    done = run("--prior", fitted, *NOUNS, "--csv", fitted)
    assert done.exit_code == 2
    assert "--csv must not overwrite what is compared" in done.output
    assert fitted.read_text(encoding="utf-8") == "kept"


def test_a_noun_too_long_for_a_file_name_is_still_a_noun(tmp_path):
    mechanism = f"{{ name = 'gaussian_uniform', {' ' * 9000} mse = 0.1 }}"
    done = run(
        "--prior",
        "rbf length_scale=2.0 times=9",
        "--secret",
        "basic index=4",
        "--mechanism",
        mechanism,
        "--measure",
        "renyi",
        "--csv",
        tmp_path / "t.csv",
    )
    assert done.exit_code == 0, done.output
