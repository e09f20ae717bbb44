"""Streams of Gaussian noise: the batch's law exactly, no second answer, and no looking ahead."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys

import numpy as np
import pytest

import sfumato as sf
from sfumato.release.streams import keyed_generator

COVARIANCE = np.array([[2.0, 1.0, 0.5], [1.0, 1.5, 0.2], [0.5, 0.2, 1.0]])


def releases():
    prior, secret = sf.priors.rbf(length_scale=2.0, times=12), sf.secrets.basic(5)
    yield sf.mechanisms.gaussian_uniform(mse=0.3).protect(prior, secret)
    yield sf.mechanisms.gaussian_optimal(mse=0.3).protect(prior, secret)
    short = sf.priors.rbf(length_scale=2.0, times=3)
    yield sf.mechanisms.gaussian_given(covariance=COVARIANCE).protect(short, sf.secrets.basic(1))
    plane = sf.priors.rbf(length_scale=2.0, times=4, dimensions=2)
    yield sf.mechanisms.gaussian_uniform(mse=0.3).protect(plane, sf.secrets.basic(1))


@pytest.fixture(params=releases(), ids=["uniform", "optimal", "given", "plane"])
def release(request):
    return request.param


def trace_of(release, seed=0):
    return release.prior.belief().sample(np.random.default_rng(seed))


def test_a_stream_answers_bit_for_bit_what_the_batch_does_with_its_key(release):
    trace = trace_of(release)
    stream = release.stream()
    key = bytes.fromhex(stream.state["key"])
    batch = release.channel.sample(trace, keyed_generator(key))
    assert np.array_equal([stream.send(value) for value in trace], batch)


class Units:
    """Standing for a generator: the noise of each unit draw is a column of the noise's factor."""

    def __init__(self, place):
        self.place = place

    def standard_normal(self, shape):
        flat = np.zeros(int(np.prod(shape)))
        if 0 <= self.place < flat.size:
            flat[self.place] = 1.0
        self.place -= flat.size
        return flat.reshape(shape)


def test_the_covariance_of_a_stream_is_that_of_the_channel_exactly(release, monkeypatch):
    """Column by column of the factor: no sampling."""
    steps, size = release.channel.shape[0], release.channel.entries
    zero = np.zeros(release.channel.shape)
    columns = []
    monkeypatch.setattr("sfumato.matrices.matrix.generator_or_secure", lambda rng: rng)
    monkeypatch.setitem(release.channel.__dict__, "grid", 0.0)
    for place in range(2 * size):
        monkeypatch.setattr("sfumato.release.streams.keyed_generator", lambda _, p=place: Units(p))
        stream = release.stream()
        columns.append(np.ravel([stream.send(zero[k]) for k in range(steps)]))
    factor = np.array(columns).T
    assert factor @ factor.T == pytest.approx(release.channel.covariance(), rel=1e-12, abs=1e-14)


def test_answers_do_not_depend_on_the_future_and_are_resumed_at_every_step(release):
    first, second = trace_of(release, 1), trace_of(release, 2)
    whole = release.stream(np.random.default_rng(3))
    answers = [whole.send(value) for value in first]
    for place in range(len(first)):
        stream = release.stream(np.random.default_rng(3))
        mixed = [stream.send(value) for value in [*first[:place], *second[place:]]]
        assert mixed[:place] == answers[:place]
        again = release.stream(np.random.default_rng(3))
        for value in first[:place]:
            again.send(value)
        resumed = release.stream(state=json.dumps(again.state))
        assert [resumed.send(value) for value in first[place:]] == answers[place:]


def test_a_replayed_state_gives_no_second_answer(release):
    value = trace_of(release)[0]
    saved = release.stream().state
    assert len({release.stream(state=saved).send(value) for _ in range(20)}) == 1
    assert len({release.stream().send(value) for _ in range(20)}) == 20


@pytest.mark.parametrize("seed", [None, 0])
def test_the_difference_of_two_values_is_not_told(release, seed):
    """The noise of a step would cancel: z' - z = x' - x, whatever the noise."""
    first, second = trace_of(release, 1), trace_of(release, 2)
    stream = release.stream(seed if seed is None else np.random.default_rng(seed))
    begun, saved = [], [stream.state]
    for value in first[:2]:
        begun.append(stream.send(value))
        saved.append(stream.state)
    for replayed in (release.stream(state=saved[0]), release.stream(state=json.dumps(saved[0]))):
        with pytest.raises(sf.OverBudget, match="step 0 of this stream was answered"):
            replayed.send(second[0])
        assert replayed.send(first[0]) == begun[0]  # a refusal changes nothing
        with pytest.raises(sf.OverBudget, match="step 1 "):
            replayed.send(second[1])
        assert replayed.send(first[1]) == begun[1]
    answer = release.stream(state=saved[2]).send(second[2])  # not answered so far
    assert stream.send(second[2]) == answer
    with pytest.raises(sf.OverBudget, match="step 2 "):
        release.stream(state=saved[2]).send(first[2])


