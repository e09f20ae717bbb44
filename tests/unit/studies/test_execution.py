"""Where cells run does not matter: this process, workers, a cluster; killed, resumed or dying."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time

import pytest

import sfumato as sf
from sfumato.comparison.engine import NotRegistered
from sfumato.errors import StudyError
from sfumato.parameters import declare

# What may differ between runs: the clock.
CLOCK = ["seconds"]


def rows(result):
    return result.to_pandas().drop(columns=CLOCK)


def same(one, other):
    return rows(one).equals(rows(other))


@pytest.fixture
def study(misbehaving, small_table):
    return sf.Study.from_table(
        small_table(seed=7, measures=["renyi", "dicey", "posterior_gap", "attack"],
                    adversaries=["map"])
    )  # fmt: skip


def test_workers_find_what_this_process_finds(study):
    here = study.run()
    assert same(here, study.run(jobs=2))
    assert here.comparisons[0].measured


def test_each_cell_has_a_seed_of_its_own_that_the_study_seed_changes(study, small_table):
    dicey = [cell for cell in study.run().comparisons[0].cells if cell.measure.name == "dicey"]
    seeds = [cell.seed for cell in dicey]
    assert len(set(seeds)) == len(seeds) == 4
    assert len({cell.loss.value for cell in dicey}) == 4
    other = sf.Study.from_table(small_table(seed=8, measures=["dicey"])).run().comparisons[0]
    assert not set(seeds) & {cell.seed for cell in other.cells}
    # A cell's seed does not depend on what else the study asks.
    alone = sf.Study.from_table(small_table(seed=7, measures=["dicey"])).run().comparisons[0]
    assert seeds == [cell.seed for cell in alone.cells]


@pytest.mark.parametrize("seed", [0, 3])
def test_a_given_seed_is_left_alone(misbehaving, small_table, seed):
    result = sf.Study.from_table(small_table(measures=[{"name": "dicey", "seed": seed}])).run()
    assert len({cell.loss.value for cell in result.comparisons[0].cells}) == 1
    assert {cell.seed for cell in result.comparisons[0].cells} == {seed}


def test_an_attack_with_seed_0_is_that_attack(small_table):
    chain = {"name": "markov_chain", "initial": [0.5, 0.5], "transitions": [[0.9, 0.1], [0.2, 0.8]],
             "steps": 4, "states": ["a", "b"]}  # fmt: skip
    attack = {"name": "attack_success", "adversary": "map", "seed": 0, "trials": 50}
    counts = {"name": "sensor_counts", "sensors": "a", "noise": 1.0}
    study = sf.Study.from_table(
        small_table(priors=[chain], secrets=["trajectory"], mechanisms=[counts], measures=[attack])
    )
    (cell,) = study.run().comparisons[0].cells
    release = cell.mechanism.protect(cell.prior, cell.secret)
    alone = sf.measures.attack_success(adversary=sf.adversaries.map(), trials=50, seed=0)
    assert cell.loss.value == alone.loss(cell.prior, cell.secret, release).value
    assert cell.seed == 0


def test_intervals_and_numbers_of_parts_are_in_the_table(misbehaving, small_table):
    part = small_table(measures=["renyi", "dicey"])
    part["title"] = "same"
    result = sf.Study.from_table({"title": "x", "parts": [part, part]}).run()
    table = result.to_pandas()
    half = len(table) // 2
    assert list(table.part_number) == [0] * half + [1] * half
    cells = [cell for comparison in result.comparisons for cell in comparison.cells]
    assert {cell.loss.bound for cell in cells} == {"exact", "estimate"}
    for cell, low, high in zip(cells, table.interval_low, table.interval_high, strict=True):
        assert (low, high) == (cell.loss.interval or (pytest.approx(math.nan, nan_ok=True),) * 2)


def test_nouns_that_are_not_registered_are_refused_for_workers_but_run_here(small_table):
    @declare
    class Local(sf.LossMeasure):
        """Known to this test only."""

        name = "local"
        reads = ((object, object, object),)

        @property
        def quantity(self):
            return sf.Quantity("local")

        def evaluate(self, belief, question, channel):
            return sf.Reading(value=1.0, bound="exact")

    study = sf.Study.from_table(small_table(measures=[Local()]))
    assert len(study.run().comparisons[0].measured) == 4
    with pytest.raises(NotRegistered, match="local must be registered"):
        study.run(jobs=2)


def test_jobs_must_be_one_or_more(study):
    with pytest.raises(StudyError, match="jobs must be 1 or more; got 0"):
        study.run(jobs=0)


def test_a_finished_run_is_read_from_the_cache_identically(study, tmp_path):
    first = study.run(cache=tmp_path)
    again = study.run(cache=tmp_path)
    assert first.to_pandas().equals(again.to_pandas())  # the seconds, too
    assert same(again, study.run())


def test_cells_that_ask_the_same_are_computed_once(misbehaving, small_table):
    seen = []
    study = sf.Study.from_table(small_table(measures=["dicey", "dicey"]))
    result = study.run(progress=lambda done, total: seen.append((done, total)))
    values = [cell.loss.value for cell in result.comparisons[0].cells]
    assert values[::2] == values[1::2]
    assert seen[0] == (4, 8)
    assert seen[-1] == (8, 8)


def test_a_changed_plugin_is_computed_again(misbehaving, small_table, tmp_path, fresh_registry):
    from sfumato.plugin_registry import Registry, use_registry

    table = small_table(measures=["attack"], adversaries=["map"])
    before = sf.Study.from_table(table).run(cache=tmp_path / "c")
    misbehaving.write_text(
        misbehaving.read_text().replace(
            'value=1.0, bound="exact", w', 'value=2.0, bound="exact", w'
        )
    )
    use_registry(Registry.load([misbehaving]))
    after = sf.Study.from_table(table).run(cache=tmp_path / "c")
    assert set(before.to_pandas().value) == {1.0}
    assert set(after.to_pandas().value) == {2.0}


def test_witnesses_are_plain_text(misbehaving, small_table):
    result = sf.Study.from_table(small_table(measures=["attack"], adversaries=["map"])).run()
    assert set(result.to_pandas().witness) == {"{'guess': (1.5, sf.SUPPRESSED)}"}


@pytest.fixture
def slow_study(misbehaving, tmp_path):
    """A study file of twelve cells that take a while, and the command that runs it."""
    file = tmp_path / "slow.toml"
    file.write_text(
        'title = "Slow"\n'
        'priors = [{ name = "rbf", length_scale = 2.0, times = 5 }]\n'
        'secrets = [{ name = "basic", index = 2 }]\n'
        'mechanisms = [{ name = "gaussian_uniform", mse = { linspace = [1, 6, 6] } }]\n'
        'measures = [{ name = "sleepy", seconds = 0.3 }, "dicey"]\n'
    )
    code = "from sfumato.commands import main; main()"
    return [
        sys.executable, "-c", code, "compare", "--plugin", str(misbehaving), str(file),
        "--cache", str(tmp_path / "cache"), "--csv", str(tmp_path / "out.csv"),
    ]  # fmt: skip


def finished_cells(folder):
    return len(list(folder.rglob("*.json")))


def stop_midway(command, folder):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        # A run in the background ignores Ctrl-C, and its children would inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )
    while finished_cells(folder) < 3 and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    return process.returncode, told, environment


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for one child")
def test_a_run_of_workers_that_is_stopped_resumes_to_identical_results(slow_study, tmp_path):
    command = [*slow_study, "--jobs", "2"]
    status, told, environment = stop_midway(command, tmp_path / "cache")
    assert 3 <= finished_cells(tmp_path / "cache") < 12
    assert status == 130
    assert "of 12 cells are finished" in told
    assert "Traceback" not in told
    resumed = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
    assert resumed.returncode == 0
    import pandas as pd

    fresh = tmp_path / "fresh.csv"
    sf.Study.read(tmp_path / "slow.toml").run().to_pandas().to_csv(fresh, index=False)
    after, expected = (
        pd.read_csv(file).drop(columns=CLOCK) for file in (tmp_path / "out.csv", fresh)
    )
    assert after.equals(expected)


@pytest.fixture
def evaluations(monkeypatch):
    """Count what is evaluated in this process, by measure."""
    counts = {}

    def counted(cls):
        evaluate = cls.evaluate

        def count(self, *given):
            counts[cls.name] = counts.get(cls.name, 0) + 1
            return evaluate(self, *given)

        monkeypatch.setattr(cls, "evaluate", count)

    for name in ("renyi", "posterior_gap"):
        counted(sf.registry.get("measure", name))
    return counts


def test_a_page_of_cached_cells_evaluates_nothing(small_table, tmp_path, evaluations):
    study = sf.Study.from_table(small_table())
    first = study.run(cache=tmp_path / "cache", maps=True)
    assert all(row.losses for risk in first.maps[0] for row in risk.rows)
    assert evaluations["renyi"] == 4 + 2 * 2 * 9  # the cells and the bands
    evaluations.clear()
    study.run(cache=tmp_path / "cache").to_html(tmp_path / "page.html")
    again = study.run(cache=tmp_path / "cache", maps=True)
    again.to_html(tmp_path / "again.html")
    assert not evaluations
    assert again.maps == first.maps
    assert "Every time as the secret" in (tmp_path / "page.html").read_text()
    assert (tmp_path / "page.html").read_text() == (tmp_path / "again.html").read_text()


def test_a_page_by_the_command_evaluates_nothing_more(small_table, tmp_path, evaluations):
    from click.testing import CliRunner

    from sfumato.commands import cli
    from sfumato.comparison.study_files import to_toml

    file = tmp_path / "study.toml"
    file.write_text(to_toml(sf.Study.from_table(small_table())))
    words = ["compare", str(file), "--cache", str(tmp_path / "cache")]
    page = [*words, "--html", str(tmp_path / "page.html")]
    numbers = []
    for command in (page, words, page):
        evaluations.clear()
        assert CliRunner().invoke(cli, command).exit_code == 0
        numbers.append(sum(evaluations.values()))
    assert numbers[0] > 0
    assert numbers[1:] == [0, 0]


def test_maps_from_workers_are_those_from_here_and_parts_may_refuse_them(small_table):
    table = small_table(measures=["renyi"])
    parts = [{**table, "maps": maps} for maps in (True, False)]
    for part in parts:
        del part["title"]
    study = sf.Study.from_table({"title": "x", "parts": parts})
    here, there = study.run(), study.run(jobs=2, maps=True)
    assert [len(maps) for maps in here.maps] == [2, 0]
    assert here.maps == there.maps
    assert here.with_maps() is here
    with pytest.raises(StudyError, match="maps must be true or false; got 3"):
        sf.Study.from_table(small_table(maps=3))
