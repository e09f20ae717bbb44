"""The law of the log-odds gap against quadrature, simulation and the definition."""

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
from sfumato.matrices import Dense
from sfumato.questions import Displacements
from sfumato_renyi.odds_gap import (
    best_conversion_gap,
    conversion_chance,
    conversion_gap,
    gap_chance,
    gap_quantile,
)

MEANS = st.floats(1e-12, 1e6)
CHANCES = st.floats(1e-12, 0.999)


def true_chance(mean, gap):
    """Pr[|G| > gap] for G ~ N(m, 2m), in 50 digits."""
    with mpmath.workdps(50):
        m, x = mpmath.mpf(mean), mpmath.mpf(gap)
        spread = mpmath.sqrt(2 * m)
        return mpmath.ncdf((m - x) / spread) + mpmath.ncdf((-m - x) / spread)


@settings(max_examples=50)
@given(MEANS, CHANCES)
def test_the_quantile_is_exceeded_with_that_chance(mean, chance):
    gap = gap_quantile(mean, chance)
    room = 1e-12 * (gap + mean)
    assert true_chance(mean, max(gap - room, 0.0)) >= chance * (1 - 1e-6)
    assert true_chance(mean, gap + room) <= chance * (1 + 1e-6)


@given(MEANS, st.floats(0, 100))
def test_chances_against_many_digits(mean, gap):
    assert gap_chance(mean, gap) == pytest.approx(
        float(true_chance(mean, gap)), rel=1e-9, abs=1e-300
    )


@given(MEANS, CHANCES)
def test_the_gap_grows_with_the_mean(mean, chance):
    assert gap_quantile(mean * 1.01, chance) >= gap_quantile(mean, chance) * (1 - 1e-9)


def test_the_gap_by_simulation():
    """Draw a release of one entry under one secret and look at the odds themselves."""
    rng, secrets, noise = np.random.default_rng(0), (0.3, 1.1), 0.5
    seen = secrets[0] + math.sqrt(noise) * rng.standard_normal(400_000)
    changes = ((seen - secrets[1]) ** 2 - (seen - secrets[0]) ** 2) / (2 * noise)
    prior, secret = sf.priors.rbf(length_scale=1.0, times=1), sf.secrets.basic(0, radius=0.8)
    release = sf.mechanisms.gaussian_uniform(mse=noise).protect(prior, secret)
    found = sf.measures.odds_gap(delta=0.05).loss(prior, secret, release).value
    assert np.mean(np.abs(changes) > found) == pytest.approx(0.05, abs=0.002)
    expected = sf.measures.odds_gap(expected=True).loss(prior, secret, release)
    assert expected.value == pytest.approx(changes.mean(), abs=0.01)
    assert expected.value == pytest.approx(0.8**2 / noise / 2)


@given(MEANS, st.floats(1e-9, 0.5), st.floats(1.001, 50))
def test_the_conversion_is_never_below_the_exact_gap(mean, delta, order):
    converted = conversion_gap(order * mean, order, delta)
    exact = gap_quantile(mean, delta)
    assert converted >= exact * (1 - 1e-12)
    best = best_conversion_gap(mean, delta)
    assert exact * (1 - 1e-12) <= best <= converted * (1 + 1e-12)
    at = 1 + math.sqrt(math.log(1 / delta) / mean)
    assert best == pytest.approx(conversion_gap(at * mean, at, delta), rel=1e-6)


def test_the_published_chance_is_one_sided():
    """Three atoms whose two-sided chance exceeds the published δ but not the corrected one."""
    order, divergence, delta = 5.0, 1.0, 0.01
    gap = conversion_gap(divergence, order, delta)
    odds = math.exp(gap)
    # Under s_i the atoms have chances (a, b, 1 − a − b); the first two are odds and 1/odds times
    # those under s_j, just beyond the gap.
    beyond = odds * (1 + 1e-9)

    def renyi(one, other):
        return math.log(
            sum(p**order * q ** (1 - order) for p, q in zip(one, other, strict=True))
        ) / (order - 1)

    def laws(a):
        one = (a, a / beyond, 1 - a - a / beyond)
        return one, (a / beyond, a, 1 - a - a / beyond)

    low, high = 0.0, 0.02
    for _ in range(200):
        middle = (low + high) / 2
        one, other = laws(middle)
        if max(renyi(one, other), renyi(other, one)) <= divergence:
            low = middle
        else:
            high = middle
    one, _ = laws(low)
    chance = one[0] + one[1]
    assert delta < chance <= conversion_chance(gap, delta) * (1 + 1e-6)
    assert chance == pytest.approx(0.01095, rel=2e-3)


