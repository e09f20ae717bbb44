"""Secret entries that others determine: only reachable differences count."""

from __future__ import annotations

import itertools

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.gaussian_process import kernels

import sfumato as sf
from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.inference.exact import precision
from sfumato.inference.gaussian.fisher_information import fisher_information
from sfumato.inference.gaussian.secret_entries import linear_dependence, secret_entries
from sfumato.inference.gaussian.worst_pair import worst_pair
from sfumato.matrices import Dense

RENYI = sf.measures.renyi(order=2.0)


def rbf(across, times=4):
    return sf.priors.rbf(length_scale=2.0, times=times, across=across)


def information_of_the_driver(times, loading, noise, secret):
    """Return M about U at the secret times, for X = U ⊗ loading and U a unit RBF of length 2.

    V = (Σ_U⁻¹ + HᵀΓ⁻¹H)⁻¹ with H = I ⊗ loading, M = V_SS⁻¹ − Σ_SS⁻¹, in 60 digits.
    """
    with mpmath.workdps(60):
        driver = mpmath.matrix(times, times)
        for i, j in itertools.product(range(times), repeat=2):
            driver[i, j] = mpmath.exp(-mpmath.mpf((i - j) ** 2) / 8)
        shown = mpmath.matrix(np.kron(np.eye(times), np.reshape(loading, (-1, 1))).tolist())
        gained = shown.T * mpmath.inverse(mpmath.matrix(noise.tolist())) * shown
        left = mpmath.inverse(mpmath.inverse(driver) + gained)
        block, before = mpmath.matrix(len(secret)), mpmath.matrix(len(secret))
        for (i, a), (j, b) in itertools.product(enumerate(secret), repeat=2):
            block[i, j], before[i, j] = left[a, b], driver[a, b]
        found = mpmath.inverse(block) - mpmath.inverse(before)
        return np.array(found.tolist(), dtype=np.float64)


def random_noise(seed, size):
    factor = np.random.default_rng(seed).standard_normal((size, size))
    return factor @ factor.T / size + 0.1 * np.eye(size)


LOADINGS = [[1.0, 2.0], [1.0, 1.0], [1.0, -1.0], [5.0, 3.0], [0.5, -3.0], [1.0, 2.0, -2.0]]


@pytest.mark.parametrize("loading", LOADINGS, ids=str)
@pytest.mark.parametrize("secret", [[1], [0, 1], [0, 2, 3]], ids=str)
def test_coordinates_driven_by_one_process(loading, secret):
    """Δ = loading · δ at every time, so |δ| ≤ r / |loading|, and signs are the extreme points."""
    size = len(loading)
    prior, noise = rbf(np.outer(loading, loading)), random_noise(3, 4 * size)
    release = sf.mechanisms.gaussian_given(noise).protect(prior, sf.secrets.compound(secret))
    found = RENYI.loss(prior, sf.secrets.compound(secret, radius=3.0), release)
    driver = information_of_the_driver(4, loading, noise, secret)
    square = max(
        np.array(signs) @ driver @ np.array(signs)
        for signs in itertools.product((1.0, -1.0), repeat=len(secret))
    )
    assert found.bound == "exact"
    assert found.value == pytest.approx(9.0 * square / np.dot(loading, loading), rel=1e-9)
    moved = np.reshape(found.witness["displacement"], (len(secret), size))
    np.testing.assert_allclose(np.linalg.norm(moved, axis=1), 3.0)
    for each in moved:
        assert abs(each @ loading) == pytest.approx(3.0 * np.linalg.norm(loading))


def test_a_reference_value():
    prior, secret = rbf([[1.0, 2.0], [2.0, 4.0]]), sf.secrets.basic(1)
    release = sf.mechanisms.gaussian_uniform(mse=0.5).protect(prior, secret)
    assert RENYI.loss(prior, secret, release).value == pytest.approx(4.11502, rel=1e-6)


