"""Losses of a whole population."""

import os
import signal
import threading
import time

import numpy as np
import pytest

import sfumato as sf
from sfumato.beliefs import Markov
from sfumato.channels import Symbols
from sfumato.comparison import populations
from sfumato.questions import Guess

read_parquet = pytest.importorskip("pandas", reason="tables are read with pandas").read_parquet


@pytest.fixture
def people():
    traces = np.random.default_rng(0).integers(4, size=(70, 8))
    traces[50:60] = traces[:10]
    return sf.priors.markov_chain.fit_each(traces, states=range(6), steps=3)


SECRET = sf.secrets.trajectory(mistakes=1)
SENSORS = sf.mechanisms.sensor_counts([0, 2, 1])


@pytest.mark.parametrize(
    "name",
    [
        "reconstruction",
        "fano_loose",
        "fano_tight",
        "mutual_information",
        "differential_privacy",
    ],
)
def test_everyone_gets_their_own_loss(people, name):
    measure = getattr(sf.measures, name)()
    found = measure.of_population(people, SECRET, SENSORS, processes=1)
    assert len(found) == 70
    assert found.solved == 60
    assert found.quantity == measure.quantity
    for person in (0, 3, 51, 69):
        prior = people[person]
        loss = measure.loss(prior, SECRET, SENSORS.protect(prior, SECRET))
        assert found.values[person] == loss.value
        assert found.bounds[person] == loss.bound
        assert found.hows[person] == loss.how


def test_processes_change_nothing(people):
    measure = sf.measures.reconstruction()
    alone = measure.of_population(people, SECRET, SENSORS, processes=1)
    together = measure.of_population(people, SECRET, SENSORS, processes=2)
    np.testing.assert_array_equal(alone.values, together.values)
    assert alone.hows == together.hows


def test_plain_lists_of_priors_will_do(people):
    measure = sf.measures.fano_loose()
    some = [people[0], people[1], people[50]]
    found = measure.of_population(some, SECRET, SENSORS)
    assert found.solved == 2
    whole = measure.of_population(people, SECRET, SENSORS, processes=1)
    np.testing.assert_allclose(found.values, whole.values[[0, 1, 50]], rtol=1e-12)


def test_what_goes_wrong_for_one_person_is_that_person_s_row(people):
    moving = sf.priors.markov_chain([1.0] + [0.0] * 5, people[0].transitions, 3)
    found = sf.measures.fano_tight().of_population([people[0], moving], SECRET, SENSORS)
    assert found.errors[0] is None
    assert "stationary" in found.errors[1]
    assert (found.values[1], found.bounds[1]) == (np.inf, "upper")
    assert found.to_pandas()["error"].isna().tolist() == [True, False]


def test_what_goes_wrong_for_everyone_is_raised(people):
    moving = sf.priors.markov_chain([1.0] + [0.0] * 5, people[0].transitions, 3)
    with pytest.raises(sf.OutsideHypotheses, match="stationary") as caught:
        sf.measures.fano_tight().of_population([moving, moving], SECRET, SENSORS)
    assert "person 0" in caught.value.__notes__[0]


def test_a_run_that_was_stopped_goes_on(people, tmp_path, monkeypatch):
    measure, path = sf.measures.fano_loose(), tmp_path / "losses.parquet"
    whole = measure.of_population(people, SECRET, SENSORS, processes=1)
    solve, solved = populations._solve, []

    def stop(task):
        if len(solved) == 1:
            raise KeyboardInterrupt
        solved.append(task[2])
        return solve(task)

    monkeypatch.setattr(populations, "_solve", stop)
    with pytest.raises(KeyboardInterrupt):
        measure.of_population(people, SECRET, SENSORS, processes=1, path=path)
    partial = tmp_path / "losses.parquet.partial"
    assert partial.exists()
    assert not path.exists()
    with partial.open("a") as file:
        file.write('[[99, [0.5, "up')  # torn by the end of the process
    monkeypatch.setattr(populations, "_solve", lambda task: solved.append(task[2]) or solve(task))
    found = measure.of_population(people, SECRET, SENSORS, processes=1, path=path)
    assert sorted(person for chunk in solved for person in chunk) == sorted(
        {*range(50), *range(60, 70)}  # everyone once, the equal ones not at all
    )
    assert not partial.exists()
    np.testing.assert_array_equal(found.values, whole.values)
    table = read_parquet(path)
    assert table["value"].tolist() == whole.values.tolist()
    assert table["how"].tolist() == list(whole.hows)
    assert table["person"].tolist() == list(range(70))


