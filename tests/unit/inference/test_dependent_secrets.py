"""Secret entries that hang together: copies are measured, other dependence is refused."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.gaussian_process import kernels

import sfumato as sf
from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.inference.gaussian.fisher_information import fisher_information, secret_entries
from sfumato.inference.gaussian.worst_pair import worst_pair
from sfumato.matrices import Dense, Diagonal, Kronecker
from sfumato.questions import Displacements

RENYI = sf.measures.renyi(order=2.0)
LINE = sf.priors.kernel(kernels.DotProduct(1.0), times=4)


def random_noise(seed, size):
    factor = np.random.default_rng(seed).standard_normal((size, size))
    return factor @ factor.T / size + 0.1 * np.eye(size)


@pytest.mark.parametrize("loading", [[1.0, 2.0], [1.0, 1.0], [0.5, -3.0], [1.0, 2.0, -2.0]])
def test_coordinates_that_determine_one_another_are_refused(loading):
    prior = sf.priors.rbf(length_scale=2.0, times=4, across=np.outer(loading, loading))
    with pytest.raises(sf.OutsideHypotheses, match="across must be positive definite or diagonal"):
        prior.belief()


def test_a_coordinate_that_is_constant_is_not_secret():
    """Of a flat coordinate nothing can be learnt: the loss is that of the other alone."""
    flat = sf.priors.rbf(length_scale=2.0, times=4, across=[[2.0, 0.0], [0.0, 0.0]])
    alone = sf.priors.rbf(length_scale=2.0, times=4, variance=2.0)
    secret, noise = sf.secrets.compound([1, 2]), random_noise(3, 4)
    both = np.kron(noise, np.diag([1.0, 0.0])) + np.kron(np.eye(4), np.diag([0.0, 1.0]))
    losses = [
        RENYI.loss(prior, secret, sf.mechanisms.gaussian_given(added).protect(prior, secret))
        for prior, added in ((flat, both), (alone, noise))
    ]
    assert losses[0].bound == "exact"
    assert losses[0].value == pytest.approx(losses[1].value, rel=1e-9)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 3), st.integers(1, 3))
def test_stored_whole_numbers_against_a_reduced_model(seed, rank, extra):
    """X = L Y with whole L: the information about Y by the textbook, with copies of Y among X."""
    rng = np.random.default_rng(seed)
    size = rank + extra + 1
    loading = rng.integers(-2, 3, (size, rank))
    loading[:rank] = np.eye(rank)
    loading[rank : rank + extra] = np.eye(rank)[rng.integers(rank, size=extra)]  # copies
    belief = Gaussian(Dense((loading @ loading.T).astype(float)), rounding=0.0)
    noise, secret = random_noise(seed, size), list(range(rank + extra))
    found = fisher_information(belief, AdditiveGaussian(Dense(noise)), secret)
    gained = loading.T @ np.linalg.solve(noise, loading)  # secret entries fix Y: M_Y whole
    chosen = loading[: rank + extra]
    for delta in np.eye(rank):
        moved = chosen @ delta
        assert moved @ found.matrix @ moved == pytest.approx(delta @ gained @ delta, rel=1e-8)
    outside = np.eye(rank + extra) - chosen @ np.linalg.pinv(chosen)
    np.testing.assert_allclose(found.matrix @ outside, 0.0, atol=1e-8 * np.max(found.matrix))
    projector = np.eye(rank + extra) - outside
    np.testing.assert_allclose(found.support @ found.support.T, projector, atol=1e-12)


def test_times_that_determine_one_another_are_refused_and_others_are_not():
    """A line: X_0 = 2 X_1 − X_2, while any two times determine all others but not one another."""
    noise = 0.5 * np.eye(4)
    dependent, free = sf.secrets.compound([0, 1, 2]), sf.secrets.compound([1, 3])
    release = sf.mechanisms.gaussian_given(noise).protect(LINE, free)
    with pytest.raises(sf.Undecidable, match="leave out secret entries that the others determine"):
        RENYI.loss(LINE, dependent, release)
    line = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0], [1.0, 3.0]])
    gained = line.T @ line / 0.5
    corners = [np.linalg.solve(line[[1, 3]], [1.0, sign]) for sign in (1.0, -1.0)]
    found = RENYI.loss(LINE, free, release)
    assert found.bound == "exact"
    assert found.value == pytest.approx(max(each @ gained @ each for each in corners), rel=1e-9)


def test_a_prior_that_the_secret_determines_whole():
    secret = sf.secrets.compound([1, 3])
    claims = sf.mechanisms.gaussian_optimal(mse=0.5).protect(LINE, secret).claims
    assert claims["relative_gap"] < 1e-4


def test_nearly_determined_entries_are_told_from_determined_ones():
    true, channel = np.array([[1.0, 2.0], [2.0, 4.0]]), AdditiveGaussian(Dense(np.eye(2)))

    def exact(numbers):
        tiny = numbers.number(10) ** -40
        return numbers.matrix([[numbers.number(1), 2], [2, tiny + 4]])

    near = Gaussian(Dense(true), exact=exact)
    assert secret_entries(near, [0, 1]).representatives.tolist() == [0, 1]
    for belief in (Gaussian(Dense(true)), Gaussian(Dense(true), rounding=0.0)):
        with pytest.raises(sf.Undecidable, match=r"from a singular one.*leave out secret entries"):
            fisher_information(belief, channel, [0, 1])
    longer = np.outer([1.0, 2.0, 1.0], [1.0, 2.0, 1.0]) + np.diag([0.0, 0.0, 1.0])
    with pytest.raises(sf.Undecidable, match=r"from a singular one.*leave out secret entries"):
        fisher_information(Gaussian(Dense(longer)), AdditiveGaussian(Dense(np.eye(3))), [0, 1])


def test_smaller_balls_within_a_support():
    """Two discs of which only a diameter can move are two intervals."""
    support = np.zeros((4, 2))
    support[:2, 0], support[2:, 1] = [0.6, 0.8], [1.0, 0.0]
    inner = np.array([[2.0, -1.0], [-1.0, 3.0]])
    worst = worst_pair(support @ inner @ support.T, [(0, 1), (2, 3)], 2.0, support=support)
    assert (worst.value, worst.bound) == (pytest.approx(4 * 7.0), "exact")
    np.testing.assert_allclose(np.abs(worst.witness), [1.2, 1.6, 2.0, 0.0])


@pytest.mark.parametrize("seed", range(12))
def test_copies_in_several_balls_against_many_directions(seed):
    """No allowed Δ = T δ exceeds the value; the witness is allowed, and attains an exact one."""
    rng = np.random.default_rng(seed)
    rank, balls = 3, [(0, 1), (2,), (3, 4), (5,)]
    copies = np.eye(rank)[np.concatenate([np.arange(rank), rng.integers(rank, size=3)])]
    copies = copies[rng.permutation(6)]
    inner = rng.standard_normal((rank, rank))
    inverse = copies / copies.sum(axis=0)
    matrix = inverse @ inner @ inner.T @ inverse.T
    support = copies / np.sqrt(copies.sum(axis=0))
    found = worst_pair(matrix, balls, 1.0, support=support)
    moved = rng.standard_normal((20_000, rank)) @ copies.T
    moved /= np.max([np.linalg.norm(moved[:, list(ball)], axis=1) for ball in balls], axis=0)[
        :, None
    ]
    seen = np.einsum("pi,ij,pj->p", moved, matrix, moved).max()
    assert seen <= found.value * (1 + 1e-12)
    assert all(np.linalg.norm(found.witness[list(ball)]) <= 1 + 1e-12 for ball in balls)
    if found.bound == "exact":
        assert seen >= 0.95 * found.value
        assert found.witness @ matrix @ found.witness == pytest.approx(found.value)


def test_copies_within_one_ball():
    """Two copies of one number, each with its own noise, are that number with half the noise.

    The displacement (1, 1)/√2 of the pair has length one and moves the number by 1/√2.
    """
    over_time = sf.priors.rbf(length_scale=2.0, times=2).belief()
    twice = np.repeat(np.arange(2), 2)
    belief = Gaussian(
        Kronecker(over_time.covariance, Dense(np.ones((2, 2)))),
        dimensions=2,
        exact=over_time.exact_block(twice),
    )
    noise, halved = (AdditiveGaussian(Diagonal.constant(0.5, 4), dimensions=2), 0.25)
    found = RENYI.evaluate(belief, Displacements((((0, 1),),), radii=1.0), noise)
    alone = AdditiveGaussian(Diagonal.constant(halved, 2))
    expected = RENYI.evaluate(over_time, Displacements((((0,),),), radii=1.0), alone).value / 2
    assert found.value == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("times", [[0, 2], [0, 1, 2], [0, 1, 2, 3]])
def test_periods_apart_entries_move_together(times):
    """X_2 = X_0 and X_3 = X_1: signs of the two free values are all there is."""
    prior, secret = sf.priors.periodic(1.0, 2.0, times=4), sf.secrets.compound(times)
    noise = random_noise(7, 4)
    release = sf.mechanisms.gaussian_given(noise).protect(prior, secret)
    found = RENYI.loss(prior, secret, release)
    copies = np.kron(np.ones((2, 1)), np.eye(2))
    free = sorted({time % 2 for time in times})
    own = prior.belief().covariance.block([0, 1], [0, 1])
    gained = copies.T @ np.linalg.solve(noise, copies)
    left = np.linalg.inv(np.linalg.inv(own) + gained)[np.ix_(free, free)]
    matrix = np.linalg.inv(left) - np.linalg.inv(own[np.ix_(free, free)])
    signs = itertools.product((1.0, -1.0), repeat=len(free))
    assert found.bound == "exact"
    assert found.value == pytest.approx(
        max(np.array(v) @ matrix @ np.array(v) for v in signs), rel=1e-9
    )


def periodic_information(length_scale, period, times, variance, secret):
    """Return M = V_SS⁻¹ − Σ_SS⁻¹ for the periodic kernel and even noise, in 2,000 digits."""
    with mpmath.workdps(2000):
        scale, turn = mpmath.mpf(length_scale), mpmath.pi / mpmath.mpf(period)
        prior = mpmath.matrix(times, times)
        for i, j in itertools.product(range(times), repeat=2):
            prior[i, j] = mpmath.exp(-2 * (mpmath.sin(turn * abs(i - j)) / scale) ** 2)
        gain = mpmath.inverse(prior + mpmath.mpf(variance) * mpmath.eye(times)) * prior
        left = prior - prior * gain
        block, before = mpmath.matrix(len(secret)), mpmath.matrix(len(secret))
        for (i, a), (j, b) in itertools.product(enumerate(secret), repeat=2):
            block[i, j], before[i, j] = left[a, b], prior[a, b]
        found = mpmath.inverse(block) - mpmath.inverse(before)
        return np.array(found.tolist(), dtype=np.float64)


@pytest.mark.parametrize("length_scale", [1e7, 1e9, 1e11])
def test_entries_that_differ_in_the_last_of_many_digits_are_no_copies(length_scale):
    prior = sf.priors.periodic(length_scale=length_scale, period=7.3, times=3)
    secret = sf.secrets.compound([0, 1])
    release = sf.mechanisms.gaussian_uniform(mse=0.02).protect(prior, secret)
    matrix = periodic_information(length_scale, 7.3, 3, 0.02, [0, 1])
    worst = max(np.array([1, sign]) @ matrix @ np.array([1, sign]) for sign in (1, -1))
    assert RENYI.loss(prior, secret, release).value == pytest.approx(worst, rel=1e-5)


@pytest.mark.parametrize(("times", "index"), [(8, 3), (7, 3), (12, 3)])
def test_entries_released_without_noise_that_are_copies_count_once(times, index):
    """The paper's periodic kernel and its concentrated baseline, in 60 digits."""
    prior, secret = (
        sf.priors.periodic(length_scale=1.0, period=5.0, times=times),
        sf.secrets.basic(index),
    )
    release = sf.mechanisms.gaussian_concentrated(mse=0.1).protect(prior, secret)
    loss = sf.measures.renyi(order=2.0).loss(prior, secret, release)
    if times > index + 5:  # a copy of the secret itself is released as it is
        assert loss.value == math.inf
        return
    with mpmath.workdps(60):
        covariance = mpmath.matrix(5, 5)
        for i, j in itertools.product(range(5), repeat=2):
            covariance[i, j] = mpmath.exp(-2 * mpmath.sin(mpmath.pi * (i - j) / 5) ** 2)
        column, total = covariance[:, index], covariance.copy()
        total[index, index] += times * mpmath.mpf("0.1")
        left = 1 - (column.T * mpmath.lu_solve(total, column))[0]
        assert loss.value == pytest.approx(float(1 / left - 1), rel=1e-9)
    assert loss.bound == "exact"
