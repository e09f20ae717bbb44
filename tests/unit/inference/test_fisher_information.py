"""Losses against high precision, rational numbers, and the values they must take."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.errors import Incompatible, ParameterError, Undecidable
from sfumato.inference import exact as ball_arithmetic
from sfumato.inference.gaussian.fisher_information import fisher_information
from sfumato.inference.gaussian.scalar_informations import scalar_informations
from sfumato.inference.gaussian.worst_pair import worst_pair
from sfumato.matrices import BlockDiagonal, Dense, Diagonal, Kronecker, LowRank, Sum, Toeplitz


def squared_exponential(length, n=50):
    times = np.arange(n)
    entries = np.exp(-0.5 * (np.subtract.outer(times, times) / length) ** 2)
    return Gaussian(Dense(entries), definite=True)


def true_prior(length, n=50):
    lags = [mpmath.exp(-mpmath.mpf(k * k) / (2 * mpmath.mpf(length) ** 2)) for k in range(n)]
    return mpmath.matrix([[lags[abs(i - j)] for j in range(n)] for i in range(n)])


def true_information(prior, noise, entries):
    """V_SS⁻¹ − Σ_SS⁻¹ with V = Σ − Σ K⁻¹ Σ, straight from the definition."""
    total, k = prior + noise, len(entries)
    variance = mpmath.matrix(k, k)
    factor, pivots = mpmath.mp.LU_decomp(total)
    for b, t in enumerate(entries):
        solved = mpmath.mp.U_solve(factor, mpmath.mp.L_solve(factor, prior[:, t], pivots))
        for a, s in enumerate(entries):
            gained = mpmath.fsum(prior[s, i] * solved[i] for i in range(prior.rows))
            variance[a, b] = prior[s, t] - gained
    inner = mpmath.matrix([[prior[s, t] for t in entries] for s in entries])
    difference = variance**-1 - inner**-1
    return np.array([[float(difference[a, b]) for b in range(k)] for a in range(k)])


def relative(information, truth):
    """Error in units of √(M_ii M_jj), as `relative_error` promises to bound it."""
    scale = np.sqrt(np.diag(truth))
    return np.linalg.norm((information.matrix - truth) / scale[:, None] / scale[None, :], 2)


@pytest.fixture(autouse=True)
def _many_digits():
    with mpmath.workdps(120):
        yield


UNIFORM = {1: 53.4375, 3: 137.737, 6: 260.603, 10: 414.656}


@pytest.mark.parametrize(("length", "expected"), UNIFORM.items())
def test_independent_noise_on_fifty_points(length, expected):
    channel = AdditiveGaussian(Diagonal.constant(0.02, 50))
    information = fisher_information(squared_exponential(length), channel, [24])
    assert information.matrix[0, 0] == pytest.approx(expected, rel=2e-6)
    truth = true_information(true_prior(length), mpmath.mpf(0.02) * mpmath.eye(50), [24])
    assert relative(information, truth) <= information.relative_error <= 1e-9
    assert information.bound == "exact"


COMPOUND = {(20, 24, 25, 30): 469.917, (0, 10, 24, 25, 45): 441.827}


@pytest.mark.parametrize(("entries", "expected"), COMPOUND.items())
def test_compound_secrets(entries, expected):
    channel = AdditiveGaussian(Diagonal.constant(0.1, 50))
    information = fisher_information(squared_exponential(3), channel, entries)
    truth = true_information(true_prior(3), mpmath.mpf(0.1) * mpmath.eye(50), entries)
    assert relative(information, truth) <= information.relative_error <= 1e-9
    worst = worst_pair(information.matrix, [(k,) for k in range(len(entries))], 1.0)
    assert worst.value == pytest.approx(expected, rel=2e-6)


def _bump(length, n=50, secret=24):
    prior = true_prior(length, n)
    q = mpmath.lu_solve(prior + mpmath.eye(n), prior[:, secret])
    q = q / mpmath.norm(q)
    return np.array([float(value) for value in q])


def test_the_floor_makes_a_rank_one_design_true():
    kappa, n = 1e-6, 50
    q = math.sqrt(1 - kappa) * _bump(6)
    noise = Sum((LowRank(q), Diagonal.constant(kappa / n, n)))
    information = fisher_information(squared_exponential(6), AdditiveGaussian(noise), [24])
    assert information.matrix[0, 0] == pytest.approx(7.608585, rel=1e-7)
    assert information.how == "float64, error certified"
    column = mpmath.matrix(q.tolist())
    true_noise = column * column.T + mpmath.mpf(kappa / n) * mpmath.eye(n)
    truth = true_information(true_prior(6), true_noise, [24])
    assert relative(information, truth) <= information.relative_error


def test_without_the_floor_float64_refuses():
    channel = AdditiveGaussian(LowRank(_bump(6)))
    with pytest.raises(Undecidable, match="float64 cannot tell"):
        fisher_information(squared_exponential(6), channel, [24])
    with pytest.raises(Undecidable, match="float64 cannot tell"):
        scalar_informations(squared_exponential(6), channel)


def test_between_exact_and_undecidable_lies_an_upper_bound():
    seen, prior = set(), true_prior(1, 8)
    for variance in 10.0 ** np.arange(-15, -5, 0.5):
        channel = AdditiveGaussian(Diagonal.constant(variance, 8))
        try:
            information = fisher_information(squared_exponential(1, 8), channel, [3])
        except Undecidable:
            seen.add("undecidable")
            continue
        truth = true_information(prior, mpmath.mpf(variance) * mpmath.eye(8), [3])
        seen.add(information.bound)
        if information.bound == "upper":
            assert information.matrix[0, 0] >= truth[0, 0]
        assert relative(information, truth) <= information.relative_error
    assert seen == {"exact", "upper", "undecidable"}


@pytest.mark.parametrize("variance", [1e-6, 1e-3, 1.0, 1e8, 1e18])
def test_neither_tiny_nor_huge_noise_cancels(variance):
    belief = squared_exponential(1, n=8)
    information = fisher_information(
        belief, AdditiveGaussian(Diagonal.constant(variance, 8)), [3, 4]
    )
    truth = true_information(true_prior(1, 8), mpmath.mpf(variance) * mpmath.eye(8), [3, 4])
    assert relative(information, truth) <= information.relative_error <= 1e-5
    values, error = scalar_informations(belief, AdditiveGaussian(Diagonal.constant(variance, 8)))
    single = true_information(true_prior(1, 8), mpmath.mpf(variance) * mpmath.eye(8), [3])
    assert abs(values[3] / single[0, 0] - 1) <= error <= 1e-5


@pytest.mark.parametrize("unit", [2.0**-1000, 2.0**-900, 2.0**900, 2.0**1000])
def test_extreme_units(unit):
    belief = Gaussian(Dense(unit * np.array([[1.0, 0.5], [0.5, 1.0]])))
    information = fisher_information(belief, AdditiveGaussian(Diagonal.constant(unit, 2)), [0])
    assert information.matrix[0, 0] * unit == pytest.approx(8 / 7, rel=1e-13)
    values, _ = scalar_informations(belief, AdditiveGaussian(Diagonal.constant(unit, 2)))
    assert values[1] * unit == pytest.approx(8 / 7, rel=1e-13)


@pytest.mark.parametrize("unit", [1e-306, 1e-320])
def test_no_digits_left_is_no_answer(unit):
    belief = Gaussian(Dense(unit * np.array([[1.0, 0.5], [0.5, 1.0]])))
    with pytest.raises(Undecidable):
        fisher_information(belief, AdditiveGaussian(Diagonal.constant(unit, 2)), [0])


def test_a_loss_beyond_float64_is_no_finite_answer():
    belief = Gaussian(Diagonal([1.0, 1.0]))
    with pytest.raises(Undecidable):
        fisher_information(belief, AdditiveGaussian(Diagonal([1e-310, 1.0])), [0])


# --- rational oracle -------------------------------------------------------------------------


def inverse(rows):
    """Gauss-Jordan elimination over the rationals; None if singular."""
    n = len(rows)
    work = [[*row, *(Fraction(int(i == j)) for j in range(n))] for i, row in enumerate(rows)]
    for p in range(n):
        pivot = next((i for i in range(p, n) if work[i][p]), None)
        if pivot is None:
            return None
        work[p], work[pivot] = work[pivot], work[p]
        work[p] = [x / work[p][p] for x in work[p]]
        for i in range(n):
            if i != p:
                work[i] = [x - work[i][p] * y for x, y in zip(work[i], work[p], strict=True)]
    return [row[n:] for row in work]


def product(a, b):
    columns = list(zip(*b, strict=True))
    return [[sum(x * y for x, y in zip(r, c, strict=True)) for c in columns] for r in a]


def rational_truth(prior, noise, entries):
    n = len(prior)
    total = inverse([[prior[i][j] + noise[i][j] for j in range(n)] for i in range(n)])
    gained = product(product(prior, total), prior)
    variance = inverse([[prior[i][j] - gained[i][j] for j in entries] for i in entries])
    inner = inverse([[prior[i][j] for j in entries] for i in entries])
    return np.array(
        [
            [float(x - y) for x, y in zip(a, b, strict=True)]
            for a, b in zip(variance, inner, strict=True)
        ]
    )


small = st.integers(-8, 8).map(float)


@st.composite
def problems(draw):
    n = draw(st.integers(1, 5))
    shape = st.lists(st.lists(small, min_size=n, max_size=n), min_size=n, max_size=n)
    root = np.array(draw(shape)) + 20 * np.eye(n)
    factor = np.array(draw(st.lists(small, min_size=n, max_size=n)))
    floor = draw(st.sampled_from([2.0**-20, 0.25, 1.0, 64.0, 2.0**40]))
    entries = draw(st.sets(st.integers(0, n - 1), min_size=1))
    return root @ root.T, factor, floor, sorted(entries)


@given(problems())
@settings(max_examples=60, deadline=None)
def test_certified_error_holds_against_rational_numbers(problem):
    prior, factor, floor, entries = problem
    n = len(prior)
    channel = AdditiveGaussian(Sum((LowRank(factor), Diagonal.constant(floor, n))))
    belief = Gaussian(Dense(prior), rounding=0.0)
    exact_noise = [
        [
            Fraction(factor[i]) * Fraction(factor[j]) + (Fraction(floor) if i == j else 0)
            for j in range(n)
        ]
        for i in range(n)
    ]
    exact_prior = [[Fraction(x) for x in row] for row in prior.tolist()]
    truth = rational_truth(exact_prior, exact_noise, entries)
    information = fisher_information(belief, channel, entries)
    assert not information.infinite
    assert relative(information, truth) <= max(information.relative_error, 1e-15)
    values, error = scalar_informations(belief, channel)
    for s in range(n):
        single = rational_truth(exact_prior, exact_noise, [s])[0, 0]
        assert abs(values[s] / single - 1) <= max(error, 1e-15)


@given(problems())
@settings(max_examples=30, deadline=None)
def test_laws(problem):
    prior, factor, floor, entries = problem
    n = len(prior)
    belief = Gaussian(Dense(prior))
    channel = AdditiveGaussian(Sum((LowRank(factor), Diagonal.constant(floor, n))))
    before = fisher_information(belief, channel, entries)
    slack = 1e-9 * np.trace(before.matrix)
    # More noise in Loewner order, less information.
    louder = AdditiveGaussian(Sum((channel.noise, LowRank(np.ones(n)))))
    after = fisher_information(belief, louder, entries)
    assert np.linalg.eigvalsh(before.matrix - after.matrix)[0] >= -slack
    # Another order of the times, other units.
    order = np.arange(n)[::-1]
    moved = fisher_information(
        belief.permuted(order), channel.permuted(order), [n - 1 - s for s in entries]
    )
    np.testing.assert_allclose(moved.matrix, before.matrix, rtol=1e-7, atol=slack)
    scaled = fisher_information(belief.scaled(3.0), channel.scaled(3.0), entries)
    np.testing.assert_allclose(3.0 * scaled.matrix, before.matrix, rtol=1e-7, atol=slack)


# --- singular cases --------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("form", [lambda n: LowRank(np.ones(n)), lambda n: Dense(np.ones((n, n)))])
def test_the_same_draw_everywhere_as_prior_and_as_noise(n, form):
    information = fisher_information(Gaussian(form(n)), AdditiveGaussian(form(n)), [0])
    assert information.matrix[0, 0] == pytest.approx(1.0, rel=1e-14)
    assert not information.infinite


def test_a_prior_of_rank_one_and_noise_of_the_same_shape():
    belief = Gaussian(LowRank([1.0, 2.0, 3.0]), rounding=0.0)
    # X = ξ (1, 2, 3), Z = (ξ + 2g) (1, 2, 3): information 1/4 on ξ, so 1/16 on X_1 = 2ξ.
    same = fisher_information(belief, AdditiveGaussian(LowRank([2.0, 4.0, 6.0])), [1])
    assert same.matrix[0, 0] == pytest.approx(1 / 16, rel=1e-13)
    with pytest.raises(Undecidable, match="leave out secret entries that the others determine"):
        fisher_information(belief, AdditiveGaussian(LowRank([2.0, 4.0, 6.0])), [0, 1])
    other = fisher_information(belief, AdditiveGaussian(LowRank([1.0, 2.0, 4.0])), [0])
    assert other.infinite
    assert other.matrix[0, 0] == math.inf


def test_stored_numbers_that_rounding_blurs_are_not_taken_for_the_belief():
    belief = Gaussian(LowRank([1.0, 2.0, 3.0]))
    with pytest.raises(Undecidable, match="no exact form"):
        fisher_information(belief, AdditiveGaussian(LowRank([2.0, 4.0, 6.0])), [0])


def periodic(period, n, **more):
    times = np.arange(n) % period
    gap = np.subtract.outer(times, times)
    entries = np.exp(-2 * np.sin(np.pi * np.abs(gap) / period) ** 2)
    return Gaussian(Dense((entries + entries.T) / 2), **more)


def test_secret_entries_that_may_be_copies_are_not_taken_for_them():
    channel = AdditiveGaussian(Diagonal.constant(0.1, 10))
    with pytest.raises(Undecidable, match="may differ"):
        fisher_information(periodic(5, 10), channel, [2, 7])


def test_copies_restrict_the_differences():
    belief, channel = periodic(5, 10, rounding=0.0), AdditiveGaussian(Diagonal.constant(0.1, 10))
    pair = fisher_information(belief, channel, [2, 7])
    single = fisher_information(belief, channel, [2])
    np.testing.assert_allclose(np.abs(pair.support), np.sqrt([[0.5], [0.5]]))
    both = np.ones(2)
    assert both @ pair.matrix @ both == pytest.approx(single.matrix[0, 0], rel=1e-12)
    worst = worst_pair(pair.matrix, [(0,), (1,)], 1.0, support=pair.support)
    assert (worst.value, worst.bound) == (pytest.approx(single.matrix[0, 0], rel=1e-12), "exact")
    # Two looks at every phase are one look with half the noise.
    half = periodic(5, 5), AdditiveGaussian(Diagonal.constant(0.05, 5))
    assert single.matrix[0, 0] == pytest.approx(
        fisher_information(*half, [2]).matrix[0, 0], rel=1e-9
    )


def test_a_copy_released_without_noise_reveals_the_secret():
    noise = Diagonal([0.1] * 7 + [0.0] + [0.1] * 2)
    assert fisher_information(periodic(5, 10), AdditiveGaussian(noise), [2]).infinite
    assert not fisher_information(periodic(5, 10), AdditiveGaussian(noise), [3]).infinite


@pytest.mark.parametrize(
    ("noise", "entries", "infinite"),
    [
        (Diagonal([0.0, 1.0, 1.0]), [0], True),
        (Diagonal([0.0, 1.0, 1.0]), [1], False),
        (LowRank([1.0, 1.0, 1.0]), [0, 1], True),
        (LowRank([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), [0, 1, 2], True),
        (LowRank([[1.0, 2.0], [2.0, 4.0], [1.0, 1.0]]), [0, 1], True),
        (Dense(np.ones((3, 3))), [0, 1], True),
        (BlockDiagonal((LowRank([1.0, 1.0]), Diagonal([1.0]))), [0, 1], True),
        (BlockDiagonal((LowRank([1.0, 1.0]), Diagonal([1.0]))), [0, 2], False),
    ],
)
def test_for_a_definite_prior_the_loss_is_infinite_iff_its_noise_is_singular(
    noise, entries, infinite
):
    belief = Gaussian(Toeplitz([1.0, 0.5, 0.25]), definite=True)
    information = fisher_information(belief, AdditiveGaussian(noise), entries)
    assert information.infinite is infinite
    assert np.isinf(information.matrix).any() == infinite
    assert not np.isnan(information.matrix).any()


def test_scalar_informations_with_revealed_and_constant_entries():
    belief = Gaussian(Diagonal([1.0, 0.0, 1.0]))
    values, error = scalar_informations(belief, AdditiveGaussian(Diagonal([0.5, 0.5, 0.0])))
    np.testing.assert_allclose(values, [2.0, 0.0, math.inf], rtol=1e-14)
    assert error <= 1e-5


def test_near_copies_of_a_definite_prior_are_not_copies():
    times = np.array([0.0, 1e-9, 1.0])
    entries = np.exp(-0.5 * np.subtract.outer(times, times) ** 2)
    belief = Gaussian(Dense(entries), definite=True)
    channel = AdditiveGaussian(Diagonal.constant(0.1, 3))
    with pytest.raises(Undecidable):
        fisher_information(belief, channel, [0, 1])
    assert fisher_information(belief, channel, [0]).bound == "exact"


def test_every_entry_secret_leaves_only_the_noise():
    channel = AdditiveGaussian(Diagonal.constant(0.25, 50))
    information = fisher_information(squared_exponential(6), channel, range(50))
    np.testing.assert_allclose(information.matrix, 4 * np.eye(50), rtol=1e-12, atol=1e-12)


def test_independent_coordinates_do_not_mix():
    time = Toeplitz(np.exp(-0.5 * (np.arange(6) / 2.0) ** 2))
    belief = Gaussian(Kronecker(time, Dense(np.diag([1.0, 4.0]))), dimensions=2, definite=True)
    channel = AdditiveGaussian(Diagonal(np.tile([0.1, 0.3], 6)), dimensions=2)
    plane = fisher_information(belief, channel, belief.entries_at(3)).matrix
    for axis, (scale, noise) in enumerate([(1.0, 0.1), (4.0, 0.3)]):
        line = fisher_information(
            Gaussian(time.scaled(scale), definite=True),
            AdditiveGaussian(Diagonal.constant(noise, 6)),
            [3],
        )
        assert plane[axis, axis] == pytest.approx(line.matrix[0, 0], rel=1e-10)
    assert plane[0, 1] == pytest.approx(0.0, abs=1e-12)


def test_balls_are_not_used_on_long_traces(monkeypatch):
    belief = Gaussian(
        Dense(squared_exponential(6).covariance.dense()), definite=True, exact=lambda _: 1
    )
    monkeypatch.setattr(ball_arithmetic, "MOST_IN_BALLS", 0)
    with pytest.raises(Undecidable, match="too long for exact arithmetic"):
        fisher_information(belief, AdditiveGaussian(LowRank(_bump(6))), [24])


@pytest.mark.parametrize("entries", [[], [0, 0], [3], [-1], [0.5], [[0]]])
def test_bad_entries(entries):
    belief, channel = (
        Gaussian(Diagonal.constant(1.0, 3)),
        AdditiveGaussian(Diagonal.constant(1.0, 3)),
    )
    with pytest.raises(ParameterError, match=r"(entries|indices) must"):
        fisher_information(belief, channel, entries)


def test_belief_and_channel_must_fit():
    belief = Gaussian(Diagonal.constant(1.0, 4))
    for channel in (
        AdditiveGaussian(Diagonal.constant(1.0, 3)),
        AdditiveGaussian(Diagonal.constant(1.0, 4), dimensions=2),
    ):
        with pytest.raises(Incompatible):
            fisher_information(belief, channel, [0])
        with pytest.raises(Incompatible):
            scalar_informations(belief, channel)


@pytest.mark.parametrize("length", [1, 6])
@pytest.mark.parametrize("loud", [1e-4, 1.0, 1e9])
def test_all_entries_at_once_agree_with_high_precision(length, loud):
    n = 12
    noise = loud * np.linspace(0.5, 2.0, n)
    noise[n // 2] *= 100
    factor = math.sqrt(loud) * np.linspace(-1, 1, n)
    for structure, plain in (
        (Diagonal(noise), mpmath.diag(noise.tolist())),
        (
            Sum((LowRank(factor), Diagonal(noise))),
            mpmath.diag(noise.tolist())
            + mpmath.matrix(factor.tolist()) * mpmath.matrix(factor.tolist()).T,
        ),
    ):
        values, error = scalar_informations(
            squared_exponential(length, n), AdditiveGaussian(structure)
        )
        assert error <= 1e-5
        for s in (0, 5, 6, 11):
            truth = true_information(true_prior(length, n), plain, [s])[0, 0]
            assert abs(values[s] / truth - 1) <= max(error, 1e-15)
