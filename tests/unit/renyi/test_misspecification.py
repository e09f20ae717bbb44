"""Theorem 3.3: from below by the exact loss, term by term, and its infinities."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sfumato as sf
from sfumato_renyi.misspecification import conditional_divergence

SECRET = sf.secrets.basic(2)


def rbf(length, times=5):
    return sf.priors.rbf(length_scale=length, times=times)


def designed(prior, mse=1.0, secret=SECRET):
    return sf.mechanisms.gaussian_uniform(mse=mse).protect(prior, secret)


def test_the_bound_is_the_printed_sum():
    order, region = 2.0, 3.0
    believed, true = rbf(1.0), rbf(1.01)
    release = designed(believed)
    found = sf.measures.misspecification(order=order, region=region).loss(true, SECRET, release)

    def distance(lam):
        directions = []
        for one, other in ((believed, true), (true, believed)):
            part = conditional_divergence(one.belief(), other.belief(), [2], lam)
            directions.append(part.constant + lam / 2 * part.quadratic[0, 0] * region**2)
        return max(directions)

    inner = sf.measures.renyi(order=4 * order - 2).loss(believed, SECRET, release).value
    expected = (
        (order - 0.5) / (order - 1) * distance(2 * order)
        + distance(4 * order - 3)
        + (2 * order - 1.5) / (2 * order - 2) * inner
    )
    assert found.value == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("order", [1.5, 2.0, 4.0])
@pytest.mark.parametrize("length", [1.0, 1.001, 1.02])
@pytest.mark.parametrize("secret", [SECRET, sf.secrets.compound([1, 3])], ids=str)
def test_it_bounds_the_exact_loss_under_the_true_prior(order, length, secret):
    release = designed(rbf(1.0), secret=secret)
    true = rbf(length)
    bound = sf.measures.misspecification(order=order, region=2.0).loss(true, secret, release)
    exact = sf.measures.renyi(order=order).loss(true, secret, release)
    assert exact.value <= bound.value
    assert (bound.bound, bound.quantity, bound.scenario) == (
        "upper",
        exact.quantity,
        exact.scenario,
    )
    assert bound.witness["exact loss"] == pytest.approx(exact.value, rel=1e-12)
    assert not sf.contradictions([bound, exact])


def test_without_misspecification_only_the_last_term_is_left():
    release = designed(rbf(1.0))
    found = sf.measures.misspecification(order=2.0).loss(rbf(1.0), SECRET, release)
    inner = sf.measures.renyi(order=6.0).loss(rbf(1.0), SECRET, release).value
    assert found.value == pytest.approx(2.5 / 2 * inner, rel=1e-9)


def test_infinities_are_honest():
    release = designed(rbf(1.0))
    everywhere = sf.measures.misspecification(order=2.0)
    assert everywhere.loss(rbf(1.001), SECRET, release).value == math.inf
    far = sf.measures.misspecification(order=2.0, region=1.0)
    assert far.loss(rbf(2.0), SECRET, release).value == math.inf
    assert math.isfinite(far.loss(rbf(1.001), SECRET, release).value)


def test_the_nearest_member_of_the_designs_class_counts():
    wide = sf.priors.rbf(length_scale=sf.AnyOf(0.5, 1.0), times=5)
    release = designed(wide)
    measure = sf.measures.misspecification(order=2.0, region=1.0)
    found = measure.loss(rbf(1.01), SECRET, release).value
    alone = measure.loss(rbf(1.01), SECRET, designed(rbf(1.0))).value
    assert found == pytest.approx(alone, rel=1e-12)


def test_over_a_class_of_true_priors_the_worst_counts():
    release = designed(rbf(1.0))
    measure = sf.measures.misspecification(order=2.0, region=1.0)
    true = sf.priors.rbf(length_scale=sf.AnyOf(1.0, 1.001, 1.02), times=5)
    found = measure.loss(true, SECRET, release)
    assert found.worst == rbf(1.02)
    assert found.value == measure.loss(rbf(1.02), SECRET, release).value


def test_bad_regions():
    for bad in (0.0, -1.0, math.nan, "1"):
        with pytest.raises(sf.ParameterError, match=r"misspecification\.region"):
            sf.measures.misspecification(region=bad)


def test_a_region_without_the_pairs_of_the_loss_is_refused():
    """Two values at the radius' distance need a region of half of it."""
    believed, true = (sf.priors.rbf(length_scale=length, times=2) for length in (0.1, 0.5))
    secret = sf.secrets.basic(0)
    mechanism = sf.mechanisms.gaussian_given(covariance=np.diag([1e6, 1e-4]))
    release = mechanism.protect(believed, secret)
    for region in (1e-6, 0.1, 0.4999):
        with pytest.raises(sf.OutsideHypotheses, match=r"region must be at least half the radius"):
            sf.measures.misspecification(order=2.0, region=region).loss(true, secret, release)
    least = sf.measures.misspecification(order=2.0, region=0.5).loss(true, secret, release)
    exact = sf.measures.renyi(order=2.0).loss(true, secret, release)
    assert exact.value <= least.value < math.inf
    assert not sf.contradictions([least, exact])


def test_the_largest_radius_of_a_union_decides_on_the_region():
    secret = sf.secrets.basic(1) | sf.secrets.basic(3, radius=4.0)
    release = designed(rbf(1.0), secret=secret)
    with pytest.raises(sf.OutsideHypotheses, match=r"radius of the secret, 2, .* got 1\.5"):
        sf.measures.misspecification(region=1.5).loss(rbf(1.01), secret, release)
    assert sf.measures.misspecification(region=2.0).loss(rbf(1.01), secret, release).value > 0


def test_every_entry_secret_leaves_nothing_to_misjudge():
    secret = sf.secrets.compound([0, 1])
    release = sf.mechanisms.gaussian_uniform(mse=1.0).protect(rbf(1.0, 2), secret)
    found = sf.measures.misspecification(order=2.0).loss(rbf(3.0, 2), secret, release)
    inner = sf.measures.renyi(order=6.0).loss(rbf(1.0, 2), secret, release).value
    assert found.value == pytest.approx(1.25 * inner, rel=1e-9)
    assert np.isfinite(found.value)


def test_a_member_at_the_edge_of_a_finite_divergence_hides_no_other():
    """At order 2 the divergences of order 4 and 5 are taken: 5 Q − 4 P vanishes for P = 5/4 Q."""
    secret, measure = sf.secrets.basic(1), sf.measures.misspecification(order=2.0, region=2.0)
    true, edge = (sf.priors.rbf(length_scale=1.0, times=3, variance=v) for v in (1.0, 1.25))
    design = sf.mechanisms.gaussian_uniform(mse=0.5)
    with pytest.raises(sf.Undecidable):
        measure.loss(true, secret, design.protect(edge, secret))
    own = measure.loss(true, secret, design.protect(true, secret))
    both = measure.loss(true, secret, design.protect(sf.AnyOf(edge, true), secret))
    assert both.value == own.value
    covariance = true.belief().covariance.dense()
    left = covariance - covariance @ np.linalg.solve(covariance + 0.5 * np.eye(3), covariance)
    square = 1 / left[1, 1] - 1
    assert both.value == pytest.approx(2.5 / 2 * 3 * square, rel=1e-9)
