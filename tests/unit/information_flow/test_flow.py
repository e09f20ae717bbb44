"""Capacities over all laws, entropies, and refinement with its two kinds of proof."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.beliefs import Markov
from sfumato.channels import Symbols
from sfumato.questions import StateAt
from sfumato.views import view_of
from sfumato_information_flow.measures import shannon_capacity
from sfumato_information_flow.refinement import refinement, refines


def drawn_channel(seed, values, outs=4):
    return np.random.default_rng(seed).dirichlet(np.full(outs, 0.6), size=values)


def read(measure, laws, prior=None):
    count = len(laws)
    prior = np.full(count, 1.0 / count) if prior is None else prior
    belief = Markov(prior, np.empty((0, count, count)))
    channel = Symbols(belief.states, tuple(range(laws.shape[1])), laws[None])
    return measure.evaluate(belief, StateAt.of(belief, [0]), channel)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), values=st.integers(2, 5))
def test_no_law_of_the_secret_beats_a_capacity(seed, values):
    laws, rng = drawn_channel(seed, values), np.random.default_rng(seed + 1)
    factor = read(sf.measures.bayes_capacity(), laws).value
    gain = read(sf.measures.bayes_capacity(form="additive"), laws).value
    shannon = read(sf.measures.shannon_capacity(), laws)
    for alpha in (0.3, 1.0, 10.0):
        prior = rng.dirichlet(np.full(values, alpha))
        joint = prior[:, None] * laws
        success = joint.max(axis=0).sum()
        assert success <= factor * prior.max() * (1 + 1e-12)
        assert success <= gain + prior.max() + 1e-12
        some = joint > 0
        told = (joint[some] * np.log((joint / prior[:, None] / joint.sum(axis=0))[some])).sum()
        assert told <= shannon.value + 1e-12
    assert shannon.bound == "exact"
    low, high = shannon_capacity(laws)
    assert 0.0 <= high - low <= 1.1e-11


@pytest.mark.parametrize("flip", [0.01, 0.11, 0.3, 0.5])
def test_the_capacity_of_a_symmetric_channel(flip):
    laws = np.array([[1 - flip, flip], [flip, 1 - flip]])
    entropy = -sum(p * math.log(p) for p in (flip, 1 - flip))
    assert shannon_capacity(laws)[1] == pytest.approx(math.log(2) - entropy, abs=1e-11)


def test_the_capacity_of_an_erasure_channel():
    laws = np.array([[0.7, 0.0, 0.3], [0.0, 0.7, 0.3]])
    assert shannon_capacity(laws)[1] == pytest.approx(0.7 * math.log(2), abs=1e-11)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), values=st.integers(2, 4))
def test_entropy_left_is_entropy_less_information(seed, values):
    laws = drawn_channel(seed, values)
    prior = np.random.default_rng(seed + 2).dirichlet(np.ones(values))
    left = read(sf.measures.remaining_entropy(), laws, prior).value
    told = read(sf.measures.mutual_information(about="secret"), laws, prior).value
    assert left + told == pytest.approx(-(prior @ np.log(prior)), rel=1e-9)
    guesses = read(sf.measures.guessing_entropy(), laws, prior).value
    assert 1.0 <= guesses <= float(np.arange(1, values + 1) @ np.sort(prior)[::-1]) + 1e-12


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), values=st.integers(2, 4))
def test_a_post_processing_is_refined_by_its_channel(seed, values):
    rng = np.random.default_rng(seed)
    first = drawn_channel(seed, values)
    found = refinement(first, first @ rng.dirichlet(np.ones(3), size=4))
    assert found.holds
    assert found.processing.sum(axis=1) == pytest.approx(np.ones(4))


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), values=st.integers(2, 4))
def test_where_there_is_none_a_gain_shows_it(seed, values):
    """Either B = A R is shown by R, or some gain makes B tell more than A: never neither."""
    first, second = drawn_channel(seed, values), drawn_channel(seed + 7, values, outs=3)
    found = refinement(first, second)
    if found.holds:
        assert first @ found.processing == pytest.approx(second, abs=1e-7)
        return
    measure = sf.measures.g_vulnerability(gain=found.gain)
    assert read(measure, second).value > read(measure, first).value + 1e-9


def test_refinement_of_releases():
    chain = sf.priors.markov_chain("stationary", [[0.8, 0.2], [0.3, 0.7]], steps=4)
    secret = sf.secrets.basic(1)
    told = sf.mechanisms.suppress_given(probabilities=[[0.0, 0.0]] * 4).protect(chain, secret)
    noisy = sf.mechanisms.randomised_response(epsilon=1.0).protect(chain, secret)
    assert refines(chain, secret, told, noisy).holds
    assert not refines(chain, secret, noisy, told).holds
    with pytest.raises(sf.OutsideHypotheses, match="one secret variable"):
        refines(chain, sf.secrets.every_point(), told, noisy)


def test_an_iteration_that_is_not_done_is_no_floor():
    moves = [[0.56, 0.0, 0.44], [0.2, 0.8, 0.0], [0.25, 0.67, 0.08]]
    chain, secret = sf.priors.markov_chain("stationary", moves, steps=8), sf.secrets.basic(1)
    for scale in (20.0, 200.0):
        mechanism = sf.mechanisms.laplace_count(states=[1, 2], scale=scale)
        release = mechanism.protect(chain, secret)
        loss = sf.measures.shannon_capacity().loss(chain, secret, release)
        view = view_of(chain.belief(), secret.question(chain.belief()), release.channel)
        (above,) = view.upper
        law = np.full(3, 1 / 3)
        for _ in range(20_000):  # the same bound, D(l_s || q) of the worst value, nearly converged
            distances = above.likelihoods * np.log(above.likelihoods / (law @ above.likelihoods))
            distances = distances.sum(axis=1)
            law = law * np.exp(200.0 * (distances - distances.max()))
            law /= law.sum()
        assert loss.floor <= distances.max() * (1 + 1e-9) <= loss.ceiling * (1 + 1e-9)
