"""Sums and products of priors, and of classes of them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import sfumato as sf
from sfumato.beliefs import Gaussian
from sfumato.inference.exact import in_balls
from sfumato.matrices import Dense, Kronecker, Toeplitz

SMOOTH = sf.priors.rbf(length_scale=3.0, times=6, variance=2.0)
ROUGH = sf.priors.matern(length_scale=1.0, nu=0.5, times=6)
DAILY = sf.priors.periodic(length_scale=1.0, period=3.0, times=6)


def entries(prior):
    return prior.belief().covariance.dense()


def test_covariances_add_and_multiply():
    np.testing.assert_allclose(entries(SMOOTH + DAILY), entries(SMOOTH) + entries(DAILY))
    np.testing.assert_allclose(entries(SMOOTH * DAILY), entries(SMOOTH) * entries(DAILY))
    mixed = (SMOOTH + DAILY) * ROUGH
    np.testing.assert_allclose(entries(mixed), (entries(SMOOTH) + entries(DAILY)) * entries(ROUGH))


@pytest.mark.parametrize("prior", [SMOOTH + DAILY, SMOOTH * DAILY + ROUGH, DAILY * DAILY], ids=str)
def test_balls_hold_the_entries_within_the_rounding(prior):
    belief = prior.belief()
    balls, stored = in_balls(belief, 256), entries(prior)
    for i, j in itertools.product(range(6), repeat=2):
        room = belief.rounding * np.sqrt(stored[i, i] * stored[j, j])
        assert abs(float(balls[i, j] - stored[i, j])) <= room
        assert float(balls[i, j].rad()) < 1e-70


def test_structure_survives():
    assert isinstance((SMOOTH + DAILY).belief().covariance, Toeplitz)
    assert isinstance((SMOOTH * DAILY).belief().covariance, Toeplitz)
    across = np.array([[1.0, 0.3], [0.3, 1.0]])
    one = sf.priors.rbf(length_scale=2.0, times=4, across=across)
    two = sf.priors.matern(length_scale=2.0, times=4, across=across)
    other = sf.priors.matern(length_scale=2.0, times=4, dimensions=2)
    assert isinstance((one + two).belief().covariance, Kronecker)
    np.testing.assert_allclose(entries(one + two), entries(one) + entries(two), rtol=1e-14)
    np.testing.assert_allclose(entries(one + other), entries(one) + entries(other), rtol=1e-14)
    np.testing.assert_allclose(entries(one * other), entries(one) * entries(other), atol=1e-16)


def test_definiteness_is_known():
    assert (SMOOTH + DAILY).belief().definite
    assert (SMOOTH * DAILY).belief().definite
    assert not (DAILY + DAILY).belief().definite


@pytest.mark.parametrize(
    "prior",
    [
        SMOOTH + DAILY,
        SMOOTH * (DAILY + ROUGH) + ROUGH,
        SMOOTH + sf.priors.rbf(length_scale=sf.Interval(1, 2), times=6),
        sf.AnyOf(SMOOTH, DAILY) * sf.priors.rbf(length_scale=sf.AnyOf(1.0, 2.0), times=6),
    ],
    ids=str,
)
def test_plain_forms_round_trip(prior):
    assert sf.registry.build("prior", prior.specification()) == prior
    assert eval(repr(prior)) == prior  # noqa: S307 - our own repr


def test_sums_of_sums_are_flat():
    assert len((SMOOTH + DAILY + ROUGH).parts) == 3
    assert len((SMOOTH + (DAILY + ROUGH)).parts) == 3
    assert len((SMOOTH + DAILY * ROUGH).parts) == 2


def test_a_class_of_sums_holds_every_combination():
    lengths = sf.priors.rbf(length_scale=sf.AnyOf(1.0, 2.0, 4.0), times=6)
    either = sf.AnyOf(DAILY, ROUGH)
    combined = lengths + either
    expected = {a + b for a in lengths.members() for b in either.members()}
    assert set(combined.members()) == expected
    secret = sf.secrets.basic(2)
    release = sf.mechanisms.gaussian_uniform(mse=0.1).protect(combined, secret)
    measure = sf.measures.renyi()
    found = measure.loss(combined, secret, release)
    each = {member: measure.loss(member, secret, release).value for member in expected}
    assert found.value == max(each.values())
    assert each[found.worst] == found.value
    assert found.bound == "exact"
    narrow = sf.measures.posterior_interval()
    assert narrow.loss(combined, secret, release).value == min(
        narrow.loss(member, secret, release).value for member in expected
    )


def test_an_interval_inside_a_sum_is_proved():
    combined = sf.priors.rbf(length_scale=sf.Interval(1, 4), times=6) + DAILY
    secret = sf.secrets.basic(2)
    release = sf.mechanisms.gaussian_uniform(mse=0.1).protect(combined, secret)
    found = sf.measures.renyi().loss(combined, secret, release)
    grid = [
        sf.measures.renyi()
        .loss(sf.priors.rbf(length_scale=l, times=6) + DAILY, secret, release)
        .value
        for l in np.linspace(1, 4, 31)
    ]
    assert max(grid) <= found.value <= max(grid) * 1.002
    assert found.bound == "upper"


def test_what_does_not_fit_is_refused():
    with pytest.raises(sf.ParameterError, match="one trace length"):
        SMOOTH + sf.priors.rbf(length_scale=1.0, times=7)
    with pytest.raises(TypeError, match="unsupported operand"):
        SMOOTH + 1.0
    chain = sf.priors.markov_chain(initial=[0.5, 0.5], transitions=np.full((2, 2), 0.5), steps=6)
    with pytest.raises(sf.Incompatible, match="'markov_chain' yields Markov"):
        SMOOTH + chain
    with pytest.raises(sf.ParameterError, match="two or more priors"):
        sf.registry.build("prior", {"sum": [SMOOTH.specification()]})


def test_a_belief_without_an_exact_form_leaves_none():
    from sfumato.beliefs.gaussian import gaussian_product, gaussian_sum

    known, blurred = Gaussian(Dense(np.eye(2)), rounding=0.0), Gaussian(Dense(np.eye(2)))
    assert gaussian_sum([known, blurred]).exact is None
    assert float(in_balls(gaussian_sum([known, known]), 64)[0, 0]) == 2.0
    assert in_balls(gaussian_product([known, known]), 64)[0, 1] == 0
    moved = Gaussian(Dense(np.eye(2)), mean=[1.0, 2.0])
    assert gaussian_sum([moved, moved]).mean.tolist() == [2.0, 4.0]
    with pytest.raises(sf.ParameterError, match="zero means"):
        gaussian_product([moved, known])


def test_priors_on_other_stamps_are_not_combined():
    far = sf.priors.rbf(length_scale=1.0, times=[0.0, 1.0, 5.0])
    near = sf.priors.rbf(length_scale=1.0, times=3)
    same = sf.priors.matern(length_scale=1.0, times=[0.0, 1.0, 2.0])
    for combine in (lambda: far + near, lambda: far * near, lambda: sf.AnyOf(far, near)):
        with pytest.raises(sf.ParameterError, match=r"one trace length.*\(0\.0, 1\.0, 5\.0\)"):
            combine()
    total = (near + same).belief().covariance.dense()
    parts = near.belief().covariance.dense() + same.belief().covariance.dense()
    assert total == pytest.approx(parts, rel=1e-15)
