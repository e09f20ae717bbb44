"""Mutual information: many digits, exact rationals, and its infinities."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.inference import exact as ball_arithmetic
from sfumato.matrices import Dense, Diagonal, LowRank, Sum
from sfumato_fano.information import gaussian_mutual_information


def information(belief, noise):
    return gaussian_mutual_information(belief, AdditiveGaussian(noise))


def truth(length, n, noise):
    """½ log det(Σ + Γ) / det Γ in 200 digits, Γ taken from float64 as it is."""
    with mpmath.workdps(200):
        prior = mpmath.matrix(n, n)
        for i in range(n):
            for j in range(n):
                prior[i, j] = mpmath.exp(-mpmath.mpf((i - j) ** 2) / (2 * mpmath.mpf(length) ** 2))
        added = mpmath.matrix(noise)
        return float(mpmath.log(mpmath.det(prior + added) / mpmath.det(added)) / 2)


@pytest.mark.parametrize("length", [0.5, 3.0, 10.0])
@pytest.mark.parametrize("variance", [1e-14, 1e-6, 0.02, 1e6])
def test_independent_noise(length, variance):
    belief = sf.priors.rbf(length_scale=length, times=12).belief()
    found = information(belief, Diagonal.constant(variance, 12))
    noise = [[mpmath.mpf(variance) if i == j else 0 for j in range(12)] for i in range(12)]
    expected = truth(length, 12, noise)
    assert found.bound == "exact"
    assert abs(found.value - expected) <= max(found.relative_error, 1e-15) * expected


def test_correlated_noise_with_a_floor():
    bump = np.exp(-np.square(np.arange(12) - 5) / 8.0)
    belief = sf.priors.rbf(length_scale=3.0, times=12).belief()
    found = information(belief, Sum((LowRank(bump), Diagonal.constant(1e-13, 12))))
    with mpmath.workdps(200):
        noise = [
            [mpmath.mpf(a) * mpmath.mpf(b) + (mpmath.mpf(1e-13) if i == j else 0)]
            for i, a in enumerate(bump.tolist())
            for j, b in enumerate(bump.tolist())
        ]
        rows = [[noise[12 * i + j][0] for j in range(12)] for i in range(12)]
    assert found.value == pytest.approx(truth(3.0, 12, rows), rel=1e-9)
    assert found.how == "ball arithmetic"


@settings(max_examples=40)
@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_singular_matrices_of_whole_numbers(prior_rank, noise_rank, seed):
    """Infinite iff the prior leaves the range of the noise; else the determinants on that range."""
    size = 4
    rng = np.random.default_rng(seed)
    factors = [rng.integers(-2, 3, (size, rank)) for rank in (prior_rank, noise_rank)]
    prior, noise = (factor @ factor.T for factor in factors)
    belief = Gaussian(Dense(prior.astype(float)), rounding=0.0)
    found = information(belief, LowRank(factors[1].astype(float)))
    rank = np.linalg.matrix_rank(noise)
    if np.linalg.matrix_rank(prior + noise) > rank:
        assert found.value == math.inf
        return
    values, vectors = np.linalg.eigh(noise.astype(float))
    basis = vectors[:, values > 1e-9]
    if basis.shape[1] == 0:
        assert found.value == 0.0
        return
    inner = [np.linalg.slogdet(basis.T @ m @ basis)[1] for m in (prior + noise, noise)]
    assert found.value == pytest.approx((inner[0] - inner[1]) / 2, rel=1e-9, abs=1e-12)


def test_known_values():
    ones = Dense(np.ones((3, 3)))
    assert information(Gaussian(ones, rounding=0.0), ones).value == pytest.approx(math.log(2) / 2)
    nothing = Gaussian(Diagonal([0.0, 0.0]), rounding=0.0)
    assert information(nothing, Diagonal([1.0, 1.0])).value == 0.0
    assert information(nothing, Diagonal([0.0, 1.0])).value == 0.0


def test_infinities_need_no_tolerance():
    belief = sf.priors.rbf(length_scale=3.0, times=5).belief()
    assert information(belief, Diagonal([1.0, 1.0, 0.0, 1.0, 1.0])).value == math.inf
    assert information(belief, LowRank(np.ones((5, 4)))).value == math.inf


def test_without_balls_a_doubtful_value_is_refused(monkeypatch):
    monkeypatch.setattr(ball_arithmetic, "MOST_IN_BALLS", 0)
    belief = sf.priors.rbf(length_scale=6.0, times=30).belief()
    noise = Sum((LowRank(np.ones(30)), Diagonal.constant(1e-18, 30)))
    with pytest.raises(sf.Undecidable, match="mutual information"):
        information(belief, noise)


@settings(max_examples=25)
@given(st.floats(0.01, 10), st.floats(1.0, 3.0), st.integers(0, 2**32 - 1))
def test_more_noise_tells_less_and_units_do_not_matter(variance, more, seed):
    factor = np.random.default_rng(seed).standard_normal((4, 4))
    belief = Gaussian(Dense(factor @ factor.T))
    less = information(belief, Diagonal.constant(variance, 4)).value
    noisier = information(belief, Diagonal.constant(variance * more, 4)).value
    assert noisier <= less * (1 + 1e-9)
    scaled = information(belief.scaled(16.0), Diagonal.constant(16 * variance, 4)).value
    assert scaled == pytest.approx(less, rel=1e-9)


def test_noise_of_smaller_rank_than_a_singular_prior_tells_all():
    prior = sf.priors.periodic(length_scale=1.0, period=5.0, times=8)
    shape = np.arange(1.0, 9.0)
    release = sf.mechanisms.gaussian_given(covariance=np.outer(shape, shape)).protect(
        prior, sf.secrets.basic(3)
    )
    assert (
        sf.measures.mutual_information().loss(prior, sf.secrets.basic(3), release).value == np.inf
    )