def test_losses_of_others_are_not_gone_on_with(people, tmp_path):
    path = tmp_path / "losses.parquet"
    (tmp_path / "losses.parquet.partial").write_text("something else\n")
    with pytest.raises(sf.ParameterError, match="holds others"):
        sf.measures.fano_loose().of_population(people, SECRET, SENSORS, processes=1, path=path)


def test_a_cluster_that_loses_a_worker_finds_the_same(tmp_path):
    distributed = pytest.importorskip("distributed", reason="a cluster needs sfumato[dask]")
    traces = np.random.default_rng(1).integers(8, size=(300, 12))
    many = sf.priors.markov_chain.fit_each(traces, states=range(12), steps=6)
    sensors, measure = sf.mechanisms.sensor_counts("drawn"), sf.measures.reconstruction()
    here = measure.of_population(many, SECRET, sensors, processes=1)
    options = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    with distributed.LocalCluster(n_workers=2, **options) as cluster:
        process = cluster.workers[0].pid
        killer = threading.Timer(1.0, os.kill, (process, signal.SIGKILL))
        killer.start()
        there = measure.of_population(
            many, SECRET, sensors, cluster=cluster.scheduler_address, path=tmp_path / "all.parquet"
        )
        killer.join()
    np.testing.assert_array_equal(here.values, there.values)
    assert set(there.errors) == {None}
    assert len(read_parquet(tmp_path / "all.parquet")) == 300


def test_nobody_is_refused():
    with pytest.raises(sf.ParameterError, match="at least one"):
        sf.measures.fano_loose().of_population([], SECRET, SENSORS)


def test_people_who_are_no_priors_are_refused(people):
    measure = sf.measures.fano_loose()
    with pytest.raises(sf.ParameterError, match="a list of priors; got sf"):
        measure.of_population(people[0], SECRET, SENSORS)
    with pytest.raises(sf.ParameterError, match="got 3 for person 1"):
        measure.of_population([people[0], 3], SECRET, SENSORS)


def test_everyone_is_attacked_with_a_seed_of_their_own(people):
    measure = sf.measures.attack_success(adversary=sf.adversaries.map(), trials=200, seed=3)
    found = measure.of_population(people, SECRET, SENSORS, processes=1)
    assert found.solved == 60
    assert set(found.bounds) == {"estimate"}
    best = sf.measures.reconstruction(method="enumeration")
    for person in (0, 7, 69):
        prior = people[person]
        release = SENSORS.protect(prior, SECRET)
        own = measure.for_person(person).loss(prior, SECRET, release)
        assert found.values[person] == own.value
        assert own.interval[0] <= best.loss(prior, SECRET, release).value
    assert len({measure.for_person(person).seed for person in range(1000)}) == 1000
    together = measure.of_population(people, SECRET, SENSORS, processes=2)
    np.testing.assert_array_equal(found.values, together.values)


@pytest.mark.parametrize("processes", [0, -1, 1.5, "a", True])
def test_wrong_numbers_of_processes_are_refused(people, processes):
    with pytest.raises(sf.ParameterError, match="processes"):
        sf.measures.fano_loose().of_population(people, SECRET, SENSORS, processes=processes)


