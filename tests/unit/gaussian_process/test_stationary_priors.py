"""Covariances of the priors against high precision, scikit-learn and each other."""

from __future__ import annotations

import math
from functools import partial

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.inference.exact import in_balls
from sfumato.matrices import Kronecker, Toeplitz

FORMULAS = {
    "rbf": lambda x, l: mpmath.exp(-(x**2) / (2 * l**2)),
    "periodic": lambda x, l: mpmath.exp(-2 * (mpmath.sin(mpmath.pi * x / 7) / l) ** 2),
    0.5: lambda x, l: mpmath.exp(-abs(x) / l),
    1.5: lambda x, l: (1 + mpmath.sqrt(3) * abs(x) / l) * mpmath.exp(-mpmath.sqrt(3) * abs(x) / l),
    2.5: lambda x, l: (
        (1 + mpmath.sqrt(5) * abs(x) / l + 5 * x**2 / (3 * l**2))
        * mpmath.exp(-mpmath.sqrt(5) * abs(x) / l)
    ),
}


def prior_of(kind, length, times, **others):
    if kind == "rbf":
        return sf.priors.rbf(length_scale=length, times=times, **others)
    if kind == "periodic":
        return sf.priors.periodic(length_scale=length, period=7.0, times=times, **others)
    return sf.priors.matern(length_scale=length, nu=kind, times=times, **others)


def truth(kind, length, stamps, variance):
    with mpmath.workdps(60):
        formula, t = FORMULAS[kind], [mpmath.mpf(float(stamp)) for stamp in stamps]
        scale, l = mpmath.mpf(variance), mpmath.mpf(length)
        return [[scale * formula(a - b, l) for b in t] for a in t]


@pytest.mark.parametrize("kind", FORMULAS, ids=str)
@settings(max_examples=25)
@given(
    length=st.floats(0.05, 50),
    variance=st.floats(1e-3, 1e3),
    steps=st.lists(st.floats(0.01, 30), min_size=1, max_size=4),
    start=st.floats(-1e3, 1e3),
)
def test_entries_lie_within_the_stated_rounding_and_inside_the_balls(
    kind, length, variance, steps, start
):
    stamps = start + np.concatenate([[0.0], np.cumsum(steps)])
    belief = prior_of(kind, length, stamps, variance=variance).belief()
    expected = truth(kind, length, stamps, variance)
    stored, balls = belief.covariance.dense(), in_balls(belief, 200)
    with mpmath.workdps(60):
        for i in range(len(stamps)):
            for j in range(len(stamps)):
                error = abs(mpmath.mpf(stored[i, j]) - expected[i][j])
                assert error <= belief.rounding * variance
                middle = mpmath.mpf(balls[i, j].mid().str(60, radius=False))
                assert abs(middle - expected[i][j]) <= mpmath.mpf(10) ** -45 * variance


@pytest.mark.parametrize("kind", FORMULAS, ids=str)
def test_a_grid_is_toeplitz_and_equals_its_stamps(kind):
    grid = prior_of(kind, 2.0, 6).belief()
    listed = prior_of(kind, 2.0, np.arange(6.0)).belief()
    assert isinstance(grid.covariance, Toeplitz)
    np.testing.assert_array_equal(grid.covariance.dense(), listed.covariance.dense())
    one, other = in_balls(grid, 128), in_balls(listed, 128)
    assert all(str(one[i, j]) == str(other[i, j]) for i in range(6) for j in range(6))


@pytest.mark.parametrize("kind", FORMULAS, ids=str)
@pytest.mark.parametrize("length", [1e-300, 5e-324, 1e-8, 1e8, 1e11])
def test_extreme_length_scales_give_the_two_limits(kind, length):
    entries = prior_of(kind, length, 4).belief().covariance.dense()
    limit = np.eye(4) if length < 1 else np.ones((4, 4))
    np.testing.assert_allclose(entries, limit, atol=1e-7)


def prior_of_a_sum(length, times):
    smooth, white = (
        {"name": "RBF", "length_scale": length},
        {"name": "WhiteKernel", "noise_level": 1.0},
    )
    return sf.priors.kernel({"name": "Sum", "k1": white, "k2": smooth}, times=times)


@pytest.mark.parametrize("make", [*(partial(prior_of, k) for k in FORMULAS), prior_of_a_sum])
def test_a_trace_that_is_all_but_constant_is_refused_in_one_sentence(make):
    """At 1e12 traces the entries differ by 1e-24: float64 cannot tell, and a loss must not hide."""
    prior = make(1e300, 4)
    with pytest.raises(sf.OutsideHypotheses, match=r"at most 1e\+12 times the trace; got "):
        prior.belief()


