"""Fault classes x families: what must hold after each, whatever the moment.

The table is `TABLE`, below: every fault in every family names the test that shows what holds after
it, or says why it cannot occur; `test_the_table_names_tests` holds it to that.

*resumed*: the same command finds what it would have found; *paired*: no released trace without its
certificate; *once*: no answer is given twice; and in every family no file is half-written.
A moment is a number of file operations below the test's folder, counted by an audit hook in a child
that has been forked, so that every moment can be hit and nothing depends on a clock.
A family is a command, what its outcome is, and what must hold of it: to add one, write these three.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import pandas as pd
import pytest

import sfumato as sf
from sfumato.commands import main
from sfumato.comparison.cache import Cache

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")

STUDY = """title = "Small"
priors = [{ name = "rbf", length_scale = 2.0, times = 5 }]
secrets = [{ name = "basic", index = 2 }]
mechanisms = [{ name = "gaussian_uniform", mse = { linspace = [1, 3, 3] } }]
measures = ["renyi", "posterior_interval"]
"""
CHAIN = (
    '{ name = "markov_chain", initial = [0.6, 0.4], transitions = [[0.7, 0.3], [0.4, 0.6]], '
    'steps = 6, states = ["home", "bar"] }'
)
SCENARIO = (
    *("--prior", CHAIN, "--secret", 'contexts states=["bar"]'),
    *("--mechanism", "suppress_probabilistic delta=0.3", "--seed", "3"),
)
LINES = ["home", "bar", "home", "home", "bar", "home"]


class Fault:
    """What happens at the nth file operation below a folder: a signal, or an error from then on."""

    def __init__(self, kind, moment, folder):
        self.kind, self.moment, self.folder, self.seen = kind, moment, str(folder), 0

    def __call__(self, event, given):
        if event not in ("open", "os.rename", "os.mkdir") or not str(given[0]).startswith(
            self.folder
        ):
            return
        if event == "open" and not (given[2] or 0) & (os.O_WRONLY | os.O_RDWR):
            return
        self.seen += 1
        if isinstance(self.kind, signal.Signals):
            if self.seen == self.moment:
                os.kill(os.getpid(), self.kind)
        elif self.seen >= self.moment:
            raise OSError(self.kind, os.strerror(self.kind))


def command(folder, words, *, fault=None, lines=()):
    """Run the command in a child, and return its status, what it printed and what it complained."""
    (folder.parent / "in").write_text("".join(f"{line}\n" for line in lines))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the child uses none of this process's threads
        child = os.fork()
    if child == 0:
        status = 70
        try:
            for number, name in enumerate(("in", "out", "err")):
                mode = os.O_RDONLY if name == "in" else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
                os.dup2(os.open(folder.parent / name, mode), number)
            sys.stdin, sys.stdout, sys.stderr = (
                os.fdopen(number, "r" if number == 0 else "w", encoding="utf-8", closefd=False)
                for number in range(3)
            )
            sys.argv = ["sfumato", *map(str, words)]
            signal.signal(signal.SIGINT, signal.default_int_handler)
            signal.signal(signal.SIGHUP, signal.SIG_DFL)  # which nohup has children ignore
            if fault is not None:
                sys.addaudithook(fault)
            main()
            status = 0
        except SystemExit as end:
            status = int(end.code or 0)
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    _, ended = os.waitpid(child, 0)
    told = [(folder.parent / name).read_text(encoding="utf-8") for name in ("out", "err")]
    return os.waitstatus_to_exitcode(ended), *told


# The table ----------------------------------------------------------------------------------------

HERE = "test_faults.py::"
LEDGER = "../test_ledger.py::"
NUMBERS = "../test_gaussian_streams.py::"
DASK = "test_dask_cluster.py::"
COMMAND = "../commands/test_release_stream.py::"
NO_CACHE = "it keeps no cache"
NO_WORKERS = "it runs in one process"
SAME_FILE = "its state is written by the function that writes a stream's of states"
KILLED_NUMBERS = "test_numbers_are_answered_and_a_killed_stream_gives_no_second_answer"
TABLE = {
    "kill, interrupt, hang-up": {
        "study": f"{HERE}test_after_a_stop",
        "release": f"{HERE}test_after_a_stop",
        "stream": f"{HERE}test_after_a_stop",
        "stream of numbers": f"{COMMAND}{KILLED_NUMBERS}",
        "ledger": f"{LEDGER}test_a_writer_killed_at_any_moment_leaves_a_sound_ledger",
    },
    "full disk, read-only disk": {
        "study": f"{HERE}test_after_a_stop",
        "release": f"{HERE}test_after_a_stop",
        "stream": f"{HERE}test_after_a_stop",
        "stream of numbers": SAME_FILE,
        "ledger": f"{LEDGER}test_what_a_killed_writer_left_is_mended",
    },
    "corrupt, cut, foreign file": {
        "study": f"{HERE}test_after_damage",
        "release": NO_CACHE,
        "stream": f"{HERE}test_a_stream_whose_state_is_damaged_answers_nothing",
        "stream of numbers": f"{NUMBERS}test_what_does_not_belong_is_refused",
        "ledger": f"{LEDGER}test_a_bent_ledger_is_noticed",
    },
    "several at once": {
        "study": f"{HERE}test_a_cache_that_two_runs_share",
        "release": NO_CACHE,
        "stream": f"{COMMAND}test_a_resumed_stream_meets_the_same_coins",
        "stream of numbers": f"{NUMBERS}test_a_replayed_state_gives_no_second_answer",
        "ledger": f"{LEDGER}test_writers_at_once_lose_nothing",
    },
    "a worker that dies": {
        "study": f"{HERE}test_after_a_death_the_worker_is_replaced",
        "release": NO_WORKERS,
        "stream": NO_WORKERS,
        "stream of numbers": NO_WORKERS,
        "ledger": NO_WORKERS,
    },
    "a scheduler that dies": {
        "study": f"{DASK}test_when_the_scheduler_dies_what_is_finished_is_kept",
        "release": NO_WORKERS,
        "stream": NO_WORKERS,
        "stream of numbers": NO_WORKERS,
        "ledger": NO_WORKERS,
    },
}


def test_the_table_names_tests():
    families = {frozenset(row) for row in TABLE.values()}
    assert len(families) == 1
    for place in {place for row in TABLE.values() for place in row.values()}:
        if place not in (NO_CACHE, NO_WORKERS, SAME_FILE):
            file, _, name = place.partition("::")
            text = (Path(__file__).parent / file).read_text(encoding="utf-8")
            assert f"\ndef {name}(" in text, place


# Families -----------------------------------------------------------------------------------------


class Study:
    """The same command goes on where it was."""

    moments = (1, 4, 9, 13)

    def words(self, folder):
        (folder.parent / "study.toml").write_text(STUDY)
        return (
            *("compare", folder.parent / "study.toml"),
            *("--cache", folder / "cache", "--csv", folder / "out.csv"),
        )

    def check(self, folder, _stopped):
        whole = pd.read_csv(folder / "out.csv").drop(columns="seconds")
        fresh = sf.Study.read(folder.parent / "study.toml").run().to_pandas()
        assert whole.value.tolist() == pytest.approx(fresh.value.tolist(), rel=0, abs=0)
        assert len(whole) == 6
        for file in (folder / "cache").rglob("[!.]*.json"):
            cache = Cache(folder / "cache")
            assert cache.get(file.stem) is not None
            assert not cache.problems

    def go_on(self, folder):
        status, _, err = command(folder, self.words(folder))
        assert status == 0, err


class Release:
    """No released trace without its certificate, and neither is half a file."""

    moments = (1, 2, 3, 4)

    def words(self, folder):
        rows = "".join(f"ann,{time},{state}\n" for time, state in enumerate(LINES))
        (folder.parent / "trace.csv").write_text(f"user,time,state\n{rows}")
        return (
            *("release", folder.parent / "trace.csv", *SCENARIO, "--force"),
            *("--output", folder / "out.csv", "--certificate", folder / "certificate.json"),
        )

    def check(self, folder, _stopped):
        if (folder / "out.csv").exists():
            assert len(pd.read_csv(folder / "out.csv")) == len(LINES)
            assert "guarantees" in (folder / "certificate.json").read_text()
        if (folder / "certificate.json").exists():
            json.loads((folder / "certificate.json").read_text())

    def go_on(self, folder):
        self.check(folder, None)
        status, _, err = command(folder, self.words(folder))
        assert status == 0, err
        assert (folder / "out.csv").exists()


class Stream:
    """No answer is given twice, and the resumed stream gives those that are left."""

    moments = (1, 2, 7, 8)

    def words(self, folder):
        return ("release", "--stream", *SCENARIO, "--state", folder / "state.json")

    def __init__(self):
        self.later = []

    def go_on(self, folder):
        state = folder / "state.json"
        self.done = json.loads(state.read_text())["time"] if state.exists() else 0
        status, out, err = command(folder, self.words(folder), lines=LINES[self.done :])
        assert status == 0, err
        self.later = out.splitlines()

    def check(self, folder, stopped):
        earlier = stopped[1].splitlines()
        _, whole, _ = command(folder, ("release", "--stream", *SCENARIO), lines=LINES)
        assert len(earlier) <= self.done <= len(earlier) + 1  # one may be lost, none is repeated
        assert earlier == whole.splitlines()[: len(earlier)]
        assert self.later == whole.splitlines()[self.done :]


FAMILIES = {"study": Study, "release": Release, "stream": Stream}
FAULTS = {
    "kill": signal.SIGKILL,
    "interrupt": signal.SIGINT,
    "hang-up": signal.SIGHUP,
    "full disk": errno.ENOSPC,
    "read-only disk": errno.EROFS,
}


STOPS = [
    (family, fault, moment)
    for family in FAMILIES
    for fault in FAULTS
    for moment in (FAMILIES[family].moments if fault != "read-only disk" else (1,))
]


@pytest.mark.parametrize(("family", "fault", "moment"), STOPS)
def test_after_a_stop(family, fault, moment, tmp_path):
    one, folder, kind = FAMILIES[family](), tmp_path / "work", FAULTS[fault]
    folder.mkdir()
    stopped = command(folder, one.words(folder), fault=Fault(kind, moment, folder), lines=LINES)
    expected = {signal.SIGKILL: -signal.SIGKILL, signal.SIGHUP: -signal.SIGHUP}
    expected |= {signal.SIGINT: 130, errno.ENOSPC: 2, errno.EROFS: 2}
    assert stopped[0] == expected[kind], stopped[2]
    assert "Traceback" not in stopped[2]
    if kind in (errno.ENOSPC, errno.EROFS, signal.SIGINT):
        assert not list(folder.rglob(".*")), "nothing is left beside a file"
    one.go_on(folder)
    one.check(folder, stopped)


# Caches -------------------------------------------------------------------------------------------


def cut(file):
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def corrupt(file):
    file.write_text(file.read_text().replace('"value":', '"value": 1'), encoding="utf-8")


def rename(file):
    file.rename(file.with_name(f"{'0' * 64}.json"))


def replace_by_another(file):
    other = max(file.parent.parent.rglob("*.json"))
    file.write_bytes(other.read_bytes() if other != file else b"{}")


def replace_by_folder(file):
    file.unlink()
    file.mkdir()


def write_from_another_version(file):
    checksum, _, text = file.read_text().partition("\n")
    file.write_text(f"{checksum}\n{text.replace('outcome', 'result')}", encoding="utf-8")


def write_binary(file):
    file.write_bytes(b"\xff\xfe\x00")


DAMAGE = (
    cut,
    corrupt,
    rename,
    replace_by_another,
    replace_by_folder,
    write_from_another_version,
    write_binary,
)


@pytest.fixture
def study(tmp_path):
    (tmp_path / "study.toml").write_text(STUDY)
    return sf.Study.read(tmp_path / "study.toml")


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda damage: damage.__name__)
def test_after_damage(damage, study, tmp_path):
    before = study.run(cache=tmp_path / "cache").to_pandas().value.tolist()
    damage(min((tmp_path / "cache").rglob("*.json")))
    after = study.run(cache=tmp_path / "cache")
    assert after.to_pandas().value.tolist() == before
    assert bool(after.problems) == (damage is not rename)  # which only looks like one that is new


def test_a_cache_that_two_runs_share(study, tmp_path):
    found = []

    def run():
        found.append(study.run(cache=tmp_path / "cache"))

    runs = [threading.Thread(target=run) for _ in range(3)]
    for thread in runs:
        thread.start()
    for thread in runs:
        thread.join()
    fresh = study.run().to_pandas().value.tolist()
    assert [result.to_pandas().value.tolist() for result in found] == [fresh] * 3
    assert not any(result.problems for result in found)


@pytest.mark.parametrize("damage", [cut, write_binary], ids=lambda damage: damage.__name__)
def test_a_stream_whose_state_is_damaged_answers_nothing(damage, tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    one = Stream()
    assert command(folder, one.words(folder), lines=LINES[:2])[0] == 0
    damage(folder / "state.json")
    status, out, err = command(folder, one.words(folder), lines=LINES[2:])
    assert (status, out) == (2, "")
    assert "must be what the state of a stream of 6 steps was" in err


# Workers; those of a cluster, and its scheduler, die in test_dask_cluster.py ----------------------


def test_after_a_death_the_worker_is_replaced(misbehaving, small_table, tmp_path):
    deadly = {"name": "deadly", "file": str(tmp_path / "marker"), "once": "yes"}
    result = sf.Study.from_table(small_table(measures=["renyi", deadly])).run(jobs=2)
    # Two scenarios may be under way when the file is made; each is tried again.
    assert not result.comparisons[0].failed
    assert len(result.comparisons[0].measured) == 8


def test_after_two_deaths_the_cell_has_failed_and_the_rest_goes_on(
    misbehaving, small_table, tmp_path
):
    deadly = {"name": "deadly", "file": str(tmp_path / "never")}
    table = small_table(measures=["renyi"])
    fine = {key: table[key] for key in table if key != "title"}
    bad = {**fine, "measures": [deadly], "mechanisms": [{"name": "gaussian_uniform", "mse": 1.0}]}
    bad["priors"] = [{"name": "rbf", "length_scale": 1.0, "times": 9}]
    study = sf.Study.from_table({"title": "x", "parts": [bad, fine]})
    dead, alive = study.run(jobs=2, cache=tmp_path / "c").comparisons
    assert len(alive.measured) == 4
    assert len(dead.failed) == 1
    assert "died (exit status 7), 2 times" in dead.failed[0].reason


# Ctrl-C in the middle of one computation ----------------------------------------------------------

LONG = {
    "one instruction": ("basic index=1", "counting", "rbf length_scale=2 times=4"),
    "a factorisation": ("every_point", "mutual_information", "rbf length_scale=6 times=4000"),
    "a search": (
        *("contexts states=[1]", "posterior_gap"),
        "markov_chain initial=[0.5,0.5] transitions=[[0.8,0.2],[0.2,0.8]] steps=300",
    ),
}
COUNTING = '''
import sfumato as sf
from pathlib import Path
from sfumato.parameters import declare

@declare
class Counting(sf.LossMeasure):
    """Counts for hours in one instruction, which no signal of Python's interrupts."""
    name = "counting"
    reads = ((object, object, object),)

    @property
    def quantity(self):
        return sf.Quantity("count")

    def evaluate(self, belief, question, channel):
        return sf.Reading(value=float(sum(range(10**12))), bound="upper")

