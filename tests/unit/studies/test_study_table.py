"""Study files: everything is checked, and every error names its place."""

from __future__ import annotations

import pytest

import sfumato as sf
from sfumato.comparison.study_files import (
    bundled_study,
    default_study,
    parse_study,
    read_study,
    to_toml,
)
from sfumato.errors import StudyError
from sfumato.plugin_registry import Registry, default_registry, use_registry

GOOD = """
title = "Good"
seed = 5
priors = [{ name = "rbf", length_scale = { any_of = [1.0, 2.0] }, times = 9, label = "smooth" }]
secrets = [{ union = [{ name = "basic", index = 1 }, { name = "basic", index = 5 }] }]
mechanisms = [
  { name = "gaussian_uniform", mse = 0.1 },
  { name = "gaussian_uniform", mse = 0.2 },
  { name = "gaussian_uniform", mse = MSE },
]
measures = ["renyi"]
"""


def parsed(text):
    return parse_study(text, default_registry(), "study.toml")


def test_a_study_reads_as_it_is_written():
    study = parsed(GOOD.replace("MSE", "{ sweep = [0.3, 0.4] }"))
    (part,) = study.parts
    assert (study.title, study.seed, study.size) == ("Good", 5, 4)
    assert [labelled.noun.mse for labelled in part.mechanisms] == [0.1, 0.2, 0.3, 0.4]
    assert part.priors[0].label == "smooth"
    assert part.priors[0].noun == sf.priors.rbf(length_scale=sf.AnyOf(1.0, 2.0), times=9)
    assert part.secrets[0].noun == sf.secrets.basic(1) | sf.secrets.basic(5)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("-1.0", "study.toml: mechanisms[2].mse must be positive; got -1.0."),
        ("'x'", "study.toml: mechanisms[2].mse must be positive (a real number); got 'x'."),
        ("nan", "study.toml: mechanisms[2].mse must be positive and finite; got nan."),
        ("{ sweep = [1.0, -2.0] }", "study.toml: mechanisms[2].mse must be positive; got -2.0."),
        ("1.0, msq = 2.0", "study.toml: mechanisms[2].msq is no parameter of gaussian_uniform; "),
        ("1.0, label = 3", "study.toml: mechanisms[2]: label must be text; got 3."),
    ],
)
def test_an_error_names_the_path(value, message):
    with pytest.raises(StudyError) as caught:
        parsed(GOOD.replace("MSE", value))
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = 1\nb = = 2\n", "line 2"),
        (
            "title = 'x'\npriors = [\n  { name = 'rbf' },\n",
            "at end of document",
        ),
        ('a = [\n"""\nb = 1\n"""', "at end of document"),
        ("[[parts", "at end of document)"),
        ('a = 1\nnotes = """\nfar', "at end of document"),
        ("title = 3", "title must be text"),
        ("seed = -1", "seed must be a whole number"),
        ("seed = true", "seed must be a whole number"),
        (f"seed = {'9' * 5000}", "is not TOML: Exceeds the limit (4300 digits)"),
        ("priors = [{ name = 'rbf', self = 3 }]", "priors[0].self is no parameter of rbf"),
        ("max_cells = 1.5", "max_cells must be a whole number"),
        ("max_cells = 10_000_000_000", "max_cells must lie in 1 to 1,000,000; got 10,000,000,000"),
        ("parts = []", "parts must be a list"),
        ("parts = [3]", r"parts[0] must be a table; got 3"),
        ("[[parts]]\nprior = []", "parts[0] has no key 'prior'; did you mean 'priors'"),
        ("priors = []\n[[parts]]\n", "must have 'priors' inside its parts"),
        ("[[parts]]\npriors = []", "parts[0] must have a list 'priors'"),
        ("priors = [3]", "priors[0] must be a name or a table with a name; got 3"),
        ("adversaries = 3", "must have a list 'adversaries'"),
    ],
)
def test_a_bad_table_names_the_place(text, message):
    with pytest.raises(StudyError) as caught:
        parsed(text)
    assert message in str(caught.value)
    assert str(caught.value).startswith("study.toml")


def test_a_file_that_is_not_text_names_the_line(tmp_path):
    file = tmp_path / "study.toml"
    file.write_bytes(b"title = 'x'\n# caf\xe9\n")
    with pytest.raises(StudyError, match="UTF-8 text; line 2 is not"):
        read_study(file, default_registry())
    with pytest.raises(StudyError, match="there is no study file"):
        read_study(tmp_path / "none.toml", default_registry())


