from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from sfumato.channels import AdditiveGaussian
from sfumato.errors import ParameterError
from sfumato.matrices import Dense, Diagonal, LowRank, Sum

NOISE = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, -0.25], [0.0, -0.25, 0.5]])


@pytest.mark.parametrize("noise", [Dense(NOISE), Diagonal([1.0, 0.25, 4.0])])
def test_density(noise):
    channel, trace, observed = AdditiveGaussian(noise), [1.0, 2.0, 3.0], [0.5, 2.5, 2.0]
    expected = stats.multivariate_normal(trace, noise.dense()).logpdf(observed)
    assert channel.log_likelihood(observed, trace) == pytest.approx(expected, rel=1e-12)


def test_density_on_the_range_of_degenerate_noise():
    # One shared draw g along (3, 4)/5 of variance 25: Lebesgue measure on that line.
    channel = AdditiveGaussian(LowRank([3.0, 4.0]))
    expected = stats.norm(0, 5).logpdf(10.0)
    assert channel.log_likelihood([6.0, 8.0], [0.0, 0.0]) == pytest.approx(expected, rel=1e-12)
    assert channel.log_likelihood([6.0, 8.001], [0.0, 0.0]) == -math.inf


def test_density_with_a_silent_entry():
    channel = AdditiveGaussian(Diagonal([0.0, 4.0]))
    expected = stats.norm(0, 2).logpdf(1.0)
    assert channel.log_likelihood([5.0, 1.0], [5.0, 0.0]) == pytest.approx(expected, rel=1e-12)
    assert channel.log_likelihood([5.1, 1.0], [5.0, 0.0]) == -math.inf


def test_no_noise_at_all():
    channel = AdditiveGaussian(Diagonal([0.0, 0.0]))
    assert channel.grid == 0.0
    trace = np.array([0.1, 1 / 3])
    np.testing.assert_array_equal(channel.sample(trace, np.random.default_rng(0)), trace)
    assert channel.log_likelihood(trace, trace) == 0.0
    assert channel.log_likelihood(trace, trace + 1) == -math.inf


def test_a_release_of_degenerate_noise_is_possible_in_spite_of_rounding():
    channel, rng = AdditiveGaussian(LowRank([1.0, 1 / 3, 0.7])), np.random.default_rng(0)
    trace = rng.standard_normal(3)
    for _ in range(50):
        assert channel.log_likelihood(channel.sample(trace, rng), trace) > -math.inf


@pytest.mark.parametrize("variance", [1e-300, 1e-12, 1.0, 1e12, 1e300])
def test_released_values_lie_on_the_grid(variance):
    channel = AdditiveGaussian(Diagonal.constant(variance, 4))
    assert math.frexp(channel.grid)[0] == 0.5
    assert 2.0**-25 <= channel.grid / math.sqrt(variance) <= 2.0**-24
    released = channel.sample(np.zeros((1000, 4)), np.random.default_rng(0))
    steps = released / channel.grid
    np.testing.assert_array_equal(steps, np.round(steps))
    assert np.unique(np.mod(steps, 2)).size == 2


def test_values_coarser_than_the_grid_survive():
    channel = AdditiveGaussian(Diagonal([1e-300]))
    assert channel.sample([1.0 + 2**-52], np.random.default_rng(0))[0] == 1.0 + 2**-52


def test_noise_has_the_claimed_covariance_for_many_traces_at_once():
    channel, rng = AdditiveGaussian(Dense(NOISE)), np.random.default_rng(0)
    traces = rng.standard_normal((2, 50_000, 3))
    noise = (channel.sample(traces, rng) - traces).reshape(-1, 3)
    low, high = stats.chi2.ppf([5e-11, 1 - 5e-11], len(noise)) / len(noise)
    for direction in (np.eye(3)[0], np.array([1.0, -2.0, 0.5])):
        ratio = np.mean((noise @ direction) ** 2) / (direction @ NOISE @ direction)
        assert low < ratio < high
        assert not low < 1.3 * ratio < high


def test_coordinates():
    channel = AdditiveGaussian(Diagonal([1.0, 4.0, 9.0, 16.0]), dimensions=2)
    assert channel.shape == (2, 2)
    assert channel.sample(np.zeros((2, 2)), np.random.default_rng(0)).shape == (2, 2)
    assert channel.sample(np.zeros((5, 2, 2)), np.random.default_rng(0)).shape == (5, 2, 2)
    np.testing.assert_array_equal(channel.permuted([1, 0]).noise.diagonal(), [9, 16, 1, 4])
    np.testing.assert_array_equal(channel.scaled(2.0).noise.diagonal(), [2, 8, 18, 32])
    with pytest.raises(ParameterError, match=r"trace must have shape \(2, 2\); got \(4,\)"):
        channel.sample(np.zeros(4))


@pytest.mark.parametrize("trace", [[np.nan, 0.0, 0.0], [0.0, np.inf, 0.0], [0.0, 0.0], 1.0, []])
def test_bad_traces(trace):
    channel = AdditiveGaussian(Dense(NOISE))
    with pytest.raises(ParameterError, match="trace must"):
        channel.sample(trace, np.random.default_rng(0))
    with pytest.raises(ParameterError, match="observed must"):
        channel.log_likelihood(trace, np.zeros(3))


def test_one_density_at_a_time():
    with pytest.raises(ParameterError, match="one trace"):
        AdditiveGaussian(Dense(NOISE)).log_likelihood(np.zeros((2, 3)), np.zeros(3))


@pytest.mark.parametrize("dimensions", [0, 2, 1.5, True])
def test_bad_dimensions(dimensions):
    with pytest.raises(ParameterError, match=r"^additive_gaussian\.\w+ must"):
        AdditiveGaussian(Dense(NOISE), dimensions=dimensions)


def test_equal_by_content():
    assert AdditiveGaussian(Dense(NOISE)) == AdditiveGaussian(Dense(NOISE.copy()))
    assert AdditiveGaussian(Dense(NOISE)) != AdditiveGaussian(Sum((Dense(NOISE),)))


def test_entries_of_very_different_scales_keep_their_law():
    """Dense noise is decomposed by correlations, as it is sampled: no output is impossible."""
    variances = [1.0, 1e-14, 1e-15]
    dense, diagonal = AdditiveGaussian(Dense(np.diag(variances))), Diagonal(variances)
    released = dense.sample(np.zeros(3), np.random.default_rng(0))
    expected = AdditiveGaussian(diagonal).log_likelihood(released, np.zeros(3))
    assert dense.log_likelihood(released, np.zeros(3)) == pytest.approx(expected, rel=1e-9)


def test_the_grid_is_far_finer_than_the_quietest_noise():
    channel = AdditiveGaussian(Diagonal([1e6, 1e-14]))
    assert channel.grid < 1e-6 * 1e-7


@pytest.mark.parametrize("bad", [[1j, 0], ["1", "2"], [True, False], [None, 1]])
def test_traces_that_are_not_real_numbers_are_refused(bad):
    channel = AdditiveGaussian(Diagonal([1.0, 1.0]))
    with pytest.raises(ParameterError, match="trace must hold real numbers"):
        channel.sample(bad, np.random.default_rng(0))
