"""The exact loss: by definition, by enumeration, and its three ways out."""

from __future__ import annotations

import itertools
import math

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.inference import exact as ball_arithmetic


def release_of(prior, secret, covariance):
    return sf.mechanisms.gaussian_given(covariance=covariance).protect(prior, secret)


def fisher(prior, noise, entries):
    """Ãᵀ (C + Γ)⁻¹ Ã by the textbook, for well-conditioned matrices."""
    weights = prior[:, entries] @ np.linalg.inv(prior[np.ix_(entries, entries)])
    conditional = prior - weights @ prior[entries]
    return weights.T @ np.linalg.solve(conditional + noise, weights)


def drawn_noise(seed, size):
    factor = np.random.default_rng(seed).standard_normal((size, size))
    return factor @ factor.T + 0.2 * np.eye(size)


@settings(max_examples=30)
@given(
    st.integers(0, 2**32 - 1),
    st.lists(st.integers(0, 7), min_size=1, max_size=5, unique=True),
    st.floats(1.01, 20),
    st.floats(0.1, 5),
)
def test_correlated_noise_by_enumerating_signs(seed, indices, order, radius):
    prior, secret = (
        sf.priors.matern(length_scale=2.0, times=8),
        sf.secrets.compound(indices, radius),
    )
    noise = drawn_noise(seed, 8)
    found = sf.measures.renyi(order=order).loss(prior, secret, release_of(prior, secret, noise))
    matrix = fisher(prior.belief().covariance.dense(), noise, indices)
    signs = itertools.product((-1, 1), repeat=len(indices))
    best = max(np.array(v) @ matrix @ np.array(v) for v in signs)
    assert found.value == pytest.approx(order / 2 * radius**2 * best, rel=1e-7)
    assert found.bound == "exact"
    moved = np.array(found.witness["displacement"])
    assert moved @ matrix @ moved == pytest.approx(radius**2 * best, rel=1e-7)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_two_coordinates_are_bounded_from_both_sides(seed):
    prior = sf.priors.matern(length_scale=2.0, times=4, dimensions=2)
    secret = sf.secrets.compound([0, 1, 3])
    noise = drawn_noise(seed, 8)
    found = sf.measures.renyi(order=2.0).loss(prior, secret, release_of(prior, secret, noise))
    entries = [0, 1, 2, 3, 6, 7]
    matrix = fisher(prior.belief().covariance.dense(), noise, entries)
    assert 0.9 * found.value <= found.floor <= found.ceiling
    angles = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    pairs = itertools.product(circle[:12], circle, circle)  # Δ and −Δ count once
    moved = np.array([np.concatenate(directions) for directions in pairs])
    reached = np.max(np.einsum("si,ij,sj->s", moved, matrix, moved, optimize=True))
    assert reached <= found.value * (1 + 1e-9)
    assert found.value <= reached * 1.05  # the grid of angles is within 2 per cent


def test_one_ball_of_coordinates_takes_its_largest_eigenvalue():
    prior, secret = sf.priors.matern(length_scale=2.0, times=4, dimensions=3), sf.secrets.basic(2)
    noise = drawn_noise(7, 12)
    found = sf.measures.renyi(order=2.0).loss(prior, secret, release_of(prior, secret, noise))
    matrix = fisher(prior.belief().covariance.dense(), noise, [6, 7, 8])
    assert found.value == pytest.approx(np.linalg.eigvalsh(matrix)[-1], rel=1e-9)
    assert found.bound == "exact"


def test_twenty_times_are_enumerated_and_more_are_bounded_and_attained():
    prior = sf.priors.rbf(length_scale=1.0, times=30)
    measure = sf.measures.renyi()
    release = sf.mechanisms.gaussian_uniform(mse=0.1).protect(prior, sf.secrets.basic(0))
    twenty = measure.loss(prior, sf.secrets.compound(range(20)), release)
    more = measure.loss(prior, sf.secrets.compound(range(21)), release)
    # A displacement that attains the bound shows that it is exact.
    assert (twenty.bound, more.bound) == ("exact", "exact")
    assert more.value >= twenty.value


def test_a_union_takes_the_worst_part():
    prior = sf.priors.rbf(length_scale=2.0, times=8)
    parts = [
        sf.secrets.basic(0),
        sf.secrets.compound([3, 4], radius=0.5),
        sf.secrets.basic(7, radius=2.0),
    ]
    union = parts[0] | parts[1] | parts[2]
    release = sf.mechanisms.gaussian_uniform(mse=0.3).protect(prior, union)
    measure = sf.measures.renyi()
    each = [measure.loss(prior, part, release).value for part in parts]
    assert measure.loss(prior, union, release).value == max(each)
    every = measure.loss(prior, sf.secrets.every_point(), release)
    assert every.value == pytest.approx(
        max(measure.loss(prior, sf.secrets.basic(i), release).value for i in range(8)), rel=1e-9
    )


def rank_one_release(prior, secret):
    shape = np.exp(-np.square(np.arange(30) - 14) / 40.0)
    return release_of(prior, secret, np.outer(shape, shape) + 1e-13 * np.eye(30))


def test_first_way_out_balls():
    prior, secret = sf.priors.rbf(length_scale=6.0, times=30), sf.secrets.basic(14)
    found = sf.measures.renyi().loss(prior, secret, rank_one_release(prior, secret))
    assert found.bound == "exact"
    assert "ball arithmetic" in found.how


