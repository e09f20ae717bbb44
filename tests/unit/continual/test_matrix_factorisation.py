"""Noise of continual release: the factorisation, its promise, and what is left of it."""

import math

import numpy as np
import pytest
from scipy.stats import norm

import sfumato as sf

SMOOTH, SECRET = sf.priors.rbf(length_scale=6.0, times=50), sf.secrets.basic(24)


def noise(**given):
    return sf.mechanisms.matrix_factorisation(**given).protect(SMOOTH, SECRET)


def factor_of(release):
    """Return σC from Γ = σ²C⁻¹C⁻ᵀ: Γ⁻¹ = CᵀC/σ², so C/σ is lower triangular by a flipped root."""
    precision = np.linalg.inv(release.channel.covariance())[::-1, ::-1]
    return np.linalg.cholesky(precision).T[::-1, ::-1]


def test_square_root_squares_to_running_sums():
    root = factor_of(noise(mse=1.0))
    root = root / root[0, 0]
    assert root @ root == pytest.approx(np.tril(np.ones((50, 50))), abs=1e-9)


@pytest.mark.parametrize("bands", [1, 2, 7, 50, 80])
def test_bands_are_those_of_the_square_root(bands):
    root, whole = factor_of(noise(mse=1.0, bands=bands)), factor_of(noise(mse=1.0))
    kept = np.tril(np.ones((50, 50))) - np.tril(np.ones((50, 50)), -bands)
    assert root / root[0, 0] == pytest.approx(kept * whole / whole[0, 0], abs=1e-9)


@pytest.mark.parametrize("bands", [None, 1, 4])
def test_promise_is_that_of_somebody_who_knows_all_the_other_entries(bands):
    release = noise(mu=0.7, bands=bands, change=2.0)
    precision = np.linalg.inv(release.channel.covariance())
    assert 2.0 * math.sqrt(precision.diagonal().max()) == pytest.approx(0.7)
    again = noise(mse=release.utility(), bands=bands, change=2.0)
    assert again.certificate["mu"] == pytest.approx(0.7)
    assert again.utility() == pytest.approx(release.utility())


def test_promise_holds_for_independent_entries_and_breaks_for_smooth_ones():
    promised = 2 * norm.cdf(0.5) - 1
    rough = sf.priors.rbf(length_scale=0.01, times=50)
    found = {}
    for bands in (1, 5, None):
        release = noise(mu=1.0, bands=bands)
        advantage = sf.measures.advantage()
        assert advantage.loss(rough, SECRET, release).value <= promised + 1e-9
        found[bands] = advantage.loss(SMOOTH, SECRET, release).value
    # Noise that cancels in sums, where a smooth trace does not, hides less of it.
    assert 2 * promised < found[1] < min(found[5], found[None])


def test_sums_have_the_least_error_with_the_square_root():
    sums = np.tril(np.ones((50, 50)))
    errors = [
        np.trace(sums @ noise(mu=1.0, bands=bands).channel.covariance() @ sums.T)
        for bands in (1, 5, None)
    ]
    assert errors == sorted(errors, reverse=True)


def test_several_coordinates_get_independent_noise():
    plane = sf.priors.rbf(length_scale=2.0, times=4, dimensions=2)
    release = sf.mechanisms.matrix_factorisation(mse=0.5).protect(plane, sf.secrets.basic(1))
    covariance = release.channel.covariance()
    assert covariance[::2, 1::2] == pytest.approx(0.0)
    assert covariance[::2, ::2] == pytest.approx(covariance[1::2, 1::2])
