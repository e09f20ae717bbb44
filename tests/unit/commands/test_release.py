"""`sfumato release`, as someone with a file would use it."""

from __future__ import annotations

import json
import math
import time

import numpy as np
import pytest
from click.testing import CliRunner

import sfumato as sf
from sfumato.commands import cli
from sfumato.commands.arguments import specification
from sfumato.datasets import read_state_table, read_trace_table
from sfumato.release.certificates import certificate_text

GAUSSIAN = (
    "--prior",
    "rbf length_scale=3.0 times=20",
    "--secret",
    "basic index=9 radius=0.5",
    "--mechanism",
    "gaussian_uniform mse=0.04",
)
CHAIN = (
    '{ name = "markov_chain", initial = [0.5, 0.5], transitions = [[0.5, 0.5], [0.5, 0.5]], '
    'steps = 3, states = ["home", "bar"] }'
)
MARKOV = (
    "--prior",
    CHAIN,
    "--secret",
    'contexts states=["bar"]',
    "--mechanism",
    "suppress_given probabilities=[[0, 1], [0, 1], [0, 1]]",
)


@pytest.fixture(autouse=True)
def _restore(fresh_registry):
    """Every command loads the registry anew."""


def run(*arguments, text=None):
    return CliRunner().invoke(cli, ["release", *map(str, arguments)], input=text)


