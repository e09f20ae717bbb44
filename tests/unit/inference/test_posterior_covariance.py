from __future__ import annotations

import mpmath
import numpy as np
import pytest

from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.errors import ImpossibleObservation, Incompatible, ParameterError
from sfumato.inference.gaussian.posterior import posterior, posterior_covariance
from sfumato.matrices import Dense, Diagonal, LowRank, Sum

PRIOR = np.array([[2.0, 0.9, 0.3], [0.9, 1.0, 0.2], [0.3, 0.2, 0.5]])


def true_covariance(prior, noise):
    with mpmath.workdps(120):
        sigma, gamma = mpmath.matrix(prior.tolist()), mpmath.matrix(noise.tolist())
        result = sigma - sigma * ((sigma + gamma) ** -1) * sigma
        return np.array(
            [[float(result[i, j]) for j in range(len(prior))] for i in range(len(prior))]
        )


@pytest.mark.parametrize("size", [1e-40, 1e-12, 1.0, 1e12, 1e40])
def test_no_digit_is_lost_whatever_the_noise(size):
    noise = Sum((LowRank(np.sqrt(size) * np.array([1.0, -2.0, 0.5])), Diagonal.constant(size, 3)))
    truth = true_covariance(PRIOR, noise.dense())
    found = posterior_covariance(Dense(PRIOR), noise)
    scale = np.sqrt(np.outer(np.diag(truth), np.diag(truth)))
    assert np.max(np.abs(found - truth) / scale) < 1e-13


def test_noise_shaped_like_the_prior():
    found = posterior_covariance(Dense(PRIOR), Dense(PRIOR).scaled(0.25))
    np.testing.assert_allclose(found, 0.2 * PRIOR, rtol=1e-13)


def test_singular_prior_and_noise():
    ones = LowRank(np.ones(3))
    np.testing.assert_allclose(posterior_covariance(ones, ones), 0.5, rtol=1e-13)
    np.testing.assert_array_equal(
        posterior_covariance(Diagonal([1.0, 0.0]), Diagonal([0.0, 0.0])), np.zeros((2, 2))
    )


def test_mean_and_covariance_are_those_of_the_joint_law():
    noise = np.diag([0.5, 1.0, 2.0])
    mean = np.array([1.0, -1.0, 3.0])
    observed = np.array([0.0, 2.0, 2.5])
    belief = Gaussian(Dense(PRIOR), mean=mean)
    found, covariance = posterior(belief, AdditiveGaussian(Diagonal([0.5, 1.0, 2.0])), observed)
    precision = np.linalg.inv(PRIOR) + np.linalg.inv(noise)
    expected = np.linalg.solve(
        precision, np.linalg.solve(PRIOR, mean) + np.linalg.solve(noise, observed)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_allclose(covariance, np.linalg.inv(precision), rtol=1e-12, atol=1e-15)


def test_no_mean_is_zero_and_coordinates_keep_their_shape():
    belief = Gaussian(Diagonal.constant(1.0, 4), dimensions=2)
    channel = AdditiveGaussian(Diagonal.constant(1.0, 4), dimensions=2)
    found, covariance = posterior(belief, channel, [[2.0, 4.0], [6.0, 8.0]])
    np.testing.assert_allclose(found, [[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_allclose(covariance, 0.5 * np.eye(4), atol=1e-16)


def test_impossible_observations():
    ones = LowRank(np.ones(2))
    belief, channel = Gaussian(ones), AdditiveGaussian(ones)
    found, _ = posterior(belief, channel, [3.0, 3.0])
    np.testing.assert_allclose(found, [1.5, 1.5])
    with pytest.raises(ImpossibleObservation, match="observed must lie in the range"):
        posterior(belief, channel, [3.0, 3.1])
    rng = np.random.default_rng(0)
    for _ in range(20):  # what is really released is possible, in spite of its rounding
        posterior(belief, channel, channel.sample(belief.sample(rng), rng))


@pytest.mark.parametrize("observed", [[np.nan, 0.0, 0.0], [0.0], np.inf])
def test_bad_observations(observed):
    belief, channel = Gaussian(Dense(PRIOR)), AdditiveGaussian(Dense(PRIOR))
    with pytest.raises(ParameterError, match="observed must"):
        posterior(belief, channel, observed)


def test_sizes_must_agree():
    with pytest.raises(Incompatible):
        posterior(Gaussian(Diagonal([1.0])), AdditiveGaussian(Diagonal([1.0, 1.0])), [0.0])
