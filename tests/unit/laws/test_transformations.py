"""What laws do to channels, questions and classes."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.channels import AdditiveGaussian, NoisyVectors, Suppression, Symbols
from sfumato.laws import check
from sfumato.laws.brute_force import Table
from sfumato.laws.law import NotHere
from sfumato.laws.transformations import (
    beginning,
    channel_of_permuted_states,
    garble,
    identity,
    member_at,
    question_of_permuted_states,
    question_of_permuted_times,
    silent,
)
from sfumato.matrices import Dense
from sfumato.questions import Displacements
from sfumato.values import SUPPRESSED
from sfumato_fano.brute_force import table_information

CHAIN = sf.priors.markov_chain(
    initial=[0.5, 0.3, 0.2],
    transitions=[[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.0, 0.1, 0.9]],
    steps=3,
).belief()
STATES = CHAIN.states
rng = np.random.default_rng(0)
CHANNELS = {
    "symbols": Symbols(STATES, ("a", "b"), rng.dirichlet([1, 1], size=(3, 3))),
    "memoryless": Suppression.memoryless(STATES, rng.uniform(size=(3, 3))),
    "last release": Suppression(STATES, rng.uniform(size=(3, 3)), rng.uniform(size=(3, 3, 3, 3))),
}


@pytest.mark.parametrize("name", CHANNELS)
def test_a_garbled_channel_still_has_a_law_and_tells_less(name):
    channel = CHANNELS[name]
    processed = garble(channel, np.random.default_rng(1))
    assert Table.of(CHAIN, processed).joint.sum() == pytest.approx(1.0)
    assert (
        table_information(Table.of(CHAIN, processed))
        <= table_information(Table.of(CHAIN, channel)) + 1e-12
    )


@pytest.mark.parametrize("name", CHANNELS)
def test_silence_tells_nothing_and_identity_everything(name):
    channel = CHANNELS[name]
    assert table_information(Table.of(CHAIN, silent(channel, CHAIN))) == pytest.approx(
        0.0, abs=1e-12
    )
    table = Table.of(CHAIN, identity(channel))
    entropy = -sum(p * np.log(p) for p in table.joint.sum(axis=1) if p > 0)
    assert table_information(Table.of(CHAIN, identity(channel))) == pytest.approx(entropy)


@pytest.mark.parametrize("name", CHANNELS)
def test_permuted_states_describe_the_same_joint_law(name):
    channel, order = CHANNELS[name], [2, 0, 1]
    before = Table.of(CHAIN, channel)
    after = Table.of(CHAIN.permuted(order), channel_of_permuted_states(channel, order))
    assert table_information(after) == pytest.approx(table_information(Table.of(CHAIN, channel)))
    new = np.argsort(order)
    for row, trace in enumerate(before.traces):
        moved = after.row(new[state] for state in trace)
        columns = [after.outputs.index(output) for output in before.outputs]
        np.testing.assert_allclose(after.joint[moved, columns], before.joint[row])


def test_permuted_events_have_the_same_probability():
    question = sf.secrets.contexts({1}).question(CHAIN)
    permuted = question_of_permuted_states(question, [2, 0, 1])
    before = (question.masks * CHAIN.marginals()).sum(axis=(1, 2))
    after = (permuted.masks * CHAIN.permuted([2, 0, 1]).marginals()).sum(axis=(1, 2))
    np.testing.assert_allclose(after, before)


def test_permuted_times_move_the_entries_along():
    belief = sf.priors.rbf(length_scale=2.0, times=3).belief()
    order = [2, 0, 1]
    moved = question_of_permuted_times(Displacements((((0,), (2,)),), 1.0), order, belief)
    old = belief.covariance.block([0, 2], [0, 2])
    entries = [ball[0] for ball in moved.groups[0]]
    np.testing.assert_array_equal(belief.permuted(order).covariance.block(entries, entries), old)


def test_only_the_beginning_is_released():
    channel = beginning(CHANNELS["last release"], 1)
    drawn = channel.sample_many(np.zeros((50, 3), dtype=int), np.random.default_rng(0))
    assert set(drawn[:, 1:].reshape(-1)) == {SUPPRESSED}
    assert Table.of(CHAIN, channel).joint.sum() == pytest.approx(1.0)


def test_more_noise_is_more_in_the_order_of_matrices():
    channel = AdditiveGaussian(Dense([[1.0, 0.3], [0.3, 0.5]]))
    louder = garble(channel, np.random.default_rng(0))
    extra = louder.covariance() - channel.covariance()
    assert np.linalg.eigvalsh(extra)[0] >= -1e-12
    assert np.trace(extra) > 0


def test_noisy_vectors_are_garbled_by_noise():
    channel = NoisyVectors((0, 1), [[[0.0], [1.0]]], scale=0.5)
    assert garble(channel, np.random.default_rng(0)).scale > channel.scale


def test_unknown_channels_are_passed_over():
    for operation in (lambda c: garble(c, rng), lambda c: silent(c, None), identity):
        with pytest.raises(NotHere):
            operation(object())


def test_members_of_a_class():
    interval = sf.priors.rbf(length_scale=sf.Interval(2, 4), times=5)
    assert member_at(interval, 0.0).length_scale == 2.0
    assert member_at(interval, 1.0).length_scale == 4.0
    several = sf.priors.rbf(length_scale=sf.AnyOf(2.0, 3.0, 4.0), times=5)
    assert member_at(several, 0.5).length_scale == 3.0


def test_tables_for_each_time_are_listed_along_their_states():
    prior = sf.priors.markov_chain([0.4, 0.1, 0.5], np.eye(3), steps=2)
    emission = [[[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]]] * 2
    mechanism = sf.mechanisms.emission_given(emission=emission)
    secret = sf.secrets.contexts([1])
    check("invariance.listing", prior=prior, secret=secret, mechanism=mechanism, seed=3)


def test_symbols_named_after_states_keep_their_names_in_another_order():
    prior = sf.priors.markov_chain([0.4, 0.1, 0.5], np.full((3, 3), 1 / 3), steps=2)
    emission = [[0.0, 0.7, 0.3], [1.0, 0.0, 0.0], [0.4, 0.6, 0.0]]
    mechanism = sf.mechanisms.emission_given(emission=emission)
    secret = sf.secrets.contexts([1])
    check("invariance.listing", prior=prior, secret=secret, mechanism=mechanism, seed=5733)
