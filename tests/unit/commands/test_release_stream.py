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


def test_noise_has_no_stream():
    done = run(
        "1.0\n",
        *("--prior", "rbf length_scale=3.0 times=5", "--secret", "basic index=1"),
        *("--mechanism", "gaussian_uniform mse=0.1"),
    )
    assert "decides step by step" in str(done.exception)


def test_the_mark_cannot_be_a_state():
    chain = CHAIN.replace('"work"', '"⊥"')
    done = run("home\n", "--prior", chain, *SCENARIO[2:])
    assert "must not be named '⊥'" in str(done.exception)


def test_a_state_that_is_no_json_is_refused_and_not_shown(tmp_path):
    state = tmp_path / "state.json"
    state.write_text('{"key": "secr', encoding="utf-8")
    done = run("home\n", *SCENARIO, "--state", state)
    assert "must be JSON that a stream has written" in str(done.exception)
    assert "secr" not in str(done.exception)
    assert done.stdout == ""
