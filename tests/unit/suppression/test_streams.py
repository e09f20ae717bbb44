"""Streams: the answers of the batch, the right law, and coins that fall once."""

import contextlib
import json

import numpy as np
import pytest

import sfumato as sf


@pytest.fixture(scope="module")
def release():
    rng = np.random.default_rng(1)
    chain = sf.priors.markov_chain(
        initial=rng.dirichlet(np.ones(4)),
        transitions=rng.dirichlet(np.ones(4), size=(7, 4)),
        steps=8,
        states=["s", "a", "b", "c"],
    )
    return sf.mechanisms.suppress_segmented(delta=0.3).protect(chain, sf.secrets.contexts({"s"}))


def traces(release, count=20):
    return release.prior.belief().sample(np.random.default_rng(2), count)


def test_the_stream_answers_as_the_batch_does(release):
    for seed, trace in enumerate(traces(release)):
        batch = release.apply(trace, rng=np.random.default_rng(seed))
        stream = release.stream(rng=np.random.default_rng(seed))
        assert tuple(stream.send(state) for state in trace) == batch
        assert all(out in (state, sf.SUPPRESSED) for out, state in zip(batch, trace, strict=True))


def test_answers_do_not_depend_on_the_future(release):
    first, second = traces(release, 2)
    for length in range(9):
        mixed = [*first[:length], *second[length:]]
        outputs = [release.apply(t, rng=np.random.default_rng(5)) for t in (first, mixed)]
        assert outputs[0][:length] == outputs[1][:length]


def test_a_stream_resumes_from_json_at_every_step(release):
    for trace in traces(release, 5):
        whole = release.apply(trace, rng=np.random.default_rng(3))
        stream = release.stream(rng=np.random.default_rng(3))
        answers = []
        for state in trace:
            text = json.dumps(stream.state)
            assert len(text) < 200
            stream = release.stream(state=text)
            answers.append(stream.send(state))
        assert tuple(answers) == whole


def test_a_stream_is_begun_or_resumed_but_not_both(release):
    state = release.stream().state
    with pytest.raises(sf.ParameterError, match="an rng or a state, not both"):
        release.stream(np.random.default_rng(0), state)


def test_resuming_twice_does_not_draw_a_decision_twice(release):
    trace = traces(release, 1)[0]
    stream = release.stream()
    for state in trace[:3]:
        stream.send(state)
    saved, seen = stream.state, set()
    for state in ("a", "b", "c"):
        answers = set()
        for _ in range(50):
            with contextlib.suppress(sf.OverBudget):
                answers.add(release.stream(state=saved).send(state))
        seen |= answers
        assert len(seen) == 1  # the first one's, or refused


@pytest.mark.parametrize("seed", range(5))
def test_a_refused_state_leaves_a_stream_as_it_was(release, seed):
    trace, other = traces(release, 2)
    expected = release.apply(trace, np.random.default_rng(seed))
    stream = release.stream(np.random.default_rng(seed))
    saved = stream.state
    assert tuple(stream.send(state) for state in trace) == expected
    replayed, answers, refused = release.stream(state=saved), [], 0
    for place, state in enumerate(trace):
        probe = release.stream(state={**replayed.state})
        try:
            assert probe.send(other[place]) == expected[place]
        except sf.OverBudget:
            refused += 1
            assert probe.send(state) == expected[place]
        answers.append(replayed.send(state))
    assert tuple(answers) == expected
    assert refused


def test_different_streams_draw_different_decisions():
    chain = sf.priors.markov_chain(initial=[0.5, 0.5], transitions=np.eye(2), steps=64)
    half = sf.mechanisms.suppress_given(probabilities=np.full((64, 2), 0.5))
    release = half.protect(chain, sf.secrets.contexts({0}))
    outputs = {release.apply([0] * 64) for _ in range(20)}
    assert len(outputs) == 20


