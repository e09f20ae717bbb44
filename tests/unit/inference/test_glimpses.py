"""Glimpses: what one time of the release says alone, against formulas for that alone."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import sfumato as sf
from sfumato.beliefs import Gaussian, Markov
from sfumato.channels import AdditiveGaussian, Suppression, Symbols
from sfumato.comparison.glimpses import glimpses
from sfumato.matrices import Dense, Diagonal
from sfumato.questions import Events
from sfumato.questions.events import by_time


def losses(measure, belief, channel, questions, times):
    return {
        (one.secret, one.released): measure.evaluate(one.belief, one.question, one.channel).value
        for one in glimpses(belief, channel, questions, times)
    }


def test_one_noisy_value_of_a_smooth_trace():
    """(λ/2) r² ρ²/(1 − ρ² + Γ_tt), ρ the correlation: the Fisher information of Z_t on X_s."""
    belief = sf.priors.rbf(length_scale=2.0, times=6).belief()
    noise = np.array([0.1, 0.2, 0.4, 0.8, 1.6, 0.0])
    mixed = np.diag(noise) + 0.05 * np.outer(noise, noise)  # correlated, but seen one by one
    secret = sf.secrets.basic(3, radius=2.0)
    (questions,) = by_time(secret.question(belief), belief).values()
    found = losses(
        sf.measures.renyi(order=3.0), belief, AdditiveGaussian(Dense(mixed)), questions, range(6)
    )
    assert set(found) == set(itertools.product(range(6), repeat=2))
    for (s, t), value in found.items():
        rho, own = math.exp(-((s - t) ** 2) / 8.0), float(mixed[t, t])
        left = -math.expm1(2 * math.log(rho)) + own
        true = 1.5 * 4.0 * rho**2 / left if left else math.inf
        assert value >= true * (1 - 1e-12)
        assert value <= true + 6.0 * 1.01e-6


def test_two_coordinates_are_seen_together():
    """With independent coordinates the worse of them decides."""
    rho = 0.6
    covariance = np.kron([[1.0, rho], [rho, 1.0]], np.diag([1.0, 4.0]))
    belief = Gaussian(Dense(covariance), dimensions=2)
    channel = AdditiveGaussian(Diagonal([9.0, 9.0, 0.5, 0.1]), dimensions=2)
    (questions,) = by_time(sf.secrets.basic(0).question(belief), belief).values()
    found = losses(sf.measures.renyi(order=2.0), belief, channel, questions, [0, 1])
    informations = [
        rho**2 / (variance * (1 - rho**2) + noise) for variance, noise in ((1.0, 0.5), (4.0, 0.1))
    ]
    assert found[0, 1] == pytest.approx(max(informations), rel=1e-5)
    assert found[1, 1] == pytest.approx(10.0, rel=1e-12)


def test_a_certain_value_has_nothing_to_lose():
    belief = Gaussian(Diagonal([0.0, 1.0]))
    channel = AdditiveGaussian(Diagonal([0.1, 0.1]))
    (questions,) = by_time(sf.secrets.basic(0).question(belief), belief).values()
    assert losses(sf.measures.renyi(), belief, channel, questions, [1])[0, 1] == 0.0


def gap(belief, channel, secret, released, mask):
    """max over y of Pr[X_s ∈ mask | o_t = y] − Pr[X_s ∈ mask], adding up traces and outputs."""
    joint, total = {}, {}
    for path in itertools.product(range(belief.state_count), repeat=belief.steps):
        trace = belief.decode(path)
        for output in itertools.product(*channel.outputs()):
            chance = math.exp(belief.log_probability(trace)) * math.exp(
                channel.log_likelihood(output, trace)
            )
            total[output[released]] = total.get(output[released], 0.0) + chance
            if mask[path[secret]]:
                joint[output[released]] = joint.get(output[released], 0.0) + chance
    prior = sum(joint.values())
    return max(joint.get(y, 0.0) / total[y] - prior for y in total if total[y] > 0)


@pytest.mark.parametrize("seed", range(4))
def test_one_output_of_a_chain(seed):
    rng = np.random.default_rng(seed)
    belief = Markov(
        rng.dirichlet([1, 1]), rng.dirichlet([1, 1], size=(2, 2)), states=("home", "clinic")
    )
    question = sf.secrets.contexts({"clinic"}).question(belief)
    (questions,) = by_time(question, belief).values()
    start, after = rng.random((3, 2)), rng.random((3, 2, 3, 2))
    for channel in (
        Suppression(belief.states, start, after),
        Symbols(belief.states, "xy", rng.dirichlet([1, 1], size=(3, 2))),
    ):
        found = losses(sf.measures.posterior_gap(), belief, channel, questions, range(3))
        assert set(found) == set(itertools.product(range(3), repeat=2))
        for (s, t), value in found.items():
            expected = gap(belief, channel, s, t, [False, True])
            assert value == pytest.approx(max(expected, 0.0), abs=1e-12)


def test_impossible_and_certain_events_are_chains_too():
    belief = Markov([1.0, 0.0], [[1.0, 0.0], [0.5, 0.5]], steps=2)
    channel = Suppression.memoryless((0, 1), [[0.5, 0.5]] * 2)
    for state in (0, 1):
        (questions,) = by_time(sf.secrets.contexts({state}).question(belief), belief).values()
        found = losses(sf.measures.posterior_gap(), belief, channel, questions, [0, 1])
        assert set(found.values()) == {0.0}


def test_other_worlds_and_windows_have_none():
    chain = Markov([0.5, 0.5], [[0.5, 0.5]] * 2, steps=2)
    noisy = AdditiveGaussian(Diagonal([1.0, 1.0]))
    shown = Suppression.memoryless((0, 1), [[0.5, 0.5]] * 2)
    window = Events(np.ones((1, 2, 2), dtype=bool), ("any time",))
    assert not list(glimpses("a belief of its own", noisy, {0: None}, [0]))
    assert not list(glimpses(chain, noisy, {0: window}, [0]))
    assert not list(glimpses(chain, shown, {0: window, 1: window}, [0]))
    assert not list(glimpses(Gaussian(Diagonal([1.0, 1.0])), shown, {0: None}, [0]))
    assert not list(glimpses(Gaussian(Diagonal([1.0, 1.0])), noisy, {0: None}, [0]))
