from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import ParameterError
from sfumato.inference.gaussian.worst_pair import feasible_value, local_maximum, worst_pair


def random_matrix(seed, size, rank=None):
    root = np.random.default_rng(seed).standard_normal((size, rank or size))
    return root @ root.T


def singles(size):
    return [(k,) for k in range(size)]


@given(st.integers(0, 10_000), st.integers(1, 8), st.integers(1, 8))
@settings(max_examples=50, deadline=None)
def test_scalar_balls_by_enumeration(seed, size, rank):
    matrix = random_matrix(seed, size, rank)
    best = max(
        np.array(v) @ matrix @ np.array(v) for v in itertools.product((-1.0, 1.0), repeat=size)
    )
    worst = worst_pair(matrix, singles(size), 2.0)
    assert worst.value == pytest.approx(4 * best, rel=1e-12)
    assert worst.bound == "exact"
    assert worst.witness @ matrix @ worst.witness == pytest.approx(worst.value, rel=1e-12)
    np.testing.assert_allclose(np.abs(worst.witness), 2.0)


def test_twenty_scalar_balls_with_a_planted_answer():
    signs = np.random.default_rng(0).choice([-1.0, 1.0], 20)
    matrix = np.outer(signs, signs) + 0.01 * np.eye(20)
    worst = worst_pair(matrix, singles(20), 1.0)
    assert worst.value == pytest.approx(400.2, rel=1e-12)
    assert abs(worst.witness @ signs) == pytest.approx(20)


def test_one_ball_is_the_largest_eigenvalue():
    matrix = random_matrix(1, 5)
    worst = worst_pair(matrix, [range(5)], 3.0)
    assert worst.value == pytest.approx(9 * np.linalg.eigvalsh(matrix)[-1], rel=1e-12)
    assert np.linalg.norm(worst.witness) == pytest.approx(3.0)
    assert worst.bound == "exact"


def _two_discs(matrix):
    """The supremum over two discs, by a fine grid of angles and a local refinement."""
    angles = np.linspace(0, 2 * np.pi, 721)
    a, b = np.meshgrid(angles, angles, indexing="ij")
    points = np.stack([np.cos(a), np.sin(a), np.cos(b), np.sin(b)], axis=-1)
    return np.max(np.einsum("xyi,ij,xyj->xy", points, matrix, points, optimize=True))


@pytest.mark.parametrize("seed", range(6))
def test_two_discs(seed):
    matrix = random_matrix(seed, 4, 1 + seed % 4)
    worst, grid = worst_pair(matrix, [(0, 1), (2, 3)], 1.0), _two_discs(matrix)
    # A grid of half degrees loses at most 2 (π/720)² of λ_max per disc, and never gains.
    assert grid <= worst.value * (1 + 1e-12)
    assert worst.value <= grid + 8 * (np.pi / 720) ** 2 * np.linalg.eigvalsh(matrix)[-1]
    assert worst.bound == "exact"


@pytest.mark.parametrize("seed", range(8))
def test_many_balls_are_bounded_from_both_sides(seed):
    matrix = random_matrix(seed, 9, 5)
    balls = [(0, 1), (2, 3), (4, 5), (6, 7), (8,)]
    worst = worst_pair(matrix, balls, 1.0)
    attained = worst.witness @ matrix @ worst.witness
    assert worst.attained <= attained <= worst.value <= 1.1 * worst.attained
    assert (worst.bound == "exact") == (worst.attained >= worst.value * (1 - 1e-9))
    assert worst.value <= len(balls) * np.linalg.eigvalsh(matrix)[-1] * (1 + 1e-9)
    for ball in balls:
        assert np.linalg.norm(worst.witness[list(ball)]) <= 1 + 1e-12
    # Nothing that random differences attain lies above.
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((20_000, 9))
    for ball in balls:
        points[:, list(ball)] /= np.linalg.norm(points[:, list(ball)], axis=1, keepdims=True)
    assert np.max(np.einsum("pi,ij,pj->p", points, matrix, points)) <= worst.value


@pytest.mark.parametrize("seed", range(4))
def test_the_dual_bounds_the_enumeration(seed):
    # The path for more than twenty balls, on few enough to enumerate.
    from sfumato.inference.gaussian.worst_pair import _bounded

    matrix = random_matrix(seed, 10, 6)
    exact = worst_pair(matrix, singles(10), 1.0).value
    bounded = _bounded(matrix, tuple(np.array([k]) for k in range(10)))
    assert exact * (1 - 1e-12) <= bounded.value <= 1.2 * exact
    assert bounded.witness @ matrix @ bounded.witness <= exact * (1 + 1e-12)