def test_what_was_answered_before_a_state_was_saved_is_not_answered_again(release):
    first, second = trace_of(release, 1), trace_of(release, 2)
    stream = release.stream()
    stream.send(first[0])
    forged = {**stream.state, "time": 0}
    with pytest.raises(sf.OverBudget, match="step 0 "):
        release.stream(state=forged).send(second[0])
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="never copied"):
            copied(stream)


REPLAY = """
import json, sys
import sfumato as sf
prior = sf.priors.rbf(length_scale=2.0, times=12)
release = sf.mechanisms.gaussian_uniform(mse=0.3).protect(prior, sf.secrets.basic(5))
stream = release.stream(state=sys.argv[1])
print(stream.send(float(sys.argv[2])))
"""


def in_another_process(saved, *values):
    found = []
    started = [
        subprocess.Popen(
            [sys.executable, "-c", REPLAY, json.dumps(saved), str(value)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for value in values
    ]
    for process in started:
        out, err = process.communicate(timeout=120)
        found.append(float(out) if out else err)
    return found


def test_processes_that_resume_one_state_at_once_answer_one_value():
    release = next(releases())
    saved = release.stream().state
    found = in_another_process(saved, 1.0, 2.0)
    answers = [answer for answer in found if isinstance(answer, float)]
    assert len(answers) == 1
    assert sum("OverBudget" in str(answer) for answer in found) == 1
    value = float(1 + found.index(answers[0]))
    assert in_another_process(saved, value) == answers  # verbatim
    assert release.stream(state=saved).send(value) == answers[0]


def test_a_record_that_is_lost_cut_or_half_written(release, tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_STREAMS", str(tmp_path / "deep" / "records"))
    trace = trace_of(release)
    stream = release.stream()
    states = [stream.state]
    answers = []
    for value in trace[:2]:
        answers.append(stream.send(value))
        states.append(stream.state)
    (record,) = (tmp_path / "deep" / "records").iterdir()
    assert record.stat().st_mode & 0o077 == 0
    whole = record.read_bytes()
    assert states[0]["key"] not in record.name + whole.decode()
    record.write_bytes(whole[:-3])  # as by a writer who was killed: step 1 was not answered
    with pytest.raises(sf.ParameterError, match="record of the 2 steps"):
        release.stream(state=states[2])
    assert release.stream(state=states[1]).send(trace[1]) == answers[1]
    assert record.read_bytes() == whole
    record.unlink()
    for state in states:
        with pytest.raises(sf.ParameterError, match="must have the record"):
            release.stream(state=state)
    with pytest.raises(sf.ParameterError, match="must have the record"):
        stream.send(trace[2])


def test_what_does_not_belong_is_refused(release):
    stream = release.stream()
    for value in trace_of(release):
        stream.send(value)
    with pytest.raises(sf.ParameterError, match="at most"):
        stream.send(trace_of(release)[0])
    with pytest.raises(sf.ParameterError, match="value must"):
        release.stream().send(np.nan)
    state = release.stream().state
    for change in ({"time": -1}, {"time": 99}, {"key": "00"}, {"time": True}):
        with pytest.raises(sf.ParameterError, match="state must be"):
            release.stream(state={**state, **change})
    with pytest.raises(sf.ParameterError, match="an rng or a state"):
        release.stream(np.random.default_rng(0), state)
    for other in releases():
        if other.mechanism != release.mechanism or other.prior != release.prior:
            with pytest.raises(sf.ParameterError, match="state must"):
                other.stream(state=state)


def test_other_channels_have_no_stream():
    chain = sf.priors.markov_chain.simulated(states=3, tau=0.5, steps=3)
    release = sf.mechanisms.randomised_response(epsilon=1.0).protect(chain, sf.secrets.basic(1))
    with pytest.raises(sf.Incompatible, match="a suppression or added Gaussian noise"):
        release.stream()
