"""Every structure says what the plain array says."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import sfumato as sf
from sfumato.errors import OutsideHypotheses, ParameterError
from sfumato.inference.exact import Balls, Rationals, in_fractions
from sfumato.matrices import (
    BlockDiagonal,
    Dense,
    Diagonal,
    Kronecker,
    LowRank,
    Scaled,
    Sum,
    Toeplitz,
)

ONE = np.array([[2.0, 1.0, 0.5], [1.0, 2.0, -0.25], [0.5, -0.25, 1.0]])
FACTOR = np.array([[1.0, 0.5], [2.0, -1.0], [0.25, 3.0]])
COLUMN = np.exp(-0.5 * (np.arange(3) / 2.0) ** 2)
TOEPLITZ = np.array([[COLUMN[abs(i - j)] for j in range(3)] for i in range(3)])
ACROSS = np.array([[1.0, 0.3], [0.3, 2.0]])


def _cases():
    zeros = np.zeros((3, 3))
    return {
        "dense": (Dense(ONE), ONE),
        "singular": (Dense(np.ones((3, 3))), np.ones((3, 3))),
        "diagonal": (Diagonal([1.0, 0.0, 3.0]), np.diag([1.0, 0.0, 3.0])),
        "constant": (Diagonal.constant(0.5, 3), 0.5 * np.eye(3)),
        "low_rank": (LowRank(FACTOR), FACTOR @ FACTOR.T),
        "vector": (LowRank([1.0, 2.0, 3.0]), np.outer([1, 2, 3], [1, 2, 3])),
        "toeplitz": (Toeplitz(COLUMN), TOEPLITZ),
        "scaled": (Scaled(LowRank(FACTOR), 0.3), 0.3 * FACTOR @ FACTOR.T),
        "sum": (
            Sum((LowRank(FACTOR), Diagonal([1.0, 2.0, 3.0]))),
            FACTOR @ FACTOR.T + np.diag([1, 2, 3]),
        ),
        "blocks": (
            BlockDiagonal((Dense(ONE), Diagonal([1.0, 4.0, 9.0]))),
            np.block([[ONE, zeros], [zeros, np.diag([1.0, 4.0, 9.0])]]),
        ),
        "kronecker": (Kronecker(Toeplitz(COLUMN), Dense(ACROSS)), np.kron(TOEPLITZ, ACROSS)),
        "zero": (Diagonal([0.0, 0.0]), np.zeros((2, 2))),
    }


CASES = _cases()
every_case = pytest.mark.parametrize(("matrix", "plain"), CASES.values(), ids=CASES)


@every_case
def test_products_and_entries_agree_with_the_plain_array(matrix, plain):
    n = plain.shape[0]
    rng = np.random.default_rng(1)
    x, many = rng.standard_normal(n), rng.standard_normal((n, 4))
    rows, columns = [n - 1, 0, 0], [1, n - 1]
    assert matrix.size == n
    np.testing.assert_allclose(matrix.dense(), plain, rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(matrix.apply(x), plain @ x, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(matrix.apply(many), plain @ many, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(matrix.columns(columns), plain[:, columns], rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(
        matrix.block(rows, columns), plain[np.ix_(rows, columns)], rtol=1e-14, atol=1e-15
    )
    np.testing.assert_allclose(matrix.diagonal(), np.diag(plain), rtol=1e-14)
    assert matrix.trace() == pytest.approx(np.trace(plain), rel=1e-14)


@every_case
def test_permuted_and_scaled(matrix, plain):
    order = np.random.default_rng(2).permutation(plain.shape[0])
    np.testing.assert_allclose(
        matrix.permuted(order).dense(), plain[np.ix_(order, order)], rtol=1e-14, atol=1e-15
    )
    np.testing.assert_allclose(matrix.scaled(2.5).dense(), 2.5 * plain, rtol=1e-14, atol=1e-15)
    assert not np.any(matrix.scaled(0.0).dense())
    assert matrix.scaled(0.0).rank_bound() == 0


@every_case
def test_bounds_lie_on_their_side(matrix, plain):
    values = np.linalg.eigvalsh(plain)
    tiny = 1e-14 * max(values[-1], 1)
    assert 0.0 <= matrix.smallest_eigenvalue() <= max(values[0], 0.0) + tiny
    assert matrix.norm_bound() >= values[-1] - tiny
    assert matrix.rank_bound() >= np.linalg.matrix_rank(plain)
    for entries in ([0], [0, 1], list(range(plain.shape[0]))):
        rank = np.linalg.matrix_rank(plain[np.ix_(entries, entries)])
        assert rank <= matrix.rank_bound(entries) <= len(entries)


def test_structure_that_is_known_is_used():
    assert Diagonal([3.0, 0.5]).smallest_eigenvalue() == 0.5
    assert Sum((LowRank([1.0, 1.0]), Diagonal([0.5, 0.5]))).smallest_eigenvalue() == pytest.approx(
        0.5
    )
    assert Dense(ONE).smallest_eigenvalue() == pytest.approx(np.linalg.eigvalsh(ONE)[0], rel=1e-12)
    assert LowRank(FACTOR).rank_bound() == 2
    assert LowRank([[1.0], [0.0], [0.0]]).rank_bound([1, 2]) == 0
    assert Sum((LowRank([1.0, 1.0, 1.0]), Diagonal([0.0, 0.0, 1.0]))).rank_bound([0, 1]) == 1
    assert BlockDiagonal((LowRank([1.0, 1.0]), LowRank([1.0, 1.0]))).rank_bound() == 2


@every_case
def test_rational_form_is_exact_and_balls_contain_it(matrix, plain):
    for sampled in (False, True):
        exact = in_fractions(matrix, sampled=sampled)
        balls = matrix.formula(Balls(), sampled=sampled)
        assert balls.contains(matrix.formula(Rationals(), sampled=sampled))
        difference = np.array(
            [
                [float(x - Fraction(y)) for x, y in zip(a, b, strict=True)]
                for a, b in zip(exact, matrix.dense().tolist(), strict=True)
            ]
        )
        allowed = matrix.error_bound()
        assert np.linalg.norm(difference, 2) <= allowed
        assert allowed <= 1e-13 * max(np.trace(plain), 1e-300)


def test_rational_blocks_follow_the_order_of_the_entries():
    matrix = BlockDiagonal((LowRank([1.0, 2.0]), Diagonal([5.0])))
    assert matrix.formula(Rationals(), [2, 1]).tolist() == [[5, 0], [0, 4]]
    product = Kronecker(Diagonal([1.0, 2.0]), Dense(np.eye(2)))
    assert product.formula(Rationals(), [3, 0]).tolist() == [[2, 0], [0, 1]]


def test_an_integer_factor_is_sampled_exactly():
    sampled = Dense(np.ones((4, 4))).formula(Rationals(), [0, 3], sampled=True)
    assert sampled.tolist() == [[1, 1], [1, 1]]


def _scale_of(draws, plain, direction):
    """Observed over claimed variance along a direction, with its extreme quantiles."""
    claimed = direction @ plain @ direction
    observed = np.mean((draws @ direction) ** 2)
    low, high = stats.chi2.ppf([5e-11, 1 - 5e-11], len(draws)) / len(draws)
    return observed / claimed, low, high


@every_case
def test_samples_have_the_claimed_covariance(matrix, plain):
    rng = np.random.default_rng(3)
    draws = matrix.sample(rng, 100_000)
    assert draws.shape == (100_000, plain.shape[0])
    assert matrix.sample(rng).shape == (plain.shape[0],)
    assert np.all(draws[:, np.diag(plain) == 0] == 0)
    for direction in np.vstack([np.eye(plain.shape[0]), rng.standard_normal((3, plain.shape[0]))]):
        if direction @ plain @ direction < 1e-12:
            continue
        ratio, low, high = _scale_of(draws, plain, direction)
        assert low < ratio < high
        assert not low < 1.3 * ratio < high


def test_no_generator_means_the_secure_source():
    first, second = Diagonal([1.0]).sample(), Diagonal([1.0]).sample()
    assert first != second


@every_case
def test_equal_by_content(matrix, plain):
    again = pickle.loads(pickle.dumps(matrix))  # noqa: S301  # our own bytes
    assert again == matrix
    assert hash(again) == hash(matrix)
    assert matrix != matrix.scaled(2.0)
    assert str(plain.shape[0]) in repr(matrix)


BAD_ENTRIES = [
    np.nan * np.eye(2),
    np.inf * np.ones((2, 2)),
    np.zeros((0, 0)),
    np.ones((2, 3)),
    [[1.0, 0.5], [0.4, 1.0]],
    [[-1.0, 0.0], [0.0, 1.0]],
    [[1.0, 2.0], [2.0, 1.0]],
    [[0.0, 1e-200], [1e-200, 1.0]],
    [[1.0 + 0j]],
    [["1"]],
    [[True]],
    None,
    1.0,
    np.diag([1.7e308, 1.7e308]),
]


@pytest.mark.parametrize("bad", BAD_ENTRIES, ids=range(len(BAD_ENTRIES)))
def test_dense_refuses(bad):
    with pytest.raises(ParameterError, match=r"^dense\.entries must"):
        Dense(bad)


@pytest.mark.parametrize(
    "bad", [[np.nan], [-1.0], [], [[1.0]], ["a"], None, [math.inf], [1.7e308] * 2]
)
def test_diagonal_refuses(bad):
    with pytest.raises(ParameterError, match=r"^diagonal\.variances must"):
        Diagonal(bad)


@pytest.mark.parametrize("bad", [[np.nan], [], [[[1.0]]], [1e200], [1j]])
def test_low_rank_refuses(bad):
    with pytest.raises(ParameterError, match=r"^low_rank\.factor must"):
        LowRank(bad)


@pytest.mark.parametrize(
    "bad",
    [[np.nan], [], [-1.0], [1.0, 2.0], [1.0, 0.9, 0.0], [1.0, 0.9] + [0.0] * 2_000, [0.0, 1.0]],
)
def test_toeplitz_refuses(bad):
    with pytest.raises(ParameterError, match=r"^toeplitz\.first_column must"):
        Toeplitz(bad)


@pytest.mark.parametrize("bad", [-1.0, np.nan, math.inf, "2", True, 1e308])
def test_scaled_refuses(bad):
    with pytest.raises(ParameterError, match=r"^scaled\.factor must"):
        Scaled(Diagonal([10.0]), bad)


def test_combinations_refuse():
    with pytest.raises(ParameterError, match="equal sizes"):
        Sum((Diagonal([1.0]), Diagonal([1.0, 1.0])))
    with pytest.raises(ParameterError, match="one or more"):
        Sum(())
    with pytest.raises(ParameterError, match="one or more"):
        BlockDiagonal((1.0,))
    with pytest.raises(ParameterError, match="must be a Matrix"):
        Scaled(np.eye(2), 1.0)
    with pytest.raises(ParameterError, match="must be a Matrix"):
        Kronecker(np.eye(2), Dense(np.eye(2)))


@every_case
def test_bad_indices_are_refused(matrix, plain):
    n = plain.shape[0]
    for bad in ([n], [-1], [0.5], [[0]]):
        with pytest.raises(ParameterError, match="indices must"):
            matrix.block(bad, [0])
    with pytest.raises(ParameterError, match="order must"):
        matrix.permuted([0] * n)
    with pytest.raises(ParameterError, match=r"apply\(\) must"):
        matrix.apply(np.zeros(n + 1))


def test_rounding_is_not_called_indefinite():
    times = np.arange(50)
    for length in (3, 6, 10, 30):
        entries = np.exp(-0.5 * (np.subtract.outer(times, times) / length) ** 2)
        assert np.linalg.eigvalsh(entries)[0] < 1e-14
        assert Dense(entries).smallest_eigenvalue() == 0.0


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_extreme_units(scale):
    matrix = Dense(scale * ONE)
    assert matrix.smallest_eigenvalue() == pytest.approx(
        scale * np.linalg.eigvalsh(ONE)[0], rel=1e-10
    )
    assert np.all(np.isfinite(matrix.sample(np.random.default_rng(0), 10)))


def test_entries_of_very_different_size_all_get_noise():
    matrix = Dense([[1.0, 0.0], [0.0, 1e-40]])
    draws = matrix.sample(np.random.default_rng(0), 1000)
    assert np.std(draws[:, 1]) == pytest.approx(1e-20, rel=0.2)


def test_a_large_dense_matrix_is_refused():
    with pytest.raises(OutsideHypotheses, match="at most 4000 entries"):
        Diagonal.constant(1.0, 4_001).dense()


def test_a_permuted_dense_matrix_samples_the_permuted_law():
    """Rounding included: a nearly singular matrix does not forgive another factorisation."""
    root = np.random.default_rng(0).normal(size=(4, 2))
    matrix = Dense(root @ root.T + 1e-15 * np.eye(4))
    order = [2, 0, 3, 1]
    expected = matrix.sampling_factor[order]
    np.testing.assert_array_equal(matrix.permuted(order).sampling_factor, expected)


def test_a_dense_matrix_knows_the_rank_of_what_it_samples():
    """Also where it is too large for rational numbers."""
    shape = np.arange(1.0, 41.0)
    assert Dense(np.outer(shape, shape)).rank_bound() == 1
    prior = sf.priors.rbf(length_scale=2.0, times=40)
    noise = sf.mechanisms.gaussian_given(covariance=np.outer(shape, shape).tolist())
    secret = sf.secrets.basic(2)
    found = sf.measures.mutual_information().loss(prior, secret, noise.protect(prior, secret))
    assert found.value == np.inf
    assert found.bound == "exact"