@pytest.mark.parametrize("bad", [math.nan, math.inf, 0.0, -1.0, "1", None, True, 1j])
@pytest.mark.parametrize("parameter", ["length_scale", "variance"])
@pytest.mark.parametrize("name", ["rbf", "matern", "periodic"])
def test_bad_numbers_are_refused(name, parameter, bad):
    known = {"length_scale": 1.0, "times": 3}
    if name == "periodic":
        known["period"] = 2.0
    with pytest.raises(sf.ParameterError, match=rf"{name}\.{parameter} must be positive"):
        getattr(sf.priors, name)(**{**known, parameter: bad})


@pytest.mark.parametrize("nu", [0.0, 1.0, 3.5, "0.5", math.nan])
def test_matern_takes_three_smoothnesses(nu):
    with pytest.raises(sf.ParameterError, match=r"matern\.nu must be one of 0\.5, 1\.5, 2\.5"):
        sf.priors.matern(length_scale=1.0, times=3, nu=nu)


def test_far_stamps_of_a_periodic_prior_enlarge_its_rounding():
    near = sf.priors.periodic(length_scale=1.0, period=3.0, times=[0.0, 1.0]).belief()
    far = sf.priors.periodic(length_scale=1.0, period=3.0, times=[0.0, 1e9 + 0.1]).belief()
    assert far.rounding > 1e6 * near.rounding


def test_coordinates_are_independent_unless_said_otherwise():
    alone = sf.priors.rbf(length_scale=2.0, times=3)
    plane = sf.priors.rbf(length_scale=2.0, times=3, dimensions=2).belief()
    assert (plane.shape, plane.definite) == ((3, 2), True)
    assert isinstance(plane.covariance, Kronecker)
    over_time = alone.belief().covariance.dense()
    np.testing.assert_array_equal(plane.covariance.dense(), np.kron(over_time, np.eye(2)))
    balls, expected = in_balls(plane, 128), in_balls(alone.belief(), 128)
    assert str(balls[2, 4]) == str(expected[1, 2])
    assert balls[2, 5] == 0


def test_a_covariance_across_coordinates_sets_their_number():
    across = np.array([[1.0, 0.5], [0.5, 2.0]])
    belief = sf.priors.matern(length_scale=2.0, times=[0.0, 1.5, 2.0], across=across).belief()
    over_time = sf.priors.matern(length_scale=2.0, times=[0.0, 1.5, 2.0]).belief()
    assert belief.dimensions == 2
    expected = np.kron(over_time.covariance.dense(), across)
    np.testing.assert_allclose(belief.covariance.dense(), expected, rtol=1e-15)
    assert float(in_balls(belief, 128)[0, 3]) == pytest.approx(expected[0, 3], rel=1e-15)


@pytest.mark.parametrize(
    "across",
    [np.ones((2, 2)), [[1.0, 2.0], [2.0, 4.0]]],
)
@pytest.mark.parametrize("name", ["rbf", "kernel"])
def test_a_singular_covariance_across_coordinates_is_refused_in_one_sentence(name, across):
    kernel = {"kernel": {"name": "RBF", "length_scale": 2.0}}
    given = kernel if name == "kernel" else {"length_scale": 2.0}
    prior = getattr(sf.priors, name)(**given, times=2, across=across)
    with pytest.raises(sf.OutsideHypotheses, match="across must be positive definite or diagonal"):
        prior.belief()


def test_a_constant_coordinate_is_not_definite_and_tells_nothing():
    prior = sf.priors.rbf(length_scale=2.0, times=2, across=np.diag([1.0, 0.0]))
    assert not prior.belief().definite
    secret, noise = sf.secrets.basic(0), sf.mechanisms.gaussian_uniform(mse=0.5)
    alone = sf.priors.rbf(length_scale=2.0, times=2)
    expected = sf.measures.renyi().loss(alone, secret, noise.protect(alone, secret)).value
    found = sf.measures.renyi().loss(prior, secret, noise.protect(prior, secret))
    assert found.value == pytest.approx(expected, rel=1e-9)


def test_dimensions_and_across_must_agree():
    with pytest.raises(sf.ParameterError, match=r"rbf\.across must be .* shape \(d = 3, d = 3\)"):
        sf.priors.rbf(length_scale=1.0, times=2, dimensions=3, across=np.eye(2))


def test_classes_have_one_number_of_coordinates():
    flat, plane = (sf.priors.rbf(length_scale=1.0, times=3, dimensions=d) for d in (1, 2))
    with pytest.raises(sf.ParameterError, match="one trace length"):
        sf.AnyOf(flat, plane)
    assert len(list(sf.AnyOf(flat, sf.priors.rbf(length_scale=2.0, times=3)).members())) == 2


def test_a_secret_time_has_all_its_coordinates():
    belief = sf.priors.rbf(length_scale=1.0, times=4, dimensions=3).belief()
    assert sf.secrets.basic(2).question(belief).groups == (((6, 7, 8),),)
    assert len(sf.secrets.every_point().question(belief).groups) == 4
    assert sf.secrets.compound([0, 3]).question(belief).groups == (((0, 1, 2), (9, 10, 11)),)
