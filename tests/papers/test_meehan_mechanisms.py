"""Mechanisms of Meehan and Chaudhuri, and the best ones, against tabulated values.

Losses are in units of half the Rényi order (order 2), radius 1, RBF prior of unit variance.
"""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf

MIDDLE = sf.secrets.basic(24)


def rbf(length_scale, times=50):
    return sf.priors.rbf(length_scale=length_scale, times=times)


def basics(*indices):
    secret = sf.secrets.basic(indices[0])
    for index in indices[1:]:
        secret = secret | sf.secrets.basic(index)
    return secret


def loss(prior, secret, release):
    return sf.measures.renyi(order=2.0).loss(prior, secret, release).value


def optimal(prior, secret, budget=1.0, times=50, **options):
    return sf.mechanisms.gaussian_optimal(mse=budget / times, **options).protect(prior, secret)


ONE_TIME = {  # length scale: best, best of the paper's class, SDP_A, independent uniform
    1.0: (1.53046, 2.61818, 3.027, 53.4375),
    3.0: (4.10992, 7.30253, 10.63, 137.737),
    6.0: (7.60858, 12.34751, 21.27, 260.603),
    10.0: (11.94116, 18.08490, 35.43, 414.656),
}


@pytest.mark.parametrize(("length_scale", "row"), ONE_TIME.items())
def test_one_time(length_scale, row):
    prior = rbf(length_scale)
    best, best_apart, _, uniform = row
    assert loss(prior, MIDDLE, optimal(prior, MIDDLE)) == pytest.approx(best, rel=1e-5)
    apart = optimal(prior, MIDDLE, independent_secret_noise=True)
    assert loss(prior, MIDDLE, apart) == pytest.approx(best_apart, rel=1e-5)
    even = sf.mechanisms.gaussian_uniform(mse=0.02).protect(prior, MIDDLE)
    assert loss(prior, MIDDLE, even) == pytest.approx(uniform, rel=1e-5)


@pytest.mark.parametrize(("length_scale", "rescale"), [(1.0, 1.0), (6.0, 10.0)])
def test_sdp_a_for_one_time(length_scale, rescale):
    prior = rbf(length_scale)
    release = sf.mechanisms.gaussian_sdp_a(mse=0.02, rescale=rescale).protect(prior, MIDDLE)
    assert loss(prior, MIDDLE, release) == pytest.approx(ONE_TIME[length_scale][2], rel=2e-4)
    noise = release.channel.covariance()
    others = np.delete(np.arange(50), 24)
    assert np.all(noise[24, others] == 0)
    assert release.utility() <= 0.02 * (1 + 1e-12)


def test_sdp_a_for_two_times_needs_its_authors_rescaling():
    prior, pair = rbf(3.0), sf.secrets.compound([24, 25])
    rescaled = sf.mechanisms.gaussian_sdp_a(mse=0.02, rescale=1000.0).protect(prior, pair)
    assert loss(prior, pair, rescaled) == pytest.approx(212.6, rel=1e-3)
    stated = sf.mechanisms.gaussian_sdp_a(mse=0.02).protect(prior, pair)
    assert loss(prior, pair, stated) > 1e6


DESIGNED_AT_SIX = {  # floor: true losses at length scales 1, 3, 6, 7.5, 9, 12
    1e-6: (8.5085, 6.8820, 7.60859, 14.753, 275.22, 81_718.0),
    1e-2: (8.5598, 6.9447, 7.67541, 13.743, 67.886, 959.08),
}


@pytest.mark.parametrize(("floor", "row"), DESIGNED_AT_SIX.items())
def test_a_single_prior_is_not_a_class(floor, row):
    release = optimal(rbf(6.0), MIDDLE, floor=floor)
    found = [loss(rbf(l), MIDDLE, release) for l in (1.0, 3.0, 6.0, 7.5, 9.0, 12.0)]
    assert found == pytest.approx(row, rel=1e-4)


def test_the_prior_of_a_design_may_differ_from_that_of_the_scenario():
    design = sf.mechanisms.gaussian_optimal(mse=0.02).designed_for(prior=rbf(6.0))
    release = design.protect(rbf(9.0), MIDDLE)
    assert loss(rbf(9.0), MIDDLE, release) == pytest.approx(275.22, rel=1e-4)


def test_noise_shaped_like_the_prior_under_other_priors():
    release = optimal(rbf(6.0), sf.secrets.every_point())
    found = [loss(rbf(l), MIDDLE, release) for l in (1.0, 3.0, 6.0, 7.5, 9.0, 12.0)]
    assert found == pytest.approx([53.22, 50.51, 50.000, 50.18, 51.06, 55.344], rel=2e-4)


def test_designed_at_twelve_under_other_priors():
    release = optimal(rbf(12.0), MIDDLE)
    found = [loss(rbf(l), MIDDLE, release) for l in (1.0, 3.0, 6.0, 7.5, 9.0, 12.0)]
    assert found == pytest.approx([16.374, 13.161, 12.530, 12.518, 12.654, 14.0174], rel=1e-4)


CLASSES = [
    (sf.AnyOf(3.0, 6.0, 9.0, 12.0), 14.0174, "finite"),
    (sf.Interval(3, 12), 14.0174, "proved"),
    (sf.AnyOf(1.0, 2.0, 3.0, 6.0, 9.0, 12.0), 14.1349, "finite"),
]


@pytest.mark.parametrize(("lengths", "value", "how"), CLASSES)
def test_classes(lengths, value, how):
    prior = rbf(lengths)
    release = optimal(prior, MIDDLE)
    # Over an interval the loss is a bound, proved to within 1e-3 of what a member loses.
    assert loss(prior, MIDDLE, release) == pytest.approx(
        value, rel=1e-3 if how == "proved" else 1e-5
    )
    assert release.claims["lower_bound"] == pytest.approx(value, rel=1e-5)
    assert release.claims["class_seen"] == how


OPTIMA = [
    (6.0, basics(10, 24, 40), 20.066),
    (1.0, basics(10, 24, 40), 4.1195),
    (6.0, sf.secrets.every_point(), 50.0),
    (3.0, sf.secrets.compound([24, 25]), 64.5665),
    (6.0, sf.secrets.compound([24, 25]), 411.208),
    (3.0, sf.secrets.compound([20, 24, 25, 30]), 114.951),
    (6.0, basics(10, 40) | sf.secrets.compound([24, 25]), 414.359),
]


@pytest.mark.parametrize(("length_scale", "secret", "value"), OPTIMA, ids=str)
def test_optima(length_scale, secret, value):
    prior = rbf(length_scale)
    release = optimal(prior, secret)
    assert loss(prior, secret, release) == pytest.approx(value, rel=3e-5)
    assert release.claims["relative_gap"] <= 1e-5
    assert release.utility() == pytest.approx(0.02, rel=1e-12)


def test_every_point_at_the_budget_of_algorithm_1():
    prior, everywhere = rbf(6.0), sf.secrets.every_point()
    release = optimal(prior, everywhere, budget=17.368)
    assert loss(prior, everywhere, release) == pytest.approx(2.879, rel=1e-4)
    even = sf.mechanisms.gaussian_uniform(mse=17.368 / 50).protect(prior, everywhere)
    assert loss(prior, everywhere, even) == pytest.approx(19.49, rel=1e-3)
