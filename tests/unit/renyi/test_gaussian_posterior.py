"""The adversary's posterior: by conditioning, by counting draws."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sfumato as sf

ADVERSARY = sf.adversaries.gaussian_posterior()


def scenario(dimensions=None):
    prior = sf.priors.rbf(length_scale=2.0, times=4, dimensions=dimensions)
    release = sf.mechanisms.gaussian_uniform(mse=0.5).protect(prior, sf.secrets.basic(0))
    return prior.belief(), release.channel


def test_mean_and_covariance_by_conditioning():
    belief, channel = scenario()
    seen = np.array([1.0, -0.5, 0.25, 2.0])
    found = ADVERSARY.infer(belief, channel, seen)
    prior = belief.covariance.dense()
    gain = prior @ np.linalg.inv(prior + 0.5 * np.eye(4))
    np.testing.assert_allclose(found.mean, gain @ seen, rtol=1e-12)
    np.testing.assert_allclose(found.covariance, prior - gain @ prior, rtol=1e-11)


def test_draws_have_the_posteriors_moments():
    belief, channel = scenario(2)
    found = ADVERSARY.infer(belief, channel, np.ones((4, 2)))
    draws = found.sample(np.random.default_rng(0), 200_000)
    assert draws.shape == (200_000, 4, 2)
    np.testing.assert_allclose(draws.mean(axis=0), found.mean, atol=0.01)
    np.testing.assert_allclose(
        np.cov(draws.reshape(-1, 8), rowvar=False), found.covariance, atol=0.01
    )
    assert found.sample().shape == (4, 2)


@pytest.mark.parametrize("probability", [0.5, 0.95])
def test_intervals_hold_the_truth_as_often_as_they_say(probability):
    belief, channel = scenario()
    rng = np.random.default_rng(1)
    held = 0
    for _ in range(400):
        trace = belief.sample(rng)
        low, high = ADVERSARY.infer(belief, channel, channel.sample(trace, rng)).credible_intervals(
            probability
        )
        held += np.sum((low <= trace) & (trace <= high))
    assert held / 1_600 == pytest.approx(probability, abs=0.06)


def test_the_measure_reads_the_same_deviation():
    belief, channel = scenario()
    found = ADVERSARY.infer(belief, channel, np.zeros(4))
    question = sf.secrets.basic(2).question(belief)
    width = sf.measures.posterior_interval().evaluate(belief, question, channel).value
    assert 2 * found.deviations[2] == pytest.approx(width, rel=1e-9)


@pytest.mark.parametrize("probability", [0.0, 1.0, -1.0, math.nan])
def test_bad_probabilities(probability):
    belief, channel = scenario()
    with pytest.raises(sf.ParameterError, match="strictly in"):
        ADVERSARY.infer(belief, channel, np.zeros(4)).credible_intervals(probability)