@sf.hookimpl
def sfumato_measures():
    return [Counting]
'''


@pytest.mark.parametrize("name", LONG)
def test_ctrl_c_ends_the_command_in_the_middle_of_one_computation(name, tmp_path):
    secret, measure, prior = LONG[name]
    noise = "suppress_segmented delta=0.1" if "contexts" in secret else "gaussian_optimal mse=0.1"
    (tmp_path / "counting.py").write_text(COUNTING)
    words = ("--prior", prior, "--secret", secret, "--mechanism", noise, "--measure", measure)
    with subprocess.Popen(
        [sys.executable, "-m", "sfumato", "compare", "--plugin", tmp_path / "counting.py", *words,
         "--cache", tmp_path / "cache"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A run in the background ignores Ctrl-C, and its children would inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509
    ) as process:  # fmt: skip
        time.sleep(3)
        assert process.poll() is None, "the computation takes minutes"
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "interrupted" in told
    assert "Traceback" not in told


def test_a_command_dies_with_the_process_that_was_started():
    program = (
        "import time; from sfumato.commands.supervisor import supervise\n"
        "supervise(lambda: (print('begun', flush=True), time.sleep(1000)))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "begun\n"
        process.kill()
        process.communicate(timeout=20)  # until nobody holds the other end of the pipe


def test_no_alarm_outlives_a_command_that_ctrl_c_has_stopped():
    program = (
        "import atexit, os, signal, time; from sfumato.commands.supervisor import supervise\n"
        "def work():\n"
        "    print('begun', flush=True)\n"
        "    try: time.sleep(1000)\n"
        "    except KeyboardInterrupt: os._exit(130)\n"
        "atexit.register(lambda: print(signal.getitimer(signal.ITIMER_REAL)))\n"
        "supervise(work)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "begun\n"
        time.sleep(0.5)  # until who was started waits
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=20)[0] == "(0.0, 0.0)\n"
    assert process.returncode == 130
