from __future__ import annotations

import math

import numpy as np
import pytest

from sfumato.beliefs import Gaussian
from sfumato.errors import ParameterError
from sfumato.inference.exact import in_balls
from sfumato.matrices import Dense, Diagonal, Kronecker, Toeplitz

TIME = Toeplitz([1.0, 0.5, 0.25])
PLANE = Kronecker(TIME, Dense([[1.0, 0.0], [0.0, 4.0]]))


def test_shapes_and_entries():
    line, plane = Gaussian(TIME), Gaussian(PLANE, dimensions=2)
    assert (line.entries, line.times, line.shape) == (3, 3, (3,))
    assert (plane.entries, plane.times, plane.shape) == (6, 3, (3, 2))
    assert line.entries_at(2) == (2,)
    assert plane.entries_at(1) == (2, 3)


@pytest.mark.parametrize("time", [-1, 3, 0.5, None, np.nan])
def test_times_out_of_range(time):
    with pytest.raises(ParameterError, match=r"time must lie in 0\.\.2"):
        Gaussian(TIME).entries_at(time)


@pytest.mark.parametrize(
    "arguments",
    [
        {"dimensions": 2},
        {"dimensions": 0},
        {"dimensions": 1.0},
        {"dimensions": True},
        {"mean": [0.0]},
        {"mean": [0.0, np.nan, 0.0]},
        {"rounding": np.nan},
        {"rounding": -1.0},
        {"rounding": 1.0},
    ],
)
def test_bad_arguments(arguments):
    with pytest.raises(ParameterError, match=r"^gaussian\.\w+ must"):
        Gaussian(TIME, **arguments)


def test_a_plain_array_is_refused():
    with pytest.raises(ParameterError, match="must be a Matrix"):
        Gaussian(np.eye(2))


def test_sampling_uses_mean_and_shape():
    mean = np.arange(6.0).reshape(3, 2)
    belief = Gaussian(PLANE, dimensions=2, mean=mean)
    rng = np.random.default_rng(0)
    assert belief.sample(rng).shape == (3, 2)
    draws = belief.sample(rng, 40_000)
    assert draws.shape == (40_000, 3, 2)
    np.testing.assert_allclose(draws.mean(axis=0), mean, atol=0.07)
    assert np.cov(draws[:, 0, 1], draws[:, 1, 1])[0, 1] == pytest.approx(2.0, rel=0.1)
    assert np.cov(draws[:, 0, 0], draws[:, 0, 1])[0, 1] == pytest.approx(0.0, abs=0.1)


def test_permuted_moves_whole_times():
    belief = Gaussian(PLANE, dimensions=2, mean=np.arange(6.0))
    moved = belief.permuted([2, 0, 1])
    np.testing.assert_array_equal(moved.mean, [4, 5, 0, 1, 2, 3])
    entries = [4, 5, 0, 1, 2, 3]
    np.testing.assert_array_equal(
        moved.covariance.dense(), belief.covariance.dense()[np.ix_(entries, entries)]
    )


def test_the_exact_form_follows():
    belief = Gaussian(
        Dense([[1.0, 0.5], [0.5, 2.0]]),
        mean=[1.0, 3.0],
        exact=lambda numbers: numbers.matrix([[1, 0.5], [0.5, 2]]),
    )
    moved, larger = belief.permuted([1, 0]), belief.scaled(4.0)
    assert in_balls(moved, 64)[0, 0] == 2
    assert in_balls(larger, 64)[1, 1] == 8
    np.testing.assert_array_equal(larger.mean, [2.0, 6.0])
    np.testing.assert_array_equal(larger.covariance.dense(), [[4.0, 2.0], [2.0, 8.0]])


@pytest.mark.parametrize("factor", [0.0, -1.0, math.nan, math.inf])
def test_bad_factors(factor):
    with pytest.raises(ParameterError, match="factor must be finite and positive"):
        Gaussian(TIME).scaled(factor)


def test_equal_by_content_whatever_the_exact_form():
    assert Gaussian(TIME, exact=lambda _: None) == Gaussian(Toeplitz([1.0, 0.5, 0.25]))
    assert Gaussian(TIME) != Gaussian(TIME, definite=True)
    assert hash(Gaussian(Diagonal([1.0]))) == hash(Gaussian(Diagonal([1.0])))