def test_the_loss_is_the_limit_of_reachable_pairs():
    """Of Σ + t 1, t → 0, the same displacement tells the same; an unreachable one tells more."""
    across, noise = np.array([[1.0, 2.0], [2.0, 4.0]]), random_noise(5, 8)
    prior, secret = rbf(across), sf.secrets.basic(1)
    release = sf.mechanisms.gaussian_given(noise).protect(prior, secret)
    found = RENYI.loss(prior, secret, release)
    moved = np.array(found.witness["displacement"])
    with mpmath.workdps(80):
        squares = []
        for tiny in ("1e-20", "1e-25"):
            believed = mpmath.matrix(8)
            for i, j in itertools.product(range(8), repeat=2):
                lag = mpmath.mpf((i // 2 - j // 2) ** 2)
                believed[i, j] = mpmath.exp(-lag / 8) * across[i % 2, j % 2]
                believed[i, j] += mpmath.mpf(tiny) * (i == j)
            left = (
                believed
                - believed * mpmath.inverse(believed + mpmath.matrix(noise.tolist())) * believed
            )
            block = mpmath.inverse(left[2:4, 2:4]) - mpmath.inverse(believed[2:4, 2:4])
            vector = mpmath.matrix(moved.tolist())
            squares.append(float((vector.T * block * vector)[0]))
            assert float(mpmath.eigsy(block)[0][1]) > found.value * 1.01
    assert squares[1] == pytest.approx(found.value, rel=1e-9)
    assert abs(squares[1] - found.value) <= abs(squares[0] - found.value) + 1e-12


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 3), st.integers(1, 3))
def test_exact_whole_numbers_against_a_reduced_model(seed, rank, extra):
    """X = L Y with whole L: the information about Y, and Δ = L_S δ, by the textbook."""
    rng = np.random.default_rng(seed)
    size = rank + extra + 1
    loading = rng.integers(-2, 3, (size, rank))
    loading[:rank] = np.eye(rank)
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


def test_what_hangs_together_across_balls_is_measured_at_the_corners():
    """A line through three times: X_0 = 2 X_1 − X_2, so a box cut by a plane."""
    prior = sf.priors.kernel(kernels.DotProduct(1.0), times=4)
    secret, noise = sf.secrets.compound([0, 1, 2]), np.diag([0.5, 0.5, 0.5, 0.5])
    release = sf.mechanisms.gaussian_given(noise).protect(prior, secret)
    found = RENYI.loss(prior, secret, release)
    line = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0], [1.0, 3.0]])
    gained = line.T @ np.linalg.solve(noise, line)
    corners = [
        np.linalg.solve(line[list(pair)], signs)
        for pair in itertools.combinations(range(3), 2)
        for signs in itertools.product((1.0, -1.0), repeat=2)
    ]
    inside = [each for each in corners if np.all(np.abs(line[:3] @ each) <= 1 + 1e-12)]
    true = max(each @ gained @ each for each in inside)
    assert found.bound == "exact"
    assert found.value == pytest.approx(true, rel=1e-9)


@pytest.mark.parametrize("times", [[0, 1, 2], [1, 2, 3], [1, 4]])
def test_the_best_noise_for_a_line_through_the_origin(times):
    """X_t = t U: the shift is t δ, |δ| ≤ 1/max(times), and noise along t hides it best.

    The loss is then δ² |t|² / B; the program must come as close as it certifies.
    """
    prior, secret = sf.priors.kernel(kernels.DotProduct(0.0), times=5), sf.secrets.compound(times)
    release = sf.mechanisms.gaussian_optimal(mse=0.5).protect(prior, secret)
    best = 30 / max(times) ** 2 / (5 * 0.5)
    assert release.claims["relative_gap"] <= 1e-4
    assert RENYI.loss(prior, secret, release).value == pytest.approx(best, rel=1e-5)


def test_a_line_is_hidden_better_than_by_even_noise_and_certified():
    prior, secret = (
        sf.priors.kernel(kernels.DotProduct(1.0), times=5),
        sf.secrets.compound([0, 1, 2]),
    )
    even = sf.mechanisms.gaussian_uniform(mse=0.5).protect(prior, secret)
    release = sf.mechanisms.gaussian_optimal(mse=0.5).protect(prior, secret)
    loss = RENYI.loss(prior, secret, release)
    assert loss.bound == "exact"
    assert loss.value < RENYI.loss(prior, secret, even).value / 3
    assert release.claims["relative_gap"] <= 1e-4
    wide = sf.priors.kernel(kernels.DotProduct(1.0), times=5, dimensions=2)
    with pytest.raises(sf.OutsideHypotheses, match="few times of one coordinate"):
        sf.mechanisms.gaussian_optimal(mse=0.5).protect(wide, secret)


