"""Against 60-digit arithmetic straight from the definition."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import sfumato as sf
from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.inference.gaussian import scalar_informations as one_substitution
from sfumato.inference.gaussian.scalar_informations import (
    noise_shaped_like_the_prior,
    scalar_informations,
)
from sfumato.inference.gaussian.worst_pair import worst_squares
from sfumato.matrices import Dense, Diagonal, LowRank, Scaled, Sum
from sfumato.questions import Displacements

SIZE = 23


def true_informations(prior, noise):
    """1/V_ss − 1/Σ_ss with V = Σ − Σ K⁻¹ Σ."""
    with mpmath.workdps(60):
        sigma = mpmath.matrix(prior.tolist())
        total = sigma + mpmath.matrix(noise.tolist())
        posterior = sigma - sigma * mpmath.inverse(total) * sigma
        return [float(1 / posterior[s, s] - 1 / sigma[s, s]) for s in range(sigma.rows)]


def smooth(deviations):
    times = np.arange(SIZE)
    return np.outer(deviations, deviations) * np.exp(
        -0.5 * (np.subtract.outer(times, times) / 3.0) ** 2
    )


# Panels that divide the size, that do not, and one for all.
@pytest.mark.parametrize("panel", [1, 7, 23, 256])
@pytest.mark.parametrize("level", [1e-3, 0.02, 5.0])
def test_every_entry_within_the_certified_error(monkeypatch, panel, level):
    monkeypatch.setattr(one_substitution, "PANEL", panel)
    rng = np.random.default_rng(panel)
    prior = smooth(rng.uniform(0.5, 2.0, SIZE))
    variances = level * rng.uniform(0.5, 2.0, SIZE)
    belief = Gaussian(Dense(prior), rounding=0.0)
    values, errors = one_substitution.one_substitution(belief, Diagonal(variances))
    truth = np.array(true_informations(prior, np.diag(variances)))
    assert np.all(np.abs(truth / values - 1) <= errors)
    assert np.all(errors <= 1e-5)
    assert np.all(np.abs(truth / values - 1) <= 1e-10)


@pytest.mark.parametrize("panel", [7, 256])
def test_noise_that_is_correlated(monkeypatch, panel):
    monkeypatch.setattr(one_substitution, "PANEL", panel)
    rng = np.random.default_rng(panel)
    prior, factor = smooth(rng.uniform(0.5, 2.0, SIZE)), rng.normal(size=(SIZE, 2))
    noise = Sum((LowRank(factor), Diagonal.constant(0.01, SIZE)))
    belief = Gaussian(Dense(prior), rounding=0.0)
    values, errors = one_substitution.one_substitution(belief, noise)
    truth = np.array(true_informations(prior, noise.dense()))
    assert np.all(np.abs(truth / values - 1) <= errors)
    assert np.all(errors <= 1e-5)
    assert np.all(np.abs(truth / values - 1) <= 1e-10)


@pytest.mark.parametrize("variance", [1e-160, 1e-12, 1e9, 1e160])
def test_no_answer_where_the_noise_is_too_small_or_cancels(variance):
    belief = Gaussian(Dense(smooth(np.ones(SIZE))))
    assert one_substitution.one_substitution(belief, Diagonal.constant(variance, SIZE)) is None


def test_a_known_entry_and_one_without_noise_are_left_to_others():
    prior, even = Diagonal([1.0, 0.0, 1.0]), Diagonal.constant(0.5, 3)
    assert one_substitution.one_substitution(Gaussian(prior), even) is None
    silent = Diagonal([0.5, 0.5, 0.0])
    assert one_substitution.one_substitution(Gaussian(Diagonal([1.0] * 3)), silent) is None


def test_a_coarse_belief_is_as_uncertain_as_it_says():
    prior = smooth(np.ones(SIZE))
    belief = Gaussian(Dense(prior), rounding=1e-9)
    values, errors = one_substitution.one_substitution(belief, Diagonal.constant(0.1, SIZE))
    # |E_ij| ≤ 1e-9 with the signs that matter most to the middle entry.
    x = np.linalg.solve(prior + 0.1 * np.eye(SIZE), prior[SIZE // 2])
    x[SIZE // 2] -= 1.0
    moved = prior + 1e-9 * np.sign(np.outer(x, x))
    truth = true_informations(moved, 0.1 * np.eye(SIZE))[SIZE // 2]
    change = abs(truth / values[SIZE // 2] - 1)
    assert 1e-9 < change <= errors[SIZE // 2]


def test_it_serves_the_losses_of_all_entries(monkeypatch):
    def never(*_):
        raise AssertionError("the dearer factorisation was not needed")

    monkeypatch.setattr("sfumato.inference.gaussian.scalar_informations.one_factorisation", never)
    prior = smooth(np.ones(SIZE))
    channel = AdditiveGaussian(Diagonal.constant(0.02, SIZE))
    values, error = scalar_informations(Gaussian(Dense(prior)), channel)
    np.testing.assert_allclose(values, true_informations(prior, 0.02 * np.eye(SIZE)), rtol=1e-9)
    assert error <= 1e-5


@pytest.mark.parametrize("share", [1e-4, 0.1, 1.0, 30.0])
@pytest.mark.parametrize("floor", [1e-8, 1e-6, 1e-2])
def test_noise_shaped_like_the_prior_needs_no_matrix(share, floor):
    prior = smooth(np.random.default_rng(3).uniform(0.5, 2.0, SIZE))
    terms = Diagonal.constant(share * floor, SIZE), Scaled(Dense(prior), share)
    belief = Gaussian(Dense(prior), rounding=0.0)
    values, error = noise_shaped_like_the_prior(belief, Sum(terms))
    with mpmath.workdps(60):  # the noise itself, not rounded to float64 entry by entry
        sigma = mpmath.matrix(prior.tolist())
        added = share * sigma + share * floor * mpmath.eye(SIZE)
        left = sigma - sigma * mpmath.inverse(sigma + added) * sigma
        truth = np.array([float(1 / left[s, s] - 1 / sigma[s, s]) for s in range(SIZE)])
    assert np.all(truth <= values)
    assert np.all(values * (1 - error) <= truth)
    assert error <= 5 * floor + 1e-13


def test_a_floor_that_does_not_cover_the_rounding_proves_nothing():
    prior = Dense(smooth(np.ones(SIZE)))
    noise = Sum((Scaled(prior, 0.1), Diagonal.constant(1e-9, SIZE)))
    assert noise_shaped_like_the_prior(Gaussian(prior, rounding=1e-8), noise) is None
    assert noise_shaped_like_the_prior(Gaussian(prior), Diagonal.constant(1.0, SIZE)) is None
    other = Gaussian(Dense(smooth(np.full(SIZE, 2.0))), rounding=0.0)
    assert noise_shaped_like_the_prior(other, noise) is None


def test_every_point_of_a_long_trace():
    prior, secret = sf.priors.rbf(length_scale=6.0, times=100_000), sf.secrets.every_point()
    release = sf.mechanisms.gaussian_optimal(mse=0.1).protect(prior, secret)
    loss = sf.measures.renyi(order=2.0).loss(prior, secret, release)
    assert loss.floor <= 10.0 <= loss.ceiling  # 1/c, however long: one point says no less
    assert loss.bound == "exact"
    alone = sf.measures.renyi(order=2.0).loss(prior, sf.secrets.basic(3), release)
    assert (alone.floor, alone.ceiling) == (loss.floor, loss.ceiling)  # Σ has equal variances
    wide = sf.priors.rbf(length_scale=6.0, times=5_000, dimensions=2)
    release = sf.mechanisms.gaussian_optimal(mse=0.1).protect(wide, secret)
    loss = sf.measures.renyi(order=2.0).loss(wide, secret, release)
    assert loss.floor <= 10.0 <= loss.ceiling
    assert loss.bound == "exact"
    few = sf.secrets.basic(3) | sf.secrets.basic(900)
    even = sf.mechanisms.gaussian_uniform(mse=0.1).protect(prior, few)
    each = [sf.measures.renyi().loss(prior, sf.secrets.basic(k), even).value for k in (3, 900)]
    assert sf.measures.renyi().loss(prior, few, even).value == max(each)
    tied = sf.priors.rbf(length_scale=6.0, times=5_000, across=[[1.0, 0.5], [0.5, 1.0]])
    even = sf.mechanisms.gaussian_uniform(mse=0.1).protect(tied, secret)
    with pytest.raises(sf.OutsideHypotheses, match="use a shorter trace"):
        sf.measures.renyi(order=2.0).loss(tied, secret, even)


@pytest.mark.parametrize("level", [1e-3, 0.5])
def test_independent_coordinates_are_read_from_one_factorisation(level):
    """As one time after the other is."""
    prior = sf.priors.rbf(length_scale=2.0, times=9, across=[[1.0, 0.0], [0.0, 3.0]])
    belief, noise = prior.belief(), Diagonal(level * np.linspace(0.5, 2.0, 18))
    groups = tuple((belief.entries_at(time),) for time in range(9))
    radii = tuple(np.linspace(0.5, 2.0, 9).tolist())
    channel = AdditiveGaussian(noise, dimensions=2)
    found = worst_squares(belief, Displacements(groups=groups, radii=radii), channel)
    truth = true_informations(belief.covariance.dense(), noise.dense())
    for j, group in enumerate(groups):
        alone = worst_squares(belief, Displacements(groups=(group,), radii=radii[j]), channel)
        assert found.values[j] == pytest.approx(alone.values[0], rel=1e-9)
        np.testing.assert_allclose(
            found.informations[j].matrix, alone.informations[0].matrix, rtol=1e-9, atol=1e-9
        )
        moved = np.abs(found.displacements[j])
        np.testing.assert_allclose(moved, np.abs(alone.displacements[0]), atol=1e-9)
        assert found.values[j] == pytest.approx(radii[j] ** 2 * max(truth[2 * j : 2 * j + 2]))
    assert set(found.hows) == {"all entries at once"}
