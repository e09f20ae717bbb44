"""`sfumato reproduce`: what is listed, chosen and written."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from sfumato.commands import cli

PLUGIN = '''
"""A figure of nobody's."""
import sfumato as sf
from sfumato.figures import Curve, Drawing, Figure, Panel


def compute(request):
    name = "data" if request.data else ("ours" if request.ours else "all")
    curve = Curve(name, [0.0, 1.0], [float(request.jobs), 2.0])
    return Drawing(panels=[Panel(title="a", x="x", y="y", curves=[curve])], account="Exact: x.")


def needing(request):
    if request.data is None:
        raise sf.DataError("this figure must have data; give --data.")
    return compute(request)


@sf.hookimpl
def sfumato_figures():
    return {
        "nobody1999_figure_1": Figure("Nobody (1999), Figure 1", compute),
        "nobody1999_figure_2": Figure("Nobody (1999), Figure 2", compute, "a file"),
        "somebody2001_figure_1": Figure("Somebody (2001), Figure 1", needing, "another"),
        "somebody2001_figure_2": Figure("Somebody (2001), Figure 2", compute),
    }
'''


@pytest.fixture(autouse=True)
def _restore(fresh_registry):
    """Every command loads the registry anew."""


@pytest.fixture
def plugin(tmp_path):
    path = tmp_path / "nobody.py"
    path.write_text(PLUGIN, encoding="utf-8")
    return path


def run(plugin, *arguments):
    words = ["reproduce", "--plugin", str(plugin), *map(str, arguments)]
    return CliRunner().invoke(cli, words, env={"COLUMNS": "200"})


def test_without_a_name_figures_are_listed(plugin):
    done = run(plugin)
    assert done.exit_code == 0
    assert "nobody1999_figure_1" in done.output
    assert "a file" in done.output
    assert "meehan2021_figure_2a" in done.output


def test_a_name_stands_for_all_that_begin_with_it(plugin, tmp_path):
    out = tmp_path / "out"
    done = run(plugin, "nobody1999", "-o", out, "--jobs", 1)
    assert done.exit_code == 0, done.output
    assert sorted(path.name for path in out.glob("*.csv")) == [
        "nobody1999_figure_1.csv",
        "nobody1999_figure_2.csv",
    ]
    assert "Exact: x." in done.output
    assert ",all,0.0,1.0" in (out / "nobody1999_figure_1.csv").read_text(encoding="utf-8")


def test_choices_reach_the_figure(plugin, tmp_path):
    run(plugin, "nobody1999_figure_1", "-o", tmp_path / "a", "--ours")
    assert ",ours," in (tmp_path / "a" / "nobody1999_figure_1.csv").read_text(encoding="utf-8")
    run(plugin, "nobody1999_figure_1", "-o", tmp_path / "b", "--data", plugin)
    assert ",data," in (tmp_path / "b" / "nobody1999_figure_1.csv").read_text(encoding="utf-8")


def test_an_unknown_name_is_a_usage_error(plugin, tmp_path):
    done = run(plugin, "meehan2021_figure_9", "-o", tmp_path / "out")
    assert done.exit_code == 2
    assert "did you mean 'meehan2021_figure_2'" in done.output


def test_a_figure_without_its_data_does_not_keep_the_others(plugin, tmp_path):
    out = tmp_path / "out"
    done = run(plugin, "somebody2001", "-o", out)
    assert done.exit_code == 2
    assert "sfumato: somebody2001_figure_1: this figure must have data; give --data." in done.output
    assert [path.name for path in out.glob("*.csv")] == ["somebody2001_figure_2.csv"]


def test_data_are_explained_below_the_list(plugin):
    lines = run(plugin).output.splitlines()
    (marked,) = (line for line in lines if line.startswith("nobody1999_figure_2"))
    (note,) = (line for line in lines if line.endswith("with --data: a file"))
    assert marked.split()[-1] == note.split()[0]