def test_the_stream_has_the_law_of_the_channel():
    chain = sf.priors.markov_chain(
        initial=[0.5, 0.5], transitions=np.full((2, 2), 0.5), steps=2, states=["s", "x"]
    )
    secret = sf.secrets.contexts({"s"})
    mechanism = sf.mechanisms.suppress_given(probabilities=[[1, 0.25], [0.5, 0.5]])
    release = mechanism.protect(chain, secret)
    rng, count = np.random.default_rng(0), 4_000
    drawn = [release.apply(["x", "s"], rng=rng) for _ in range(count)]
    for output in {*drawn}:
        chance = np.exp(release.channel.log_likelihood(output, ["x", "s"]))
        spread = np.sqrt(chance * (1 - chance) / count)
        assert abs(drawn.count(output) / count - chance) < 6 * spread
    assert release.channel.log_likelihood(["s", "s"], ["x", "s"]) == -np.inf


def test_what_cannot_be_sent_is_refused(release):
    stream = release.stream()
    with pytest.raises(sf.ParameterError, match="states has no"):
        stream.send("nowhere")
    for state in "aabbccaa":
        stream.send(state)
    with pytest.raises(sf.ParameterError, match="at most 8 states"):
        stream.send("a")
    with pytest.raises(sf.ParameterError, match="trace must have 8 states"):
        release.apply(["a"])


@pytest.mark.parametrize(
    "change",
    [
        {"time": 9}, {"time": -1}, {"time": "1"}, {"last": [3, 0]}, {"last": [0, 7]},
        {"last": [0]}, {"time": True}, {"last": [0.5, 1]}, {"key": "00"}, {"key": "xy"}, {"key": 3},
    ],
)  # fmt: skip
def test_a_state_of_something_else_is_refused(release, change):
    state = {**release.stream().state, "time": 2, **change}
    with pytest.raises(sf.ParameterError, match="state must be"):
        release.stream(state=state)
    with pytest.raises(sf.ParameterError, match="state must be"):
        release.stream(state="not JSON")


def other_releases(release):
    chain, secret = release.prior, sf.secrets.contexts({"s"})
    yield sf.mechanisms.suppress_segmented(delta=0.31).protect(chain, secret)
    yield sf.mechanisms.suppress_hybrid(delta=0.3).protect(chain, secret)
    yield sf.mechanisms.suppress_segmented(delta=0.3).protect(chain, sf.secrets.contexts({"a"}))
    table = np.full((8, 4), 0.5)
    yield sf.mechanisms.suppress_given(probabilities=table).protect(chain, secret)


def test_a_state_saved_by_another_release_is_refused(release):
    states = [other.stream().state for other in other_releases(release)]
    for state in states:
        with pytest.raises(sf.ParameterError, match="saved by a stream of this release"):
            release.stream(state=state)
    for other in other_releases(release):
        with pytest.raises(sf.ParameterError, match="saved by a stream of this release"):
            other.stream(state=release.stream().state)
    assert len({state["release"] for state in states}) == len(states)


def test_a_table_that_differs_by_one_entry_is_another_release():
    chain = sf.priors.markov_chain(initial=[0.5, 0.5], transitions=np.eye(2), steps=3)
    first, second = (
        sf.mechanisms.suppress_given(probabilities=[[1, 0.5], [1, 0.5], [1, chance]]).protect(
            chain, sf.secrets.contexts({0})
        )
        for chance in (0.5, 0.5 + 1e-12)
    )
    with pytest.raises(sf.ParameterError, match="this release"):
        second.stream(state=first.stream().state)


def test_a_release_designed_again_resumes_the_stream(release):
    again = release.mechanism.protect(release.prior, release.secret)
    stream = release.stream(rng=np.random.default_rng(4))
    assert stream.send("a") in ("a", sf.SUPPRESSED)
    assert again.stream(state=stream.state).state == stream.state


def test_set_labels_are_part_of_a_release(release):
    secret, inner = sf.secrets.contexts({"s"}), sf.mechanisms.suppress_simulatable(delta=0.3)
    one, other = (
        sf.mechanisms.suppress_set_labels(mechanism=inner, labels=labels).protect(
            release.prior, secret
        )
        for labels in ({}, {"a": {"a", "z"}})
    )
    np.testing.assert_array_equal(one.channel.start, other.channel.start)
    np.testing.assert_array_equal(one.channel.after, other.channel.after)
    assert one.stream(state=one.stream().state).state["time"] == 0
    with pytest.raises(sf.ParameterError, match="this release"):
        one.stream(state=other.stream().state)


def test_a_generator_of_the_wrong_type_is_refused(release):
    with pytest.raises(TypeError, match="rng must be"):
        release.stream(rng=np.random.RandomState(0))
