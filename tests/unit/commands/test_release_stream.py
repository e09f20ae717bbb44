"""`sfumato release --stream`: each state is answered at once, and a stream can be resumed."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from sfumato.commands import cli

CHAIN = (
    '{ name = "markov_chain", initial = [0.4, 0.3, 0.3], '
    "transitions = [[0.4, 0.3, 0.3], [0.4, 0.3, 0.3], [0.4, 0.3, 0.3]], "
    'steps = 4, states = ["home", "work", "bar"] }'
)
SCENARIO = (
    *("--prior", CHAIN, "--secret", 'contexts states=["bar"]'),
    *("--mechanism", "suppress_probabilistic delta=0.1"),
)


@pytest.fixture(autouse=True)
def _restore(fresh_registry):
    """Every command loads the registry anew."""


def run(text, *arguments):
    return CliRunner().invoke(cli, ["release", "--stream", *map(str, arguments)], input=text)


def test_every_line_is_answered_with_the_state_or_the_mark():
    done = run("home\nbar\nwork\nbar\n", *SCENARIO)
    assert done.exit_code == 0, done.output
    answers = done.stdout.splitlines()
    assert len(answers) == 4
    assert answers[0] in ("home", "⊥")
    assert answers[1] == "⊥"
    assert answers[2] in ("work", "⊥")
    assert answers[3] == "⊥"


def test_an_answer_comes_before_the_next_state_is_sent():
    program = "from sfumato.commands import main; main()"
    environment = {**os.environ, "PYTHONUTF8": "1"}
    with subprocess.Popen(
        [sys.executable, "-c", program, "release", "--stream", *SCENARIO],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        env=environment,
    ) as process:
        process.stdin.write("bar\n")
        process.stdin.flush()
        assert process.stdout.readline() == "⊥\n"  # the stream is still open
        process.stdin.write("home\n")
        process.stdin.flush()
        assert process.stdout.readline() in ("home\n", "⊥\n")
        process.stdin.close()
        assert process.wait(timeout=60) == 0


def test_a_resumed_stream_meets_the_same_coins(tmp_path):
    state = tmp_path / "state.json"
    run("home\n", *SCENARIO, "--state", state)
    saved = state.read_text(encoding="utf-8")
    assert json.loads(saved)["time"] == 1
    assert state.stat().st_mode & 0o077 == 0  # the key in it is as confidential as the trace
    first = run("work\nhome\n", *SCENARIO, "--state", state).stdout
    assert json.loads(state.read_text(encoding="utf-8"))["time"] == 3
    state.write_text(saved, encoding="utf-8")
    again = run("work\nhome\n", *SCENARIO, "--state", state).stdout
    assert again == first


def test_the_state_is_kept_before_the_answer_is_shown(tmp_path, monkeypatch):
    from sfumato.commands import release_command

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(release_command, "write_whole", full)
    done = run("home\n", *SCENARIO, "--state", tmp_path / "state.json")
    assert isinstance(done.exception, OSError)
    assert done.stdout == ""


def test_more_states_than_steps_and_unknown_states_are_errors():
    assert "at most 4 states" in str(run("home\n" * 5, *SCENARIO).exception)
    assert "hospital" in str(run("hospital\n", *SCENARIO).exception)


NOISE = (
    *("--prior", "rbf length_scale=3.0 times=3", "--secret", "basic index=1"),
    *("--mechanism", "gaussian_uniform mse=0.1"),
)


def test_numbers_are_answered_and_a_killed_stream_gives_no_second_answer(tmp_path):
    state = tmp_path / "state.json"
    first = run("1.0\n", *NOISE, "--state", state).stdout
    assert 0 < abs(float(first) - 1.0) < 3
    saved = state.read_text(encoding="utf-8")
    second = run("2.0\n3.0\n", *NOISE, "--state", state).stdout
    state.write_text(saved, encoding="utf-8")
    assert run("2.0\n3.0\n", *NOISE, "--state", state).stdout == second
    copied = tmp_path / "copied.json"
    copied.write_text(saved, encoding="utf-8")
    other = run("2.5\n", *NOISE, "--state", copied)  # would tell 0.5 exactly
    assert "answered for another value" in str(other.exception)
    assert other.stdout == ""
    assert "must hold numbers" in str(run("home\n", *NOISE).exception)
    plane = ("--prior", "rbf length_scale=3.0 times=3 dimensions=2", *NOISE[2:])
    assert len(run("1.0,2.0\n", *plane).stdout.split(",")) == 2


def test_a_stream_is_counted_once_in_a_ledger(tmp_path):
    state, ledger = tmp_path / "state.json", tmp_path / "ledger"
    given = (*NOISE, "--state", state, "--ledger", ledger)
    assert "--person" in run("1.0\n", *given).output
    assert run("1.0\n", *given, "--person", "ann").exit_code == 0
    assert run("1.0\n", *given, "--person", "ann").exit_code == 0  # resumed
    again = run("1.0\n", *NOISE, "--ledger", ledger, "--person", "ann")
    assert "released before" in str(again.exception)
    assert again.stdout == ""
    other = run("1.0\n", *given, "--person", "bob")  # ann's stream is not bob's
    assert "must have been counted when it began" in other.output
    assert other.stdout == ""
    # A stream of the same release that began elsewhere has noise of its own for the same steps.
    elsewhere = tmp_path / "elsewhere.json"
    assert run("1.0\n", *NOISE, "--state", elsewhere).exit_code == 0
    twin = run(*("1.0\n", *NOISE, "--state", elsewhere, "--ledger", ledger, "--person", "ann"))
    assert "must have been counted when it began" in twin.output
    assert twin.stdout == ""


def test_the_mark_cannot_be_a_state():
    chain = CHAIN.replace('"work"', '"⊥"')
    done = run("home\n", "--prior", chain, *SCENARIO[2:])
    assert "must not be named '⊥'" in str(done.exception)


def test_a_state_that_is_no_json_is_refused_and_not_shown(tmp_path):
    state = tmp_path / "state.json"
    state.write_text('{"key": "secr', encoding="utf-8")
    done = run("home\n", *SCENARIO, "--state", state)
    assert "must be what the state of a stream of 4 steps was" in str(done.exception)
    assert "secr" not in str(done.exception)
    assert done.stdout == ""
