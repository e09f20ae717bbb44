"""A real Dask cluster on this machine: the same results, also when workers die."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys

import pytest

import sfumato as sf

distributed = pytest.importorskip(
    "distributed", reason="a cluster needs the package distributed: install sfumato[dask]"
)


@pytest.fixture(scope="module")
def cluster():
    import dask

    settings = {
        # The scheduler gives work up after two deaths instead of four: the test is quicker.
        "distributed.scheduler.allowed-failures": 1,
        # A busy machine may take longer than 15 seconds to start a worker anew; the cluster would
        # then give up on it for good.
        "distributed.deploy.lost-worker-timeout": "120s",
    }
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50
        ) as cluster,
    ):
        yield cluster


def test_a_cluster_finds_what_this_process_finds(cluster, misbehaving, small_table):
    study = sf.Study.from_table(small_table(seed=7, measures=["renyi", "dicey", "posterior_gap"]))
    here, there = (
        run.to_pandas().drop(columns="seconds")
        for run in (study.run(), study.run(dask=cluster.scheduler_address))
    )
    assert here.equals(there)


def test_a_worker_that_dies_once_does_not_matter(cluster, misbehaving, small_table, tmp_path):
    deadly = {"name": "deadly", "file": str(tmp_path / "marker"), "once": "yes"}
    study = sf.Study.from_table(small_table(measures=["renyi", deadly]))
    result = study.run(dask=cluster.scheduler_address)
    assert len(result.comparisons[0].measured) == 8


def test_cells_that_kill_workers_fail_and_the_rest_goes_on(
    cluster, misbehaving, small_table, tmp_path
):
    deadly = {"name": "deadly", "file": str(tmp_path / "never")}
    one = small_table(measures=["renyi"], mechanisms=[{"name": "gaussian_uniform", "mse": 1.0}])
    fine = {key: one[key] for key in one if key != "title"}
    bad = {**fine, "measures": [deadly], "priors": [{"name": "rbf", "length_scale": 1, "times": 5}]}
    study = sf.Study.from_table({"title": "x", "parts": [fine, bad, fine]})
    result = study.run(dask=cluster.scheduler_address)
    assert len(result.comparisons[0].measured) == 2
    assert len(result.comparisons[2].measured) == 2
    (dead,) = result.comparisons[1].cells
    assert dead.outcome == "failed"
    assert "died again and again" in dead.reason


def test_a_cluster_without_workers_is_not_waited_for_forever(small_table, monkeypatch):
    monkeypatch.setattr("sfumato.comparison.executors.NO_WORKERS_FOR", 1)
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=":0", silence_logs=50) as empty,
        pytest.raises(ConnectionError, match="must have a worker"),
    ):
        sf.Study.from_table(small_table()).run(dask=empty.scheduler_address)


def test_a_cluster_that_loses_its_last_worker_fails_the_rest(
    misbehaving, small_table, tmp_path, monkeypatch
):
    monkeypatch.setattr("sfumato.comparison.executors.NO_WORKERS_FOR", 1)
    deadly = {"name": "deadly", "file": str(tmp_path / "never")}
    study = sf.Study.from_table(small_table(measures=["renyi", deadly]))
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=":0", silence_logs=50) as cluster,
        worker_without_nanny(cluster),
    ):
        result = study.run(dask=cluster.scheduler_address)
    assert len(result.comparisons[0].failed) == 8
    assert "no workers any more" in result.comparisons[0].failed[0].reason


@contextlib.contextmanager
def worker_without_nanny(cluster):
    command = [sys.executable, "-m", "distributed.cli.dask_worker", cluster.scheduler_address]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    worker = subprocess.Popen(
        [*command, "--no-nanny", "--no-dashboard", "--nthreads", "1"],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        cluster.wait_for_workers(1)
        yield
    finally:
        worker.kill()
        worker.wait()


def test_an_address_without_a_scheduler_is_one_sentence(small_table, monkeypatch):
    monkeypatch.setattr("sfumato.comparison.executors.ANSWER_WITHIN", 1)
    with pytest.raises(ConnectionError, match="no Dask scheduler at"):
        sf.Study.from_table(small_table()).run(dask="tcp://127.0.0.1:9")


SCHEDULER = """
import sys, distributed
if __name__ == "__main__":
    cluster = distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=":0", silence_logs=50
    )
    print(cluster.scheduler_address, flush=True)
    sys.stdin.read()
"""


def test_when_the_scheduler_dies_what_is_finished_is_kept(misbehaving, small_table, tmp_path):
    import dask

    script = tmp_path / "scheduler.py"
    script.write_text(SCHEDULER)
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "2s"}),
        subprocess.Popen(
            [sys.executable, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as scheduler,
    ):
        address = scheduler.stdout.readline().strip()

        def kill_after_the_first(done, total):
            if done == 1:
                scheduler.kill()

        lengths = {"linspace": [1.0, 3.0, 60]}
        table = small_table(
            measures=["renyi"], priors=[{"name": "rbf", "length_scale": lengths, "times": 9}]
        )
        result = sf.Study.from_table(table).run(dask=address, progress=kill_after_the_first)
    comparison = result.comparisons[0]
    assert comparison.measured
    reasons = {cell.reason for cell in comparison.failed}
    assert len(reasons) == 1
    assert "the Dask scheduler is gone; run again to measure what is left" in reasons.pop()