def test_measures_are_taken_by_every_listed_adversary(misbehaving, small_table):
    study = sf.Study.from_table(
        small_table(
            measures=["attack", {"name": "attack", "adversary": "map"}, "renyi"],
            adversaries=["map", {"name": "gaussian_posterior", "label": "Bayes"}],
        )
    )
    measures = study.parts[0].measures
    assert [labelled.noun.name for labelled in measures] == ["attack"] * 3 + ["renyi"]
    assert [labelled.noun.adversary.name for labelled in measures[:3]] == [
        "map",
        "gaussian_posterior",
        "map",
    ]
    assert measures[1].label == "attack, Bayes"
    assert study.size == 16
    with pytest.raises(StudyError, match="a measure that takes an adversary"):
        sf.Study.from_table(small_table(adversaries=["map"]))


def test_objects_and_tables_may_be_mixed_in_python(small_table):
    noise = sf.Labelled(sf.mechanisms.gaussian_uniform(mse=0.5), "noise")
    study = sf.Study.from_table(
        small_table(mechanisms=[noise, sf.mechanisms.gaussian_uniform(mse=1.0)])
    )
    assert [labelled.label for labelled in study.parts[0].mechanisms] == ["noise", ""]


def test_a_written_study_reads_back_equal():
    study = default_study(default_registry())
    assert parse_study(to_toml(study), default_registry(), "x") == study


def test_a_plugin_bundles_studies(tmp_path, fresh_registry):
    (tmp_path / "figure.toml").write_text(GOOD.replace("MSE", "0.3"))
    plugin = tmp_path / "plugin.py"
    plugin.write_text(
        "from pathlib import Path\nimport sfumato as sf\n\n@sf.hookimpl\n"
        "def sfumato_studies():\n"
        "    return {'figure': Path(__file__).parent / 'figure.toml'}\n"
    )
    registry = Registry.load([plugin])
    use_registry(registry)
    result = bundled_study("figure", registry).run()
    assert len(result.to_pandas()) == 3


def nested(levels):
    value = 1.0
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("levels", "words"), [(60, "length_scale must"), (100_000, "not nested so deeply")]
)
def test_what_is_nested_too_deeply_is_refused_in_one_sentence(small_table, levels, words):
    table = small_table()
    table["priors"][0]["length_scale"] = nested(levels)
    with pytest.raises(StudyError, match=words):
        sf.Study.from_table(table)


def test_a_file_that_is_nested_too_deeply_is_refused_in_one_sentence(tmp_path):
    file = tmp_path / "deep.toml"
    file.write_text(f"title = {'[' * 50_000}{']' * 50_000}")
    with pytest.raises(StudyError, match=r"deep\.toml must .* not nested so deeply"):
        sf.Study.read(file)


def test_classes_in_classes_are_refused_in_one_sentence():
    table = {"name": "rbf", "length_scale": 1.0, "times": 3}
    for _ in range(100_000):
        table = {"any_of": [table]}
    with pytest.raises(sf.ParameterError, match="must not be nested so deeply"):
        sf.registry.build("prior", table)


def test_whole_numbers_beyond_float64_are_refused(small_table):
    table = small_table()
    table["priors"][0]["length_scale"] = {"linspace": [1, 10**400, 3]}
    with pytest.raises(StudyError, match="go up between finite ends"):
        sf.Study.from_table(table)


def test_control_characters_do_nothing_to_a_terminal(small_table):
    table = small_table()
    table["title"] = "\x1b]0;owned\x07 a title"
    table["mechanisms"][0] = {"name": "gaussian_uniform", "mse": 0.1, "label": "a\x1b[2Jb"}
    study = sf.Study.from_table(table)
    shown = str(study.run().comparisons[0])
    assert "\x1b" not in study.title + shown
    assert "a\\x1b[2Jb" in shown


def test_a_label_does_not_become_a_formula(small_table, tmp_path, monkeypatch):
    import tomli_w
    from click.testing import CliRunner

    from sfumato.commands import cli

    monkeypatch.chdir(tmp_path)
    table = small_table()
    table["mechanisms"][0] = {"name": "gaussian_uniform", "mse": 0.1, "label": "=cmd()"}
    (tmp_path / "s.toml").write_text(tomli_w.dumps(table))
    done = CliRunner().invoke(cli, ["compare", "s.toml", "--no-cache", "--csv", "out.csv"])
    assert done.exit_code == 0, done.output
    assert ",'=cmd()," in (tmp_path / "out.csv").read_text()