@pytest.mark.parametrize("mse", [1e-300, 1e-12, 1.0, 1e12])
def test_extremes(mse):
    prior, secret = sf.priors.rbf(length_scale=1.0, times=1), sf.secrets.basic(0)
    release = sf.mechanisms.gaussian_uniform(mse=mse).protect(prior, secret)
    exact = sf.measures.odds_gap().loss(prior, secret, release)
    converted = sf.measures.odds_gap(conversion=True).loss(prior, secret, release)
    assert 0 < exact.value <= converted.value < math.inf
    assert (exact.bound, converted.bound) == ("exact", "upper")
    assert exact.quantity == converted.quantity


def test_a_revealed_secret_has_an_infinite_gap():
    prior, secret = sf.priors.rbf(length_scale=1.0, times=2), sf.secrets.basic(0)
    silent = sf.mechanisms.gaussian_given(covariance=np.diag([0.0, 1.0])).protect(prior, secret)
    for parameters in ({}, {"conversion": True}, {"conversion": True, "conversion_order": 3.0}):
        found = sf.measures.odds_gap(**parameters).loss(prior, secret, silent)
        assert found.value == math.inf
    assert sf.measures.odds_gap(expected=True).loss(prior, secret, silent).value == math.inf


def test_the_workshops_corollary_bounds_the_expected_gap():
    prior, secret = sf.priors.rbf(length_scale=3.0, times=9), sf.secrets.compound([3, 4])
    release = sf.mechanisms.gaussian_uniform(mse=0.5).protect(prior, secret)
    exact = sf.measures.odds_gap(expected=True).loss(prior, secret, release)
    bound = sf.measures.odds_gap(expected=True, conversion=True, conversion_order=2.0)
    converted = bound.loss(prior, secret, release)
    renyi = sf.measures.renyi(order=2.0).loss(prior, secret, release).value
    assert converted.value == pytest.approx(renyi, rel=1e-9)
    assert exact.value == pytest.approx(renyi / 2, rel=1e-12)
    assert (converted.bound, converted.quantity) == ("upper", exact.quantity)


@pytest.mark.parametrize(
    "bad",
    [{"delta": 0.0}, {"delta": 1.0}, {"delta": math.nan}, {"conversion_order": 2.0}]
    + [
        {"conversion": True, "conversion_order": order}
        for order in (0.0, 0.5, 1.0, math.inf, math.nan)
    ]
    + [{"conversion": True, "expected": True}, {"conversion": 1}],
    ids=str,
)
def test_bad_parameters(bad):
    with pytest.raises(sf.ParameterError, match=r"^odds_gap\.\w+ must be .*\.$"):
        sf.measures.odds_gap(**bad)


def test_the_ends_of_a_bounded_worst_pair_are_ends_of_the_gap():
    """Of many entries at once only two ends of the worst pair are known."""
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 40, 40))
    prior, noise = a @ a.T + np.eye(40), b @ b.T + 0.1 * np.eye(40)
    question = Displacements((tuple((entry,) for entry in range(40)),), 1.0)
    belief, channel = Gaussian(Dense(prior)), AdditiveGaussian(Dense(noise))
    mean = 0.0
    for signs in np.sign(rng.standard_normal((200, 40))):  # M is the inverse noise: all is secret
        mean = max(mean, float(signs @ np.linalg.solve(noise, signs)) / 2)
    for measure in (sf.measures.odds_gap(), sf.measures.odds_gap(expected=True)):
        found = measure.evaluate(belief, question, channel)
        assert (found.bound, found.interval[1]) == ("upper", found.value)
        reached = mean if measure.expected else float(gap_quantile(mean, measure.delta))
        assert found.floor <= found.ceiling >= reached
        assert found.floor >= 0.9 * found.ceiling


@pytest.mark.parametrize("chance", [0.5, 0.9999, 1 - 1e-8, 1 - 1e-12])
@pytest.mark.parametrize("noise", [1e4, 1.0])
def test_a_chance_near_one_has_its_ends(chance, noise):
    prior, secret = sf.priors.rbf(length_scale=1.0, times=1), sf.secrets.basic(0)
    release = sf.mechanisms.gaussian_uniform(mse=noise).protect(prior, secret)
    loss = sf.measures.odds_gap(delta=chance).loss(prior, secret, release)
    low, high = loss.interval or (loss.floor, loss.ceiling)
    mean = 0.5 / noise
    assert true_chance(mean, low) >= chance >= true_chance(mean, high)
