"""Meehan and Chaudhuri (2021): losses of given noise, to the digits known independently."""

from __future__ import annotations

import math

import attrs
import numpy as np
import pytest

import sfumato as sf
from sfumato.channels import AdditiveGaussian
from sfumato.matrices import Dense, Diagonal, LowRank, Scaled, Sum
from sfumato.views import GaussianView
from sfumato.views.measures import worst_square

N = 50
DIGITS = {"rel": 1e-4}


def rbf(length, **parameters):
    return sf.priors.rbf(length_scale=length, times=N, **parameters)


def gain(prior, secret, noise):
    """The loss in units of λ/2, of noise given as a structured matrix."""
    belief = prior.belief()
    channel = AdditiveGaussian(noise, dimensions=belief.dimensions)
    return worst_square(GaussianView((belief, secret.question(belief), channel)))


def loss(prior, secret, noise, order=2.0):
    release = sf.mechanisms.gaussian_given(covariance=noise).protect(prior, secret)
    return sf.measures.renyi(order=order).loss(prior, secret, release)


def rank_one(length, kappa, budget=1.0, secret=24):
    """B q qᵀ with q ∝ (Σ + B I)⁻¹ Σ_s, less a share κ that is spread evenly."""
    prior = rbf(length).belief().covariance.dense()
    bump = np.linalg.solve(prior + budget * np.eye(N), prior[:, secret])
    bump /= np.linalg.norm(bump)
    shaped = LowRank(math.sqrt((1 - kappa) * budget) * bump)
    return Sum((shaped, Diagonal.constant(kappa * budget / N, N)))


@pytest.mark.parametrize(
    ("length", "expected"), [(1, 53.4375), (3, 137.737), (6, 260.603), (10, 414.656)]
)
def test_independent_noise_on_one_secret(length, expected):
    found = loss(rbf(length), sf.secrets.basic(24), 0.02 * np.eye(N))
    assert found.value == pytest.approx(expected, **DIGITS)
    assert found.bound == "exact"


@pytest.mark.parametrize(
    ("indices", "exact", "paper"),
    [([20, 24, 25, 30], 469.917, 707.041), ([0, 10, 24, 25, 45], 441.827, 901.268)],
)
def test_compound_secrets_are_products_of_balls(indices, exact, paper):
    prior, secret = rbf(3), sf.secrets.compound(indices)
    release = sf.mechanisms.gaussian_uniform(mse=0.1).protect(prior, secret)
    found = sf.measures.renyi(order=2.0).loss(prior, secret, release)
    assert found.value == pytest.approx(exact, **DIGITS)
    assert found.bound == "exact"
    bound = sf.measures.renyi_paper_bound(order=2.0).loss(prior, secret, release)
    assert bound.value == pytest.approx(paper, **DIGITS)
    assert (bound.bound, bound.quantity, bound.scenario) == (
        "upper",
        found.quantity,
        found.scenario,
    )


MISSPECIFIED = {
    (6, 1e-6): {1: 8.5085, 3: 6.8820, 6: 7.60859, 7.5: 14.753, 9: 275.22, 12: 81718},
    (6, 1e-2): {1: 8.5598, 3: 6.9447, 6: 7.67541, 7.5: 13.743, 9: 67.886, 12: 959.08},
    (12, 1e-6): {1: 16.374, 3: 13.161, 6: 12.530, 7.5: 12.518, 9: 12.654, 12: 14.0174},
}


@pytest.mark.parametrize(
    ("design", "kappa", "length", "expected"),
    [(*key, length, value) for key, row in MISSPECIFIED.items() for length, value in row.items()],
)
def test_a_single_prior_is_not_a_class(design, kappa, length, expected):
    found = gain(rbf(length), sf.secrets.basic(24), rank_one(design, kappa))
    assert found.value == pytest.approx(expected, **DIGITS)
    assert found.bound == "exact"


@pytest.mark.parametrize(
    ("length", "expected"),
    [(1, 53.22), (3, 50.51), (6, 50.000), (7.5, 50.18), (9, 51.06), (12, 55.344)],
)
def test_noise_shaped_like_the_prior(length, expected):
    shape = Dense(rbf(6).belief().covariance.dense())
    floor = Diagonal.constant(1e-6 / N, N)
    noise = Sum((Scaled(shape, (1 - 1e-6) / N), floor))
    found = gain(rbf(length), sf.secrets.basic(24), noise)
    assert found.value == pytest.approx(expected, rel=2e-4)  # two of the values have four digits


def test_noise_shaped_like_the_prior_on_every_point():
    prior = rbf(6).belief().covariance.dense()
    shaped = loss(rbf(6), sf.secrets.every_point(), 17.368 / N * prior)
    even = loss(rbf(6), sf.secrets.every_point(), 17.368 / N * np.eye(N))
    assert shaped.value == pytest.approx(2.879, rel=2e-4)
    assert even.value == pytest.approx(19.49, rel=5e-4)