@pytest.fixture
def trace(tmp_path):
    path = tmp_path / "walk.csv"
    rows = [f"ann,{10 * k},{math.sin(k / 3)}" for k in range(20)]
    path.write_text("user,time,x\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def days(tmp_path):
    path = tmp_path / "days.csv"
    path.write_text(
        "user,time,state\nmon,0,home\nmon,1,bar\nmon,2,home\ntue,0,bar\ntue,1,home\ntue,2,home\n",
        encoding="utf-8",
    )
    return path


def test_a_trace_is_released_with_a_certificate(tmp_path, trace):
    out, paper = tmp_path / "out.csv", tmp_path / "paper.json"
    done = run(trace, *GAUSSIAN, "-o", out, "--certificate", paper)
    assert done.exit_code == 0, done.output
    (before,) = read_trace_table(trace)
    (after,) = read_trace_table(out)
    assert after.times.tolist() == before.times.tolist()
    noise = after.values - before.values
    assert 0.01 < np.mean(noise**2) < 0.12  # 20 draws of variance 0.04
    table = json.loads(paper.read_text(encoding="utf-8"))
    assert table["prior"] == {"name": "rbf", "length_scale": 3.0, "times": 20}
    assert table["secret"] == {"name": "basic", "index": 9, "radius": 0.5}
    assert table["mechanism"]["name"] == "gaussian_uniform"
    assert "ChaCha20" in table["random_source"]
    assert set(table["versions"]) >= {"sfumato", "numpy", "python"}
    renyi = next(g for g in table["guarantees"] if g["measure"]["name"] == "renyi")
    assert renyi["bound"] == "exact"
    # An independent formula: the Fisher information 1/V_ss - 1/Sigma_ss, times r^2 order / 2.
    t = np.arange(20.0)
    sigma = np.exp(-((t[:, None] - t) ** 2) / 18)
    v = sigma - sigma @ np.linalg.solve(sigma + 0.04 * np.eye(20), sigma)
    assert renyi["value"] == pytest.approx(0.25 * (1 / v[9, 9] - 1), rel=1e-6)


def test_what_is_printed_as_json_is_what_the_certificate_says(tmp_path, trace):
    out, paper = tmp_path / "out.csv", tmp_path / "paper.json"
    done = run(trace, *GAUSSIAN, "-o", out, "--certificate", paper, "--json")
    assert done.exit_code == 0, done.output
    assert "guaranteed" not in done.stderr
    found, table = json.loads(done.stdout), json.loads(paper.read_text(encoding="utf-8"))
    own = {"output": str(out), "traces": 1, "windows": 1}
    keys = ("guarantees", "against", "about", "covers", "released_sha256")
    assert found == own | {key: table[key] for key in keys}
    alone = run(trace, *GAUSSIAN, "-o", tmp_path / "b.csv", "--ledger", tmp_path / "l", "--json")
    found = json.loads(alone.stdout)
    assert len(found["ledger"]) == 1
    assert found["covers"].startswith("no time of a person twice")
    stream = run("--stream", *GAUSSIAN, "--json", text="0.5\n")
    assert stream.exit_code == 2
    assert "a stream is answered line by line" in stream.stderr


def test_a_trace_is_one_persons_whatever_its_file_is_named(tmp_path):
    """Two files, one named like its user, hold the same trace: the second release is refused."""
    rows = [f"ann,{t},{t / 10}" for t in range(20)]
    same, other, unnamed = (tmp_path / f"{name}.csv" for name in ("ann", "walk", "phone"))
    same.write_text("\n".join(["user,time,x", *rows]) + "\n", encoding="utf-8")
    other.write_text(same.read_text(encoding="utf-8"), encoding="utf-8")
    text = [row.partition(",")[2] for row in ["user,time,x", *rows]]
    unnamed.write_text("\n".join(text) + "\n", encoding="utf-8")

    def released(path, ledger, *more):
        given = ("-o", tmp_path / "out.csv", "--force", "--ledger", tmp_path / ledger)
        return run(path, *GAUSSIAN, *given, *more)

    assert released(same, "named").exit_code == 0
    assert "times 0 to 19 of 'ann' were released before" in str(released(other, "named").exception)
    assert released(unnamed, "phone").exit_code == 0
    for path, ledger, more in (
        (unnamed, "phone", ("--person", "ann")),
        (other, "phone", ()),
        (unnamed, "named", ()),
    ):
        refused = released(path, ledger, *more)
        assert isinstance(refused.exception, sf.DataError), refused.output
        assert "may be 'ann'" in str(refused.exception)
    assert "were released before" in str(released(unnamed, "named", "--person", "ann").exception)
    more = ("--ledger", tmp_path / "phone", "--person", "ann")
    stream = run("--stream", *GAUSSIAN, *more, text="0.5\n")
    assert "may be 'ann'" in str(stream.exception)
    assert not stream.stdout


def test_a_seed_repeats_and_is_confessed(tmp_path, trace):
    texts = []
    for name in ("a.csv", "b.csv"):
        assert run(trace, *GAUSSIAN, "-o", tmp_path / name, "--seed", 7).exit_code == 0
        texts.append((tmp_path / name).read_text(encoding="utf-8"))
    assert texts[0] == texts[1]
    paper = tmp_path / "c.json"
    run(trace, *GAUSSIAN, "-o", tmp_path / "c.csv", "--seed", 7, "--certificate", paper)
    assert "for research only" in json.loads(paper.read_text(encoding="utf-8"))["random_source"]


def test_an_interval_class_is_guaranteed_against_every_member(tmp_path, trace):
    prior = "rbf length_scale={interval=[2.0,3.0]} times=20"
    paper = tmp_path / "p.json"
    done = run(
        trace,
        *("--prior", prior, *GAUSSIAN[2:], "-o", tmp_path / "o.csv"),
        *("--certificate", paper, "--measure", "renyi order=2.0"),
    )
    assert done.exit_code == 0, done.output
    table = json.loads(paper.read_text(encoding="utf-8"))
    assert table["estimates"] == []
    (found,) = table["guarantees"]
    assert "against every belief of the class" in found["statement"]
    assert found["ceiling"] == found["value"]


def test_nothing_is_overwritten_without_force(tmp_path, days):
    out = tmp_path / "out.csv"
    out.write_text("mine", encoding="utf-8")
    refused = run(days, *MARKOV, "-o", out)
    assert refused.exit_code != 0
    assert isinstance(refused.exception, FileExistsError)
    assert out.read_text(encoding="utf-8") == "mine"
    assert run(days, *MARKOV, "-o", out, "--force").exit_code == 0
    assert out.read_text(encoding="utf-8").startswith("user,time,state")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["days.csv", "out.csv"]


def test_every_day_of_a_file_is_released(tmp_path, days):
    out = tmp_path / "out.csv"
    assert run(days, *MARKOV, "-o", out).exit_code == 0
    monday, tuesday = read_state_table(out)
    assert monday.states == ("home", "⊥", "home")
    assert tuesday.states == ("⊥", "home", "home")
    one = tmp_path / "one.csv"
    assert run(days, *MARKOV, "-o", one, "--user", "tue").exit_code == 0
    assert [day.user for day in read_state_table(one)] == ["tue"]
    none = run(days, *MARKOV, "-o", tmp_path / "n.csv", "--user", "sun")
    assert "must have a trace of sun" in str(none.exception)


def test_what_does_not_fit_is_named_and_nothing_is_written(tmp_path, trace, days):
    out = tmp_path / "out.csv"
    wrong = run(days, *GAUSSIAN, "-o", out)
    assert "must fit the data, StateSequence" in str(wrong.exception)
    short = ("--prior", "rbf length_scale=3.0 times=19", *GAUSSIAN[2:])
    assert "must have 19 values" in str(run(trace, *short, "-o", out).exception)
    assert "did you mean 'basic'" in str(
        run(trace, *GAUSSIAN[:2], "--secret", "basik index=1", *GAUSSIAN[4:], "-o", out).exception
    )
    assert not out.exists()
    assert run(trace, *GAUSSIAN).exit_code == 2
    assert run(trace, *GAUSSIAN, "--stream", "-o", out).exit_code == 2


def test_a_failed_write_leaves_no_file(tmp_path, trace, monkeypatch):
    from pathlib import Path

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    done = run(trace, *GAUSSIAN, "-o", tmp_path / "out.csv")
    assert isinstance(done.exception, OSError)
    assert [path.name for path in tmp_path.iterdir()] == ["walk.csv"]


def test_gpx_is_released_in_metres_around_a_public_latitude(tmp_path):
    points = "".join(
        f'<trkpt lat="{45 + k * 1e-4}" lon="{7 + k * 2e-4}">'
        f"<time>2020-01-01T00:00:{k:02d}Z</time></trkpt>"
        for k in range(20)
    )
    path = tmp_path / "run.gpx"
    path.write_text(f"<gpx><trk><trkseg>{points}</trkseg></trk></gpx>", encoding="utf-8")
    out = tmp_path / "out.csv"
    covariance = np.zeros((40, 40))
    covariance[::2, ::2] = 100.0 * np.eye(20)  # east-west only, standard deviation 10 m
    covariance[1::2, 1::2] = 1e-6 * np.eye(20)
    plugin = tmp_path / "flat.py"
    plugin.write_text(PLANE, encoding="utf-8")
    done = run(
        path,
        *("--plugin", plugin, "--metres", 45.0, "-o", out),
        *("--prior", "plane", "--secret", "basic index=3"),
        *("--mechanism", f"gaussian_given covariance={covariance.tolist()}"),
    )
    assert done.exit_code == 0, done.output
    (after,) = read_trace_table(out)
    off = after.values - np.column_stack((45 + np.arange(20) * 1e-4, 7 + np.arange(20) * 2e-4))
    assert np.abs(off[:, 0]).max() < 1e-6
    metres = off[:, 1] * np.pi / 180 * 6.371e6 * np.cos(np.pi / 4)
    assert 4 < np.sqrt(np.mean(metres**2)) < 20


PLANE = '''
"""Two independent coordinates at twenty times."""
import sfumato as sf
from sfumato.beliefs import Gaussian
from sfumato.matrices import Diagonal
from sfumato.parameters import declare


@declare
class Plane(sf.Prior):
    """Two independent coordinates."""

    name = "plane"
    yields = Gaussian

    def belief(self):
        return Gaussian(Diagonal([1.0] * 40), dimensions=2)


@sf.hookimpl
def sfumato_priors():
    return [Plane]
'''


def test_nouns_come_from_files_too(tmp_path):
    path = tmp_path / "fitted.toml"
    path.write_text('[prior]\nname = "rbf"\nlength_scale = 2.0\ntimes = 5\n', encoding="utf-8")
    found = specification("prior", str(path))
    assert found == {"name": "rbf", "length_scale": 2.0, "times": 5}
    with pytest.raises(ValueError, match=r"must have a table \[secret\]; got prior"):
        specification("secret", str(path))
    path.write_text("[prior", encoding="utf-8")
    with pytest.raises(ValueError, match="must be TOML"):
        specification("prior", str(path))
    with pytest.raises(ValueError, match="the secret: a plugin must be a name"):
        specification("secret", "basic index=")


def test_certificates_are_strict_json():
    text = certificate_text({"a": math.inf, "b": np.array([1.0, -math.inf]), "c": np.float64(2)})
    assert json.loads(text) == {"a": "inf", "b": [1.0, "-inf"], "c": 2.0}


@pytest.mark.parametrize("option", ["-o", "--certificate"])
def test_a_file_that_cannot_be_written_is_refused_before_the_work(tmp_path, days, option):
    given = {"-o": tmp_path / "out.csv", option: tmp_path / "absent" / "file"}
    options = [word for pair in given.items() for word in pair]
    refused = run(days, *MARKOV, *options)
    assert isinstance(refused.exception, FileNotFoundError)
    assert "absent must exist; make it first." in str(refused.exception)
    given[option] = tmp_path
    refused = run(days, *MARKOV, *[word for pair in given.items() for word in pair])
    assert isinstance(refused.exception, IsADirectoryError)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["days.csv"]


def test_what_was_not_released_has_no_certificate(tmp_path, trace):
    trace.write_text(trace.read_text(encoding="utf-8") + "ann,200,nan\n", encoding="utf-8")
    refused = run(trace, *GAUSSIAN, "-o", tmp_path / "o.csv", "--certificate", tmp_path / "c.json")
    assert "walk.csv, line 22: a value must be a finite number" in str(refused.exception)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["walk.csv"]


def test_a_certificate_says_first_what_is_guaranteed_and_the_prior_once(tmp_path, days):
    paper = tmp_path / "c.json"
    assert run(days, *MARKOV, "-o", tmp_path / "o.csv", "--certificate", paper).exit_code == 0
    text = paper.read_text(encoding="utf-8")
    table = json.loads(text)
    assert next(iter(table)) == "guarantees"
    assert text.count('"transitions"') == 1
    assert "[0.5, 0.5]" in text
    assert len(table["guarantees"]) > 1


FITTED = "rbf length_scale={interval=[4.5,5.5]} variance={interval=[0.8,1.2]} times=20"


def test_measures_too_slow_for_a_fitted_class_are_left_out_and_named(tmp_path, trace):
    paper = tmp_path / "p.json"
    words = ("--prior", FITTED, *GAUSSIAN[2:], "-o", tmp_path / "o.csv", "--certificate", paper)
    done = run(trace, *words)
    assert done.exit_code == 0, done.output
    table = json.loads(paper.read_text(encoding="utf-8"))
    left_out = {entry["measure"]["name"] for entry in table["left_out"]}
    assert left_out == {"breach_rate", "misspecification", "mutual_information"}
    named = {e["measure"]["name"] for k in ("guarantees", "estimates") for e in table[k]}
    assert {"renyi", "odds_gap", "mean_squared_error"} <= named
    assert not named & left_out
    assert run(trace, *words, "--measure", "mutual_information", "--force").exit_code == 0
    assert json.loads(paper.read_text(encoding="utf-8"))["left_out"] == []


def test_nothing_is_left_out_for_one_prior(tmp_path, trace):
    paper = tmp_path / "p.json"
    run(trace, *GAUSSIAN, "-o", tmp_path / "o.csv", "--certificate", paper)
    table = json.loads(paper.read_text(encoding="utf-8"))
    assert table["left_out"] == []
    assert "misspecification" in {entry["measure"]["name"] for entry in table["guarantees"]}


def test_what_a_search_found_is_not_worded_as_a_guarantee(tmp_path, trace):
    paper = tmp_path / "p.json"
    run(trace, "--prior", FITTED, *GAUSSIAN[2:], "-o", tmp_path / "o.csv", "--certificate", paper)
    table = json.loads(paper.read_text(encoding="utf-8"))
    assert table["estimates"]
    for entry in table["estimates"]:
        assert "every belief" not in entry["statement"]
        assert entry["statement"].endswith("the worst belief found; worse is not ruled out")
    # The noise is known whatever the prior is: tr Γ / n needs no search.
    (error,) = [g for g in table["guarantees"] if g["measure"]["name"] == "mean_squared_error"]
    assert error["statement"].startswith("mean squared error")
    assert error["statement"].endswith("against every belief of the class")
    assert (error["bound"], error["value"]) == ("exact", pytest.approx(0.04))


def test_several_traces_of_one_user_stay_several(tmp_path):
    path, out, paper = (tmp_path / name for name in ("two.csv", "out.csv", "c.json"))
    rows = [f"ann,{day},{k},home" for day in ("mon", "tue") for k in range(3)]
    path.write_text("\n".join(["user,trace,time,state", *rows]) + "\n", encoding="utf-8")
    assert run(path, *MARKOV, "-o", out, "--certificate", paper).exit_code == 0
    assert out.read_text(encoding="utf-8").startswith("user,trace,time,state\nann,mon,0.0,home\n")
    assert [(day.name, len(day)) for day in read_state_table(out)] == [("mon", 3), ("tue", 3)]
    assert "each released trace" in json.loads(paper.read_text(encoding="utf-8"))["covers"]


def test_by_default_an_interval_class_is_certified_in_seconds(tmp_path, trace):
    """A breach rate is searched, not proved, over intervals; of this class it took two minutes."""
    prior = "rbf length_scale={interval=[7.4,11.6]} variance={interval=[0.25,0.52]} times=20"
    paper, begun = tmp_path / "p.json", time.process_time()
    nouns = ("--secret", "basic index=9 radius=0.5", "--mechanism", "gaussian_uniform mse=8.0")
    done = run(trace, "--prior", prior, *nouns, "-o", tmp_path / "o.csv", "--certificate", paper)
    assert done.exit_code == 0, done.output
    assert time.process_time() - begun < 15
    left_out = json.loads(paper.read_text(encoding="utf-8"))["left_out"]
    (found,) = (one for one in left_out if one["measure"]["name"] == "breach_rate")
    assert found["reason"] == "slow, so by default only for finite classes; name it to have it"