def test_differential_privacy_is_the_same_for_everyone(people):
    noisy = sf.mechanisms.sensor_counts([0, 2, 1], noise=3.0)
    measure = sf.measures.differential_privacy(delta=0.01)
    found = measure.of_population(people, SECRET, noisy, processes=1)
    assert len(set(found.values)) == 1
    assert set(found.bounds) == {"exact"}
    losses = sf.measures.reconstruction().of_population(people, SECRET, noisy, processes=1)
    assert len(set(losses.values)) > 50


def reads_counts(name):
    """Whether a measure of populations reads a chain, a guessed trajectory and counts."""
    return hasattr(sf.registry.get("measure", name), "of_population") and any(
        issubclass(Markov, belief) and issubclass(Guess, question) and issubclass(Symbols, channel)
        for belief, question, channel in sf.registry.get("measure", name).reads
    )


@pytest.mark.parametrize("noise", [None, 1.0])
@pytest.mark.parametrize("name", sorted(filter(reads_counts, sf.registry.names("measure"))))
def test_every_measure_of_counts_answers_for_a_population(people, name, noise):
    options = {"adversary": sf.adversaries.map(), "trials": 20} if name == "attack_success" else {}
    measure = sf.registry.get("measure", name)(**options)
    sensors = sf.mechanisms.sensor_counts([0, 2, 1], noise=noise)
    found = measure.of_population(people[:3], SECRET, sensors, processes=1)
    assert len(found) == 3
    own = measure.for_person(2).loss(people[2], SECRET, sensors.protect(people[2], SECRET))
    assert found.values[2] == own.value
    assert found.bounds[2] == own.bound


def test_a_person_of_a_population_takes_a_small_part_of_the_time_alone():
    rng = np.random.default_rng(0)
    places = rng.choice(100, 8, replace=False)
    traces = rng.choice(places, size=(10, 24), p=rng.dirichlet(np.ones(8))).tolist()
    person = sf.priors.markov_chain.fit(traces, states=range(100), steps=24)
    secret = sf.secrets.trajectory(mistakes=5)
    sensors = sf.mechanisms.sensor_counts([37 * t % 100 for t in range(24)])
    measure = sf.measures.reconstruction()
    began = time.process_time()
    alone = measure.loss(person, secret, sensors.protect(person, secret)).value
    middle = time.process_time()
    (shared,) = measure.of_population([person], secret, sensors, processes=1).values
    assert time.process_time() - middle < (middle - began) / 5.0
    assert alone <= shared <= 3.0 * alone


def test_intervals_and_names_are_kept():
    people = sf.priors.markov_chain.fit_each({"ann": [0, 1, 0, 2], "bob": [2, 2, 1, 0]}, steps=3)
    attack = sf.measures.attack_success(adversary=sf.adversaries.map(), trials=50)
    found = attack.of_population(people, SECRET, SENSORS, processes=1)
    assert found.names == ("ann", "bob")
    for value, (low, high) in zip(found.values, found.intervals, strict=True):
        assert low < value < high
    exact = sf.measures.reconstruction().of_population(list(people), SECRET, SENSORS, processes=1)
    assert exact.names == (0, 1)
    assert exact.intervals == (None, None)


@pytest.mark.parametrize(
    "wrong",
    [
        {"people": {"ann": 1}},
        {"people": np.array([[1, 2]])},
        {"people": [[1, 2]]},
        {"people": 5},
        {"secret": None},
        {"secret": sf.secrets.trajectory},
        {"mechanism": "release"},
        {"mechanism": sf.mechanisms.sensor_counts},
    ],
)
def test_what_is_no_population_is_refused_in_a_sentence(people, wrong):
    given = {"people": people, "secret": SECRET, "mechanism": SENSORS, **wrong}
    if given["mechanism"] == "release":
        given["mechanism"] = SENSORS.protect(people[0], SECRET)
    with pytest.raises(sf.ParameterError, match=f"{next(iter(wrong))} must be a .*; got "):
        sf.measures.reconstruction().of_population(**given)


def test_numpy_numbers_of_processes(people):
    found = sf.measures.fano_loose().of_population(
        people[:3], SECRET, SENSORS, processes=np.int64(1)
    )
    assert len(found) == 3