def test_rounding_a_shape_gives_it_away_and_the_floor_mends_it():
    bare = rank_one(6, 0.0).terms[0]
    # Of the order of 1e10 or 1e11, depending on how the shape is rounded; the ideal is 7.6.
    assert gain(rbf(6), sf.secrets.basic(24), bare).value > 1e9
    mended = gain(rbf(6), sf.secrets.basic(24), rank_one(6, 1e-6))
    assert mended.value == pytest.approx(7.608585, rel=1e-6)


def test_the_worst_member_of_an_interval_is_reported():
    noise = rank_one(12, 1e-6)
    prior, secret = rbf(sf.Interval(3, 12)), sf.secrets.basic(24)
    base = sf.mechanisms.gaussian_uniform(mse=0.02).protect(prior, secret)
    release = attrs.evolve(base, channel=AdditiveGaussian(noise))
    found = sf.measures.renyi(order=2.0).loss(prior, secret, release)
    assert found.worst == rbf(12)
    assert found.bound == "upper"
    assert found.floor == pytest.approx(14.0174, **DIGITS)
    assert found.floor <= found.ceiling <= 14.0174 * 1.01
    wider = sf.measures.renyi(order=2.0).loss(rbf(sf.AnyOf(1, 12)), secret, release)
    assert wider.value == pytest.approx(16.374, **DIGITS)
    assert (wider.bound, wider.worst) == ("exact", rbf(1))


def test_every_measure_reports_the_worst_member_in_its_own_direction():
    prior, secret = rbf(sf.AnyOf(1, 3, 6)), sf.secrets.basic(24)
    release = sf.mechanisms.gaussian_uniform(mse=0.02).protect(prior, secret)
    for measure in (
        sf.measures.renyi(),
        sf.measures.renyi_paper_bound(),
        sf.measures.odds_gap(),
        sf.measures.posterior_interval(),
    ):
        assert measure.loss(prior, secret, release).worst == rbf(6)


@pytest.mark.parametrize(("delta", "gap", "odds"), [(0.01, 1.2513, 3.495), (0.1, 0.6756, 1.965)])
def test_the_papers_example_of_posterior_odds(delta, gap, odds):
    prior, secret = sf.priors.rbf(length_scale=1.0, times=1), sf.secrets.basic(0)
    release = sf.mechanisms.gaussian_uniform(mse=25.0).protect(prior, secret)
    assert sf.measures.renyi(order=5.0).loss(prior, secret, release).value == pytest.approx(0.1)
    measure = sf.measures.odds_gap(delta=delta, conversion=True, conversion_order=5.0)
    found = measure.loss(prior, secret, release)
    assert found.value == pytest.approx(gap, **DIGITS)
    assert math.exp(found.value) == pytest.approx(odds, rel=2e-4)
    exact_chance = {0.01: 4.75e-10, 0.1: 7.75e-4}[delta]
    assert found.witness["chance for this prior"] == pytest.approx(exact_chance, rel=1e-3)


def test_independent_coordinates_take_the_larger_gain_not_the_sum():
    across = np.diag([1.0, 4.0])
    prior = rbf(3, across=across)
    noise = Diagonal(np.tile([0.1, 0.3], N))
    both = gain(prior, sf.secrets.basic(24), noise)
    each = [
        gain(rbf(3, variance=v), sf.secrets.basic(24), Diagonal.constant(g, N)).value
        for v, g in ((1.0, 0.1), (4.0, 0.3))
    ]
    assert both.value == pytest.approx(max(each), rel=1e-9)


def test_a_periodic_secret_one_period_apart_is_one_number():
    prior = sf.priors.periodic(length_scale=1.0, period=5.0, times=10)
    together = gain(prior, sf.secrets.compound([2, 7]), Diagonal.constant(0.1, 10))
    alone = gain(prior, sf.secrets.basic(2), Diagonal.constant(0.1, 10))
    assert together.value == pytest.approx(alone.value, rel=1e-9)
    assert math.isfinite(together.value)


def test_composition_of_two_days_is_the_loss_on_the_joint_trace():
    prior, secret = rbf(6), sf.secrets.basic(24)
    day = sf.priors.rbf(length_scale=6, times=25)
    halves = [
        sf.mechanisms.gaussian_uniform(mse=0.02).protect(day, sf.secrets.basic(24))
        for _ in range(2)
    ]
    both = sf.compose(halves, prior, secret)
    found = sf.measures.renyi(order=2.0).loss(both.prior, secret, both)
    assert found.value == pytest.approx(260.603, **DIGITS)
    first = sf.measures.renyi(order=2.0).loss(day, secret, halves[0])
    assert first.value < 0.7 * found.value