def test_nearly_determined_entries_are_not_taken_for_determined():
    true = np.array([[1.0, 2.0], [2.0, 4.0]])

    def balls(bits):
        from flint import arb, arb_mat

        with precision(bits):
            return arb_mat([[arb(1), arb(2)], [arb(2), arb(4) + arb(10) ** -40]])

    near = Gaussian(Dense(true), exact=balls)
    assert linear_dependence(near, [0, 1], lambda: balls(256)) is None
    assert secret_entries(near, [0, 1]).representatives.tolist() == [0, 1]
    # Of numbers that are only known to be rounded nothing is concluded.
    assert secret_entries(Gaussian(Dense(true)), [0, 1]).representatives.tolist() == [0, 1]
    longer = np.outer([1.0, 2.0, 1.0], [1.0, 2.0, 1.0]) + np.diag([0.0, 0.0, 1.0])
    with pytest.raises(sf.Undecidable, match=r"from a singular one.*leave out secret entries"):
        fisher_information(Gaussian(Dense(longer)), AdditiveGaussian(Dense(np.eye(3))), [0, 1])
    assert secret_entries(Gaussian(Dense(true), rounding=0.0), [0, 1]).representatives.tolist() == [
        1
    ]


def test_a_silent_multiple_of_the_secret_tells_it():
    prior = rbf([[1.0, 2.0], [2.0, 4.0]], times=2)
    noise = np.diag([1.0, 1.0, 0.0, 1.0])  # of X_10 = X_11 / 2 there is none
    secret = sf.secrets.basic(1)
    release = sf.mechanisms.gaussian_given(noise).protect(prior, secret)
    assert RENYI.loss(prior, secret, release).value == np.inf


def test_smaller_balls_within_a_support():
    """Two discs of which only a diameter can move are two intervals."""
    support = np.zeros((4, 2))
    support[:2, 0], support[2:, 1] = [0.6, 0.8], [1.0, 0.0]
    inner = np.array([[2.0, -1.0], [-1.0, 3.0]])
    worst = worst_pair(support @ inner @ support.T, [(0, 1), (2, 3)], 2.0, support=support)
    assert (worst.value, worst.bound) == (pytest.approx(4 * 7.0), "exact")
    np.testing.assert_allclose(np.abs(worst.witness), [1.2, 1.6, 2.0, 0.0])


@pytest.mark.parametrize("loading", [[1.0, 2.0], [1.0, 1.0], [1.0, -1.0], [5.0, 3.0]], ids=str)
def test_the_best_noise_for_one_driver(loading):
    """All budget goes along the loading: that of U alone, with |loading|² as much to spend."""
    prior, secret = rbf(np.outer(loading, loading), times=5), sf.secrets.basic(2)
    claims = sf.mechanisms.gaussian_optimal(mse=0.1).protect(prior, secret).claims
    square = np.dot(loading, loading)
    single = sf.priors.rbf(length_scale=2.0, times=5).belief().covariance.dense()
    budget = 1.0 / square  # of U, in the units of U
    left = budget * np.linalg.solve(single + budget * np.eye(5), single)[2, 2]
    assert claims["worst_loss"] == pytest.approx((1 / left - 1) / square, rel=1e-5)
    assert claims["relative_gap"] < 1e-4
    for wider in (sf.secrets.compound([1, 2]), sf.secrets.every_point()):
        claims = sf.mechanisms.gaussian_optimal(mse=0.1).protect(prior, wider).claims
        assert claims["relative_gap"] < 1e-4
    with pytest.raises(sf.OutsideHypotheses, match="determined by the others"):
        sf.mechanisms.gaussian_sdp_a(mse=0.1).protect(prior, secret)


def test_a_prior_that_the_secret_determines_whole():
    prior = sf.priors.kernel(kernels.DotProduct(1.0), times=4)
    secret = sf.secrets.compound([1, 3])
    claims = sf.mechanisms.gaussian_optimal(mse=0.5).protect(prior, secret).claims
    assert claims["relative_gap"] < 1e-4


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


@pytest.mark.parametrize("length_scale", [1e20, 1e40, 1e150, 1e300])
def test_entries_that_differ_in_the_last_of_many_digits_are_no_copies(length_scale):
    prior = sf.priors.periodic(length_scale=length_scale, period=7.3, times=3)
    secret = sf.secrets.compound([0, 1])
    release = sf.mechanisms.gaussian_uniform(mse=0.02).protect(prior, secret)
    matrix = periodic_information(length_scale, 7.3, 3, 0.02, [0, 1])
    worst = max(np.array([1, sign]) @ matrix @ np.array([1, sign]) for sign in (1, -1))
    assert RENYI.loss(prior, secret, release).value == pytest.approx(worst, rel=1e-5)