def test_second_way_out_a_refusal(monkeypatch):
    monkeypatch.setattr(ball_arithmetic, "MOST_IN_BALLS", 0)
    prior, secret = sf.priors.rbf(length_scale=6.0, times=30), sf.secrets.basic(14)
    with pytest.raises(sf.Undecidable, match="too long for exact arithmetic"):
        sf.measures.renyi().loss(prior, secret, rank_one_release(prior, secret))


def test_third_way_out_an_upper_bound(monkeypatch):
    """Float64 that knows the loss only to some per cent says at most, and not less than it is."""
    prior, secret = sf.priors.rbf(length_scale=6.0, times=30), sf.secrets.basic(14)
    shape = np.exp(-np.square(np.arange(30) - 14) / 40.0)
    for floor in np.geomspace(1e-12, 1e-6, 25):
        release = release_of(prior, secret, np.outer(shape, shape) + floor * np.eye(30))
        truth = sf.measures.renyi().loss(prior, secret, release)
        with monkeypatch.context() as without:
            without.setattr(ball_arithmetic, "MOST_IN_BALLS", 0)
            again = attrs.evolve(release, channel=attrs.evolve(release.channel))  # no view is kept
            try:
                found = sf.measures.renyi().loss(prior, secret, again)
            except sf.Undecidable:
                continue
        if found.bound == "upper":
            assert truth.value <= found.value <= 3 * truth.value
            return
    pytest.fail("no floor gave an upper bound")


def test_infinities_need_no_tolerance():
    prior = sf.priors.rbf(length_scale=3.0, times=6)
    rank_one = np.ones((6, 6))
    measure = sf.measures.renyi()
    pair = sf.secrets.compound([1, 4])
    assert measure.loss(prior, pair, release_of(prior, pair, rank_one)).value == math.inf
    basic = sf.secrets.basic(1)
    assert math.isfinite(measure.loss(prior, basic, release_of(prior, basic, rank_one)).value)
    silent = np.diag([1.0, 0.0, 1.0, 1.0, 1.0, 1.0])
    assert measure.loss(prior, basic, release_of(prior, basic, silent)).value == math.inf
    every = sf.secrets.every_point()
    assert measure.loss(prior, every, release_of(prior, every, silent)).value == math.inf


@pytest.mark.parametrize("order", [0.0, 0.5, 1.0, -1.0, math.nan, math.inf, "2", None, True])
def test_bad_orders(order):
    bounds = (sf.measures.renyi_paper_bound, sf.measures.misspecification)
    limits = order is not True and order in (1.0, math.inf)
    for measure in bounds if limits else (sf.measures.renyi, *bounds):
        with pytest.raises(sf.ParameterError, match=r"\.order must be a Rényi order above 1"):
            measure(order=order)


@pytest.mark.parametrize("order", [1.0, 1 + 1e-8, 1e308])
def test_extreme_orders_scale_the_loss(order):
    prior, secret = sf.priors.rbf(length_scale=3.0, times=6), sf.secrets.basic(1)
    release = release_of(prior, secret, 1e3 * np.eye(6))
    one = sf.measures.renyi(order=2.0).loss(prior, secret, release).value
    assert sf.measures.renyi(order=order).loss(prior, secret, release).value == pytest.approx(
        order / 2 * one
    )


def scaled_class(variance, **parameters):
    return sf.priors.rbf(times=8, variance=variance, **parameters)


MONOTONE = [
    sf.measures.renyi(),
    sf.measures.renyi_paper_bound(),
    sf.measures.odds_gap(),
    sf.measures.posterior_interval(),
]


@pytest.mark.parametrize("measure", MONOTONE, ids=lambda measure: measure.name)
def test_an_interval_of_variances_is_worst_at_its_low_end_for_certain(measure):
    secret = sf.secrets.compound([2, 5])
    prior = scaled_class(sf.Interval(0.5, 9.0), length_scale=2.0)
    release = sf.mechanisms.gaussian_uniform(mse=0.3).protect(prior, secret)
    found = measure.loss(prior, secret, release)
    assert found.bound in ("exact", "upper")
    assert found.worst == scaled_class(0.5, length_scale=2.0)
    assert found.scenario.prior == prior
    sign = found.quantity.sign
    for variance in np.geomspace(0.5, 9.0, 12):
        member = measure.loss(scaled_class(variance, length_scale=2.0), secret, release)
        assert sign * member.value <= sign * found.value + 1e-9 * abs(found.value)


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.floats(1.0, 50.0))
def test_a_larger_prior_never_loses_more(seed, factor):
    secret, noise = sf.secrets.compound([1, 4]), drawn_noise(seed, 8)
    small, large = (scaled_class(v, length_scale=1.5) for v in (1.0, factor))
    release = release_of(small, secret, noise)
    for measure in (sf.measures.renyi(), sf.measures.odds_gap(), sf.measures.posterior_interval()):
        one, other = (measure.loss(prior, secret, release) for prior in (small, large))
        sign = one.quantity.sign
        assert sign * other.value <= sign * one.value + 1e-9 * abs(one.value)


def test_other_parameters_are_proved_cell_by_cell():
    secret = sf.secrets.basic(3)
    prior = scaled_class(sf.Interval(1.0, 2.0), length_scale=sf.Interval(1.0, 2.0))
    release = sf.mechanisms.gaussian_uniform(mse=0.3).protect(prior, secret)
    found = sf.measures.renyi().loss(prior, secret, release)
    assert (found.bound, found.worst.variance) == ("upper", 1.0)
    either = sf.AnyOf(
        scaled_class(sf.Interval(1.0, 2.0), length_scale=2.0), scaled_class(3.0, length_scale=1.0)
    )
    assert sf.measures.renyi().loss(either, secret, release).bound == "exact"
