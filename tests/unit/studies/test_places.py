"""Errors of study files name their place, however deep it is."""

from __future__ import annotations

import pytest

import sfumato as sf
from sfumato.comparison.study_files import parse_study, read_study
from sfumato.errors import StudyError

REST = """
priors = [{ name = "rbf", length_scale = 1.0, times = 5 }]
mechanisms = [{ name = "gaussian_uniform", mse = 0.5 }]
"""

GOOD = '{name="basic", index=1}'


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (
            f'measures=["renyi"]\nsecrets=[{{union=[{GOOD}, {{name="basic", index="k"}}]}}]',
            r"secrets\[0\]\.union\[1\]\.index must be",
        ),
        (
            'secrets=["every_point"]\nmeasures=[{name="attack_success", adversary={name="mapp"}}]',
            r"measures\[0\]\.adversary: there is no adversary named 'mapp'",
        ),
        (
            'secrets=[{name="basic", idx=1}]\nmeasures=["renyi"]',
            r"secrets\[0\]\.idx is no parameter of basic; ",
        ),
        (
            'secrets=[{name="basic", index=-1}]\nmeasures=["renyi"]',
            r"secrets\[0\]\.index must be",
        ),
    ],
)
def test_nested_places_are_named(text, place):
    with pytest.raises(StudyError, match=place):
        parse_study(REST + text, sf.registry, "study.toml")


def test_a_byte_order_mark_and_a_folder(tmp_path):
    file = tmp_path / "study.toml"
    text = REST + 'secrets=["every_point"]\nmeasures=["renyi"]\n'
    file.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert read_study(file, sf.registry).size == 1
    with pytest.raises(StudyError, match="Is a directory"):
        read_study(tmp_path, sf.registry)


def test_a_cached_and_a_computed_table_are_the_same(tmp_path):
    study = parse_study(
        'priors=[{name="markov_chain", initial=[0.5, 0.5], transitions=[[0.5, 0.5], [0.1, 0.9]],'
        ' steps=2, states=["s", "x"]}]\n'
        'secrets=[{name="contexts", states=["s"]}]\n'
        'mechanisms=[{name="suppress_given", probabilities=[[1.0, 0.5], [1.0, 0.5]]}]\n'
        'measures=["posterior_gap"]\n',
        sf.registry,
        "study.toml",
    )
    tables = [
        study.run(cache=cache).to_pandas().drop(columns=["seconds"])
        for cache in (None, tmp_path, tmp_path)
    ]
    for table in tables[1:]:
        assert table.to_csv() == tables[0].to_csv()


def test_a_study_of_a_plugin_runs_by_its_name(tmp_path, fresh_registry):
    from click.testing import CliRunner

    from sfumato.commands import cli

    study = tmp_path / "mine.toml"
    study.write_text(REST + 'secrets=["every_point"]\nmeasures=["renyi"]\n')
    plugin = tmp_path / "plugin.py"
    plugin.write_text(
        "from pathlib import Path\nimport sfumato as sf\n"
        "@sf.hookimpl\ndef sfumato_studies():\n"
        "    return {'mine': Path(__file__).with_name('mine.toml')}\n"
    )
    done = CliRunner().invoke(cli, ["compare", "--no-cache", "--plugin", str(plugin), "mine"])
    assert done.exit_code == 0, done.output


def test_every_output_is_tried_and_dollars_are_not_formulas(tmp_path, fresh_registry, monkeypatch):
    from click.testing import CliRunner

    from sfumato.commands import cli

    study = tmp_path / "study.toml"
    study.write_text(
        'title = "costs $\\\\mse{$"\n'
        'priors = [{ name = "rbf", length_scale = 1.0, times = 5, label = "$\\\\mse{$" },'
        ' { name = "rbf", length_scale = 2.0, times = 5 }]\n'
        'mechanisms = [{ name = "gaussian_uniform", mse = 0.5, label = "$_{" }]\n'
        'secrets=["every_point"]\nmeasures=["renyi"]\n'
    )
    import pandas as pd

    def full(*_arguments, **_options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pd.DataFrame, "to_csv", full)
    csv, plot, page = tmp_path / "x.csv", tmp_path / "x.PNG", tmp_path / "x.html"
    words = ["compare", "--no-cache", study, "--csv", csv, "--plot", plot, "--html", page]
    done = CliRunner().invoke(cli, list(map(str, words)))
    assert done.exit_code == 2, done.output
    assert "x.csv cannot be written: No space left on device" in done.output
    assert plot.exists()
    assert page.exists()


def test_a_cache_that_is_a_file_is_reported_once(tmp_path):
    from sfumato.comparison.cache import Cache
    from sfumato.comparison.cells import Cell

    file = tmp_path / "cache"
    file.write_text("")
    cache = Cache(file)
    for key in ("00aa", "01bb"):
        assert cache.get(key) is None
        cache.put(key, Cell(outcome="refused", reason="no"))
    assert len(cache.problems) == 1
    assert "cannot be written" in cache.problems[0]


def test_a_failed_parameter_is_one_sentence():
    comparison = sf.compare(
        [sf.priors.rbf(length_scale=1.0, times=5)],
        [sf.secrets.basic(9)],
        [sf.mechanisms.gaussian_uniform(mse=0.5)],
        [sf.measures.renyi()],
    )
    assert comparison.cells[0].outcome == "failed"
    assert comparison.cells[0].reason == "basic.index must be below the trace length 5; got 9."
