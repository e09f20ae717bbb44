"""Statistical tests go both ways: the honest is accepted, the dishonest rejected."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.beliefs import Markov
from sfumato.channels import AdditiveGaussian, NoisyVectors, Suppression, Symbols
from sfumato.laws.attacks import Attempt, demonstrated_loss
from sfumato.laws.goodness_of_fit import exchangeability, gaussian_fit, pairings, worst_p_value
from sfumato.laws.law import NotHere
from sfumato.matrices import Dense

LEVEL = 1e-9
COVARIANCE = np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 0.0]])


def draws(factor, count=100_000, seed=0):
    rng = np.random.default_rng(seed)
    root = np.array([[1.0, 0.0], [0.5, np.sqrt(0.75)], [0.0, 0.0]])
    return factor * rng.standard_normal((count, 2)) @ root.T


@pytest.mark.parametrize("seed", range(20))
def test_the_right_scale_is_accepted(seed):
    assert gaussian_fit(draws(1.0, seed=seed), COVARIANCE, 0.0)[0] > 1e-4


@pytest.mark.parametrize("factor", [0.7, 1.3, 0.95])
def test_a_wrong_scale_is_rejected(factor):
    assert gaussian_fit(draws(factor), COVARIANCE, 0.0)[0] < LEVEL


WRONG = {
    "a mean": lambda noise: noise + np.array([0.05, 0.0, 0.0]),
    "no correlation": lambda noise: (
        noise * np.array([1.0, 0.0, 0.0]) + np.roll(noise, 7, axis=0) * np.array([0.0, 1.0, 0.0])
    ),
    "noise where there should be none": lambda noise: noise + np.array([0.0, 0.0, 1e-3]),
    "repeated calls": lambda noise: np.repeat(noise[::2], 2, axis=0),
    "calls repeated in twos": lambda noise: noise.reshape(-1, 4, 3)[:, [0, 1, 0, 1]].reshape(-1, 3),
    "calls repeated out of step": lambda noise: np.repeat(noise[::2], 2, axis=0)[1:],
    "calls answered by opposites": lambda noise: (
        noise * np.resize([[1.0], [0.0]], (len(noise), 1))
        - np.roll(noise, 1, axis=0) * np.resize([[0.0], [1.0]], (len(noise), 1))
    ),
    "another shape": lambda noise: np.sign(noise) * np.sqrt(np.diag(COVARIANCE)),
}


@pytest.mark.parametrize("name", WRONG)
def test_other_ways_to_be_wrong_are_rejected(name):
    assert gaussian_fit(WRONG[name](draws(1.0)), COVARIANCE, 0.0)[0] < LEVEL


@pytest.mark.parametrize(
    "channel",
    [
        Symbols((0, 1), ("a", "b"), [[[0.3, 0.7], [0.9, 0.1]]] * 2),
        Suppression.memoryless((0, 1), [[0.2, 0.5], [1.0, 0.0]]),
        Suppression((0, 1), np.full((2, 2), 0.5), np.full((2, 2, 2, 2), 0.9)),
        NoisyVectors((0, 1), [[[0.0], [1.0]]] * 2, scale=0.5),
    ],
    ids=["symbols", "memoryless", "last release", "vectors"],
)
def test_emissions_are_accepted_as_they_are(channel):
    rng = np.random.default_rng(1)
    outputs = [channel.sample((0, 1), rng) for _ in range(4_000)]
    assert worst_p_value(channel, (0, 1), outputs)[0] > 1e-4


COIN = Suppression.memoryless((0, 1), [[0.5, 0.5]] * 3)
REPEATED = {
    "in pairs": lambda outputs: [outputs[k // 2] for k in range(len(outputs))],
    "out of step": lambda outputs: [outputs[(k + 1) // 2] for k in range(len(outputs))],
    "in twos": lambda outputs: [outputs[k // 4 * 2 + k % 2] for k in range(len(outputs))],
    "from a small stock": lambda outputs: [outputs[k % 64] for k in range(len(outputs))],
    "at one time only": lambda outputs: [
        (*here[:2], outputs[k // 2][2]) for k, here in enumerate(outputs)
    ],
}


@pytest.mark.parametrize("name", REPEATED)
def test_an_emission_that_repeats_calls_is_rejected(name):
    rng = np.random.default_rng(4)
    outputs = REPEATED[name]([COIN.sample((0, 1, 0), rng) for _ in range(1_000)])
    assert worst_p_value(COIN, (0, 1, 0), outputs)[0] < LEVEL


def test_the_order_of_independent_outputs_is_accepted_as_often_as_stated():
    rng = np.random.default_rng(5)
    odds = [0.5, 0.3, 0.2]
    small = sum(
        exchangeability(rng.choice(3, size=(40, 2), p=odds).tolist())[0] <= 0.05
        for _ in range(1_000)
    )
    assert small <= 0.05 * 1_000


@pytest.mark.parametrize("count", [2, 3, 9, 100])
def test_pairs_share_no_draw_and_lie_equally_far_apart(count):
    for first, second in pairings(count):
        used = [*first, *second]
        assert len(set(used)) == len(used)
        assert set(used) <= set(range(count))
        assert len(set(second - first)) == 1


def test_an_emission_with_other_frequencies_is_rejected():
    rng = np.random.default_rng(1)
    real = Suppression((0, 1), np.full((2, 2), 0.5), np.full((2, 2, 2, 2), 0.7))
    claimed = Suppression((0, 1), np.full((2, 2), 0.5), np.full((2, 2, 2, 2), 0.9))
    outputs = [real.sample((0, 1), rng) for _ in range(4_000)]
    assert worst_p_value(claimed, (0, 1), outputs)[0] < LEVEL


def test_a_strange_symbol_is_rejected():
    channel = Symbols((0, 1), ("a", "b"), [[[0.3, 0.7], [0.9, 0.1]]])
    assert worst_p_value(channel, (0,), [("c",)] * 10)[0] == 0.0


def test_unknown_channels_are_passed_over():
    with pytest.raises(NotHere):
        worst_p_value(object(), (0,), [])


def attempt(prior, secret, mechanism, draws=4_000):
    release = mechanism.protect(prior, secret)
    belief = prior.belief()
    rng = np.random.default_rng(0)
    return Attempt(belief, secret.question(belief), release, draws, rng, 1e-6)


CHAIN = sf.priors.markov_chain(initial=[0.5, 0.5], transitions=[[0.9, 0.1], [0.1, 0.9]], steps=2)
AUDITED = {
    "renyi": (
        sf.priors.rbf(length_scale=1.0, times=3),
        sf.secrets.basic(1, radius=1.0),
        sf.mechanisms.gaussian_uniform(mse=1.0),
        sf.measures.renyi(order=2.0),
    ),
    "posterior_gap": (
        CHAIN,
        sf.secrets.contexts({0}),
        sf.mechanisms.suppress_given(probabilities=[[1.0, 0.5], [1.0, 0.5]]),
        sf.measures.posterior_gap(),
    ),
    "reconstruction": (
        CHAIN,
        sf.secrets.trajectory(0),
        sf.mechanisms.sensor_counts([0, 1]),
        sf.measures.reconstruction(),
    ),
}


@pytest.mark.parametrize("name", AUDITED)
def test_sampling_demonstrates_much_of_a_loss_and_never_more(name):
    prior, secret, mechanism, measure = AUDITED[name]
    truth = measure.loss(prior, secret, mechanism.protect(prior, secret)).value
    shown = demonstrated_loss(measure.quantity, attempt(prior, secret, mechanism))
    assert 0.3 * truth < shown <= truth


def test_the_audit_says_what_it_cannot_do():
    prior, secret, mechanism, _ = AUDITED["renyi"]
    with pytest.raises(NotHere, match="no attack is known"):
        demonstrated_loss(sf.Quantity("something else"), attempt(prior, secret, mechanism))


def test_beliefs_with_other_states_are_encoded():
    chain = Markov([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], steps=2, states=("home", "work"))
    channel = Suppression.memoryless(("home", "work"), [[0.2, 0.5], [1.0, 0.0]])
    rng = np.random.default_rng(2)
    outputs = [channel.sample(("home", "work"), rng) for _ in range(2_000)]
    assert chain.states == channel.states
    assert worst_p_value(channel, ("home", "work"), outputs)[0] > 1e-4


def test_additive_noise_is_accepted_after_rounding_to_its_grid():
    channel = AdditiveGaussian(Dense([[1.0, 0.999], [0.999, 1.0]]))
    rng = np.random.default_rng(3)
    outputs = [channel.sample([5.0, -5.0], rng) for _ in range(4_000)]
    assert worst_p_value(channel, [5.0, -5.0], outputs)[0] > 1e-4


@pytest.mark.parametrize("chance", [2.0**-1021, 2e-308, 5e-324, 1e-250])
def test_a_chance_near_the_smallest_floats_is_judged(chance):
    channel = Suppression.memoryless("sx", [[chance, 1.0]])
    assert worst_p_value(channel, ["s"], [("s",)] * 64)[0] == 1.0
    assert worst_p_value(channel, ["s"], [("s",)] * 63 + [(sf.SUPPRESSED,)])[0] < LEVEL
    decides = sf.mechanisms.suppress_given(probabilities=[[chance, 1.0]])
    labels = sf.mechanisms.suppress_set_labels(mechanism=decides, labels={"s": {"s", "y"}})
    chain = sf.priors.markov_chain(
        initial=[0.5, 0.5], transitions=np.eye(2), steps=1, states=["s", "x"]
    )
    release = labels.protect(chain, sf.secrets.contexts({"s"}))
    outputs = [release.apply(["s"]) for _ in range(64)]
    assert worst_p_value(release.channel, ["s"], outputs)[0] == 1.0