def test_more_than_twenty_balls():
    worst = worst_pair(np.diag(np.arange(1.0, 31.0)), singles(30), 1.0)
    assert worst.bound == "exact"
    assert worst.attained <= 465.0 <= worst.value <= 465.0 * (1 + 1e-9)


@given(st.integers(0, 10_000), st.integers(2, 6))
@settings(max_examples=30, deadline=None)
def test_any_multipliers_are_made_feasible(seed, size):
    matrix, rng = random_matrix(seed, size), np.random.default_rng(seed)
    balls = tuple(np.array([k]) for k in range(size))
    exact = worst_pair(matrix, singles(size), 1.0).value
    for multipliers in (np.zeros(size), rng.uniform(0, 5, size), np.full(size, 1e6)):
        assert feasible_value(matrix, balls, multipliers) >= exact


def test_local_search_climbs_over_a_null_space():
    balls = (np.array([0]), np.array([1]), np.array([2]))
    point = local_maximum(np.diag([1.0, 0.0, 0.0]), balls)
    np.testing.assert_allclose(np.abs(point), 1.0)


def test_zero_information():
    assert worst_pair(np.zeros((3, 3)), [(0, 1), (2,)], 1.0).value == pytest.approx(0.0, abs=1e-300)
    assert worst_pair(np.zeros((2, 2)), [(0, 1)], 1.0).value == 0.0


def test_a_support_cuts_the_box():
    direction = np.array([2.0, 1.0]) / math.sqrt(5)
    matrix = np.outer(direction, direction)
    worst = worst_pair(matrix, singles(2), 1.0, support=direction[:, None])
    assert worst.bound == "exact"
    assert worst.value == pytest.approx(1.25)  # the allowed Δ = (1, 1/2)


def test_a_support_cuts_larger_balls():
    direction = np.array([2.0, 0.0, 1.0]) / math.sqrt(5)
    matrix = np.outer(direction, direction)
    worst = worst_pair(matrix, [(0, 1), (2,)], 1.0, support=direction[:, None])
    assert worst.bound == "exact"
    assert worst.value == pytest.approx(1.25)  # the allowed Δ = (1, 0, 1/2)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_units(scale):
    matrix, balls = random_matrix(3, 6), [(0, 1), (2, 3), (4, 5)]
    plain = worst_pair(matrix, balls, 1.0).value
    assert worst_pair(scale * matrix, balls, 1.0).value == pytest.approx(scale * plain, rel=1e-5)


@pytest.mark.parametrize(
    ("matrix", "balls", "radius"),
    [
        ([[np.nan]], [(0,)], 1.0),
        ([[math.inf]], [(0,)], 1.0),
        ([[1.0, 2.0], [2.0, 1.0]], singles(2), 1.0),
    ],
)
def test_bad_arguments(matrix, balls, radius):
    with pytest.raises(ParameterError, match=r"^information must"):
        worst_pair(matrix, balls, radius)


def test_a_dual_with_a_gap_tells_both_ends():
    """Seven places in the plane: the dual bound may be a few per cent above what is attained."""
    factor = np.random.default_rng(1).standard_normal((14, 3))
    balls = [(2 * k, 2 * k + 1) for k in range(7)]
    found = worst_pair(factor @ factor.T, balls, 1.0)
    assert found.bound == "upper"
    attained = found.witness @ factor @ factor.T @ found.witness
    assert found.attained <= attained <= found.value <= 1.2 * found.attained


def test_a_loss_with_a_gap_has_both_ends_in_what_is_printed():
    """Under a far wider prior M is all but Γ⁻¹: one whose dual has a gap."""
    import sfumato as sf
    from sfumato.quantities import round_outwards

    factor = np.random.default_rng(1).standard_normal((14, 3))
    noise = np.linalg.inv(factor @ factor.T + 1e-3 * np.eye(14))
    times, secret = np.arange(7) * 1e3, sf.secrets.compound(range(7))
    prior = sf.priors.rbf(length_scale=1.0, times=times, dimensions=2, variance=1e6)
    release = sf.mechanisms.gaussian_given(covariance=noise.tolist()).protect(prior, secret)
    loss = sf.measures.renyi(order=2.0).loss(prior, secret, release)
    assert loss.bound == "upper"
    assert 0.8 * loss.value < loss.floor < 0.998 * loss.value
    moved = np.array(loss.witness["displacement"])
    assert moved @ np.linalg.inv(noise) @ moved == pytest.approx(loss.floor, rel=1e-3)
    low, high = round_outwards(loss.floor, "lower", ".4g"), round_outwards(loss.value, "upper")
    assert str(loss).endswith(f" ≤ {high}, ≥ {low}")
