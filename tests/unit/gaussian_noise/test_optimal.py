"""The best noise: its certificates hold, and nothing beats it."""

from __future__ import annotations

import importlib.util
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.errors import OutsideHypotheses, SolverFailed
from sfumato.matrices import Dense, Kronecker
from sfumato.parameters import COUNT, COVARIANCE, declare, parameter
from sfumato_gaussian_noise.design import Certified, DualBound, Members, Task

_place = Path(__file__).parents[2] / "benchmarks" / "bench_design_grid.py"
_specification = importlib.util.spec_from_file_location("bench_design_grid", _place)
grid = importlib.util.module_from_spec(_specification)
_specification.loader.exec_module(grid)


@declare
class Given(sf.Prior):
    """A prior of a given covariance, with d coordinates for each time."""

    name = "given_covariance"
    yields = Gaussian

    covariance: object = parameter(COVARIANCE("n"), doc="covariance over time")
    dimensions: int = parameter(COUNT("d"), default=1, doc="alike, independent coordinates")

    def belief(self):
        over_time = Dense(self.covariance)
        if self.dimensions == 1:
            return Gaussian(over_time, rounding=0.0)
        matrix = Kronecker(over_time, Dense(np.eye(self.dimensions)))
        return Gaussian(matrix, dimensions=self.dimensions, rounding=0.0)


def claims(prior, secret, **options):
    return sf.mechanisms.gaussian_optimal(**options).protect(prior, secret).claims


def random_covariance(seed, size):
    factor = np.random.default_rng(seed).standard_normal((size, size))
    return factor @ factor.T / size + 0.05 * np.eye(size)


def direct_optimum(problems, budget, apart=None):
    """Solve the primal program itself: min t, [[blkdiag(d_k I), Aᵀ], [A, C + Γ]] ⪰ 0, Σ d_k ≤ t."""
    import cvxpy as cp

    size = problems[0][0].shape[0]
    noise, worst = cp.Variable((size, size), PSD=True), cp.Variable()
    constraints = [cp.trace(noise) <= budget]
    if apart is not None:
        others = [i for i in range(size) if i not in apart]
        own = cp.Variable()
        constraints += [noise[np.ix_(apart, apart)] == own * np.eye(len(apart))]
        if others:
            constraints += [noise[np.ix_(apart, others)] == 0]
    for prior, balls, radius in problems:
        chosen = [entry for ball in balls for entry in ball]
        inner = prior[np.ix_(chosen, chosen)]
        weights = prior[:, chosen] @ np.linalg.inv(inner)
        spread = prior - weights @ prior[chosen]
        spread = (spread + spread.T) / 2
        bounds = cp.Variable(len(balls))
        member = np.zeros((len(chosen), len(balls)))
        for k, ball in enumerate(balls):
            member[[chosen.index(entry) for entry in ball], k] = 1.0
        corner = cp.diag(member @ bounds)
        constraints += [cp.bmat([[corner, weights.T], [weights, spread + noise]]) >> 0]
        constraints += [radius**2 * cp.sum(bounds) <= worst]
    problem = cp.Problem(cp.Minimize(worst), constraints)
    problem.solve(solver=cp.CLARABEL)
    assert problem.status == cp.OPTIMAL
    return problem.value


@pytest.mark.parametrize("seed", range(3))
def test_one_time_against_the_direct_program(seed):
    covariance = random_covariance(seed, 5)
    found = claims(Given(covariance), sf.secrets.basic(2, radius=1.5), mse=0.3)
    truth = direct_optimum([(covariance, [(2,)], 1.5)], 1.5)
    assert found["worst_loss"] == pytest.approx(truth, rel=1e-5)
    assert found["lower_bound"] <= truth * (1 + 1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_several_secrets_of_several_radii_against_the_direct_program(seed):
    covariance = random_covariance(seed, 6)
    secret = sf.secrets.basic(0, radius=2.0) | sf.secrets.basic(3) | sf.secrets.compound([1, 4])
    found = claims(Given(covariance), secret, mse=0.5)
    groups = [([(0,)], 2.0), ([(3,)], 1.0), ([(1,), (4,)], 1.0)]
    truth = direct_optimum([(covariance, balls, radius) for balls, radius in groups], 3.0)
    assert found["worst_loss"] == pytest.approx(truth, rel=2e-5)
    assert found["lower_bound"] <= truth * (1 + 1e-6)


@pytest.mark.parametrize("seed", range(2))
def test_a_class_against_the_direct_program(seed):
    covariances = [random_covariance(10 * seed + i, 5) for i in range(3)]
    prior = sf.AnyOf(*map(Given, covariances))
    found = claims(prior, sf.secrets.basic(2), mse=0.2)
    truth = direct_optimum([(covariance, [(2,)], 1.0) for covariance in covariances], 1.0)
    assert found["worst_loss"] == pytest.approx(truth, rel=2e-5)


@pytest.mark.parametrize(
    ("secret", "times"), [(sf.secrets.basic(2), (2,)), (sf.secrets.every_point(), range(4))]
)
@pytest.mark.parametrize("apart", [False, True])
def test_a_class_in_the_plane_against_the_direct_program(secret, times, apart):
    """Coordinates that are alike and independent are designed for as one: the program is not."""
    scales, apart = (0.7, 2.0), apart and len(times) == 1
    prior = sf.priors.rbf(length_scale=sf.AnyOf(*scales), times=4, dimensions=2)
    mechanism = sf.mechanisms.gaussian_optimal(mse=0.2, independent_secret_noise=apart)
    release, lags = mechanism.protect(prior, secret), np.subtract.outer(range(4), range(4))
    planes = [np.kron(np.exp(-(lags**2) / (2 * scale**2)), np.eye(2)) for scale in scales]
    problems = [(plane, [(2 * t, 2 * t + 1)], 1.0) for plane in planes for t in times]
    truth = direct_optimum(problems, 1.6, apart=[4, 5] if apart else None)
    assert release.claims["worst_loss"] == pytest.approx(truth, rel=1e-4)
    assert release.claims["lower_bound"] <= truth * (1 + 1e-6)
    found = sf.measures.renyi(order=2.0).loss(prior, secret, release)
    assert found.ceiling == pytest.approx(release.claims["worst_loss"], rel=1e-6)
    noise = release.channel.noise.dense()
    assert np.trace(noise) == pytest.approx(1.6)
    assert not noise[::2, 1::2].any()


def test_a_fitted_class_in_the_plane_is_designed_in_seconds():
    """It did not end: a program and a proof of all 100 values at once."""
    lengths, variances = sf.Interval(3.6, 8.5), sf.Interval(1465.0, 12242.0)
    prior = sf.priors.rbf(length_scale=lengths, variance=variances, times=50, dimensions=2)
    begun = time.process_time()
    found = claims(prior, sf.secrets.basic(24, radius=50.0), mse=2500.0)
    assert time.process_time() - begun < 30
    assert found["class_seen"] == "proved"
    assert found["relative_gap"] < 1e-3


@pytest.mark.parametrize("indices", [[2], [1, 3]])
def test_the_papers_class_against_the_direct_program(indices):
    covariance = random_covariance(7, 5)
    secret = sf.secrets.compound(indices)
    release = sf.mechanisms.gaussian_optimal(mse=0.2, independent_secret_noise=True).protect(
        Given(covariance), secret
    )
    truth = direct_optimum([(covariance, [(i,) for i in indices], 1.0)], 1.0, apart=indices)
    assert release.claims["worst_loss"] == pytest.approx(truth, rel=2e-5)
    noise = release.channel.covariance()
    others = [i for i in range(5) if i not in indices]
    assert np.all(noise[np.ix_(indices, others)] == 0)
    own = noise[np.ix_(indices, indices)]
    assert own == pytest.approx(own[0, 0] * np.eye(len(indices)), rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_the_papers_class_for_a_union_against_the_direct_program(seed):
    covariance = random_covariance(seed, 5)
    groups = [([(1,)], 1.0), ([(0,), (3,)], 1.5)]
    secret = sf.secrets.basic(1) | sf.secrets.compound([0, 3], radius=1.5)
    found = claims(Given(covariance), secret, mse=0.4, independent_secret_noise=True)
    problems = [(covariance, balls, radius) for balls, radius in groups]
    truth = direct_optimum(problems, 2.0, apart=[0, 1, 3])
    assert found["worst_loss"] == pytest.approx(truth, rel=2e-5)
    assert found["lower_bound"] <= truth * (1 + 1e-6)


def test_the_papers_class_for_two_times_of_a_smooth_trace():
    prior = sf.priors.rbf(length_scale=2.0, times=5)
    secret = sf.secrets.basic(1) | sf.secrets.basic(3)
    found = claims(prior, secret, mse=1.0, independent_secret_noise=True)
    covariance = prior.belief().covariance.dense()
    truth = direct_optimum([(covariance, [(i,)], 1.0) for i in (1, 3)], 5.0, apart=[1, 3])
    assert found["worst_loss"] == pytest.approx(truth, rel=2e-5)


def test_the_papers_class_is_even_noise_where_all_is_secret():
    covariance = random_covariance(6, 4)
    mechanism = sf.mechanisms.gaussian_optimal(mse=0.5, independent_secret_noise=True)
    release = mechanism.protect(Given(covariance), sf.secrets.every_point())
    assert release.channel.covariance() == pytest.approx(0.5 * np.eye(4), rel=1e-12)
    assert release.claims["relative_gap"] <= 1e-9


def test_unequal_variances():
    # Noise shaped like the prior would have the loss 50.5.
    prior = Given(np.diag([1.0, 100.0]))
    found = claims(prior, sf.secrets.every_point(), mse=1.0)
    assert found["worst_loss"] == pytest.approx(1.0, rel=2e-6)


def test_places_in_the_plane_share_the_budget():
    # d independent, alike coordinates take d bumps with B/d each: the loss of one with B/d.
    covariance = random_covariance(3, 4)
    plane = claims(Given(covariance, dimensions=2), sf.secrets.basic(1), mse=0.25)
    line = claims(Given(covariance), sf.secrets.basic(1), mse=0.25)
    assert plane["worst_loss"] == pytest.approx(line["worst_loss"], rel=1e-6)
    assert "closed form" in plane["route"]
    direct = direct_optimum([(np.kron(covariance, np.eye(2)), [(2, 3)], 1.0)], 2.0)
    assert plane["worst_loss"] == pytest.approx(direct, rel=1e-5)


def test_two_places_in_the_plane_by_the_program():
    covariance = random_covariance(4, 3)
    found = claims(Given(covariance, dimensions=2), sf.secrets.compound([0, 2]), mse=0.25)
    direct = direct_optimum([(np.kron(covariance, np.eye(2)), [(0, 1), (4, 5)], 1.0)], 1.5)
    assert found["worst_loss"] == pytest.approx(direct, rel=2e-5)


def test_correlated_coordinates_by_the_program():
    covariance = random_covariance(5, 6)  # three times of two coordinates, all correlated

    @declare
    class Plane(sf.Prior):
        """A place in the plane whose coordinates depend on each other."""

        name = "correlated_plane"
        yields = Gaussian

        covariance: object = parameter(COVARIANCE("n"), doc="covariance of all entries")

        def belief(self):
            return Gaussian(Dense(self.covariance), dimensions=2, rounding=0.0)

    found = claims(Plane(covariance), sf.secrets.basic(1), mse=0.25)
    direct = direct_optimum([(covariance, [(2, 3)], 1.0)], 1.5)
    assert found["worst_loss"] == pytest.approx(direct, rel=2e-5)


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.floats(0.01, 10.0))
def test_no_noise_beats_the_lower_bound(seed, mse):
    rng = np.random.default_rng(seed)
    covariance = random_covariance(seed, 4)
    prior, secret = Given(covariance), sf.secrets.basic(int(rng.integers(4)))
    lower = claims(prior, secret, mse=mse)["lower_bound"]
    factor = rng.standard_normal((4, int(rng.integers(1, 5))))
    noise = factor @ factor.T + 1e-9 * np.eye(4)
    noise *= 4 * mse / np.trace(noise)
    release = sf.mechanisms.gaussian_given(covariance=noise).protect(prior, secret)
    assert sf.measures.renyi(order=2.0).loss(prior, secret, release).value >= lower * (1 - 1e-9)


def test_what_is_claimed_is_what_the_exact_measure_says():
    prior, secret = sf.priors.rbf(length_scale=6.0, times=50), sf.secrets.basic(24)
    release = sf.mechanisms.gaussian_optimal(mse=0.02).protect(prior, secret)
    exact = sf.measures.renyi(order=2.0).loss(prior, secret, release)
    assert exact.bound == "exact"
    assert release.claims["worst_loss"] == pytest.approx(exact.value, rel=1e-9)
    # The shared draw alone would lose 2e10: the floor is really there.
    shape = release.channel.noise.terms[0]
    assert release.channel.noise.smallest_eigenvalue() == pytest.approx(2e-8, rel=1e-9)
    assert shape.rank_bound() == 1


def test_copies_in_a_periodic_trace():
    # Entries 2 and 7 are one number: protecting both is protecting one.
    prior = sf.priors.periodic(length_scale=1.0, period=5.0, times=10)
    both = claims(prior, sf.secrets.compound([2, 7]), mse=0.1)
    one = claims(prior, sf.secrets.basic(2), mse=0.1)
    assert both["worst_loss"] == pytest.approx(one["worst_loss"], rel=1e-5)


def test_units_do_not_matter():
    covariance = random_covariance(1, 5)
    secret = sf.secrets.basic(0) | sf.secrets.basic(3)
    here = claims(Given(covariance), secret, mse=0.1)["worst_loss"]
    for unit in (1e-8, 1e8):
        there = claims(Given(covariance * unit), secret, mse=0.1 * unit)["worst_loss"]
        assert there * unit == pytest.approx(here, rel=1e-6)


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize(
    "secret",
    [
        sf.secrets.basic(2),
        sf.secrets.compound([1, 2]),
        sf.secrets.basic(1) | sf.secrets.basic(3),
        sf.secrets.every_point(),
    ],
    ids=str,
)
@pytest.mark.parametrize("mse", [1e160, 1e300])
def test_certificates_hold_at_huge_budgets(secret, mse, apart):
    """B · loss tends to a limit: the prior no longer matters beside a budget of 1e9 already."""
    prior = sf.priors.rbf(length_scale=2.0, times=5)
    options = {"independent_secret_noise": apart}
    found = claims(prior, secret, mse=mse, **options)
    limit = 1e9 * claims(prior, secret, mse=1e9, **options)["worst_loss"]
    assert found["lower_bound"] <= found["worst_loss"] <= found["lower_bound"] * (1 + 1e-4)
    assert found["lower_bound"] * mse == pytest.approx(limit, rel=1e-5)


def test_a_huge_budget_on_a_long_trace(monkeypatch):
    from sfumato_gaussian_noise import optimal as design_routes

    monkeypatch.setattr(design_routes, "LONG", 10)
    prior = sf.priors.rbf(length_scale=2.0, times=20)
    found = claims(prior, sf.secrets.basic(7), mse=1e300)
    monkeypatch.undo()
    short = claims(prior, sf.secrets.basic(7), mse=1e300)
    assert "conjugate" in found["route"]
    assert found["worst_loss"] == pytest.approx(short["worst_loss"], rel=1e-5)
    assert 0 < found["lower_bound"] <= short["worst_loss"]


def test_a_huge_target_budget_has_a_certified_smallest():
    prior, secret = sf.priors.rbf(length_scale=2.0, times=5), sf.secrets.basic(2)
    found = claims(prior, secret, epsilon=1e-200, order=2.0)
    limit = 1e9 * claims(prior, secret, mse=1e9)["worst_loss"]
    assert found["smallest_mse_of_any"] == pytest.approx(limit / 1e-200, rel=1e-5)


def test_a_loss_below_its_lower_bound_is_an_error():
    prior, secret = sf.priors.rbf(length_scale=2.0, times=5), sf.secrets.basic(2)
    task = Task(Members(prior, secret), budget=5.0, floor=1e-6, tolerance=1e-4)
    noise = Dense(np.eye(5))
    losses = task.members.losses(noise)
    false = DualBound(gain=5.0 * 2 * losses.worst, price=0.0, unit=5.0)
    with pytest.raises(SolverFailed, match="a guess must prove a lower bound below the loss"):
        task.gap(Certified(noise, losses, false, "a guess"))


@pytest.mark.parametrize("apart", [False, True])
def test_a_vanishing_budget_is_met_by_a_formula_or_refused_in_a_sentence(apart):
    """All of a budget B → 0 goes to the one secret entry; of every point, each takes B/n."""
    prior = sf.priors.rbf(length_scale=2.0, times=5)
    for secret, loss in ((sf.secrets.basic(2), 2e299), (sf.secrets.every_point(), 1e300)):
        found = claims(prior, secret, mse=1e-300, independent_secret_noise=apart)
        assert found["worst_loss"] == pytest.approx(loss, rel=1e-5)
        assert found["relative_gap"] < 1e-5
    compound = sf.secrets.compound([1, 2])
    with pytest.raises(OutsideHypotheses, match=r"an mse of at least 2e-13.*; got 1e-300"):
        claims(prior, compound, mse=1e-300, independent_secret_noise=apart)


@pytest.mark.parametrize("mse", [5e-324, 1e308])
def test_budgets_beyond_float64_are_refused(mse):
    prior = sf.priors.rbf(length_scale=2.0, times=5)
    for secret in (sf.secrets.basic(2), sf.secrets.compound([1, 2]), sf.secrets.every_point()):
        with pytest.raises(sf.ParameterError, match=r"gaussian_optimal\.mse must be such that"):
            claims(prior, secret, mse=mse)


@pytest.mark.parametrize("radius", [1e-200, 1e200])
def test_radii_whose_squares_leave_float64_are_refused(radius):
    prior = sf.priors.rbf(length_scale=2.0, times=5)
    for secret in (sf.secrets.basic(2, radius=radius), sf.secrets.every_point(radius=radius)):
        with pytest.raises(OutsideHypotheses, match="designs for radii between 1e-140 and 1e"):
            claims(prior, secret, mse=1.0)


@pytest.mark.parametrize(
    ("times", "loss"), [([24, 25], 411.208), ([24, 25, 26], 18926.2), ([23, 24, 25, 26], 692587.0)]
)
@pytest.mark.parametrize("radius", [1e-6, 1.0, 1e6])
def test_the_unit_of_the_radius_does_not_matter(times, loss, radius):
    """The values are those of radius 0.01, where the program was always of moderate size."""
    prior = sf.priors.rbf(length_scale=6.0, times=50)
    found = claims(prior, sf.secrets.compound(times, radius=radius), mse=0.02)
    assert found["worst_loss"] / radius**2 == pytest.approx(loss, rel=1e-5)
    assert found["relative_gap"] < 1e-5


def test_eight_neighbours_of_a_rough_trace():
    """The best mixture of all sign vectors: sign by sign it took a minute."""
    prior = sf.priors.matern(length_scale=3.0, times=50)
    secret = sf.secrets.compound(range(21, 29))
    began = time.process_time()
    release = sf.mechanisms.gaussian_optimal(mse=0.02).protect(prior, secret)
    assert time.process_time() - began < 20
    exact = sf.measures.renyi(order=2.0).loss(prior, secret, release)
    assert exact.value == pytest.approx(release.claims["worst_loss"], rel=1e-9)
    assert release.claims["relative_gap"] < 1e-5


@pytest.mark.parametrize(
    ("length_scale", "secret"),
    [
        (sf.AnyOf(3.0, 6.0), sf.secrets.basic(24) | sf.secrets.basic(30)),
        (sf.AnyOf(1.0, 6.0), sf.secrets.basic(24)),
        (6.0, sf.secrets.basic(10) | sf.secrets.compound([24, 25])),
    ],
    ids=["class and union", "class", "union"],
)
def test_metres_are_as_good_as_kilometres(length_scale, secret):
    def worst(unit):
        prior = sf.priors.rbf(length_scale=length_scale, times=50, variance=unit**2)
        return claims(prior, secret, mse=0.02 * unit**2)["worst_loss"] * unit**2

    assert worst(1e3) == pytest.approx(worst(1.0), rel=1e-5)


def test_independent_noise_on_the_secret_of_the_papers_figure():
    prior, secret = sf.priors.rbf(length_scale=6.0, times=50), sf.secrets.compound([24, 25])
    found = claims(prior, secret, mse=0.02, independent_secret_noise=True)
    assert found["worst_loss"] == pytest.approx(481.47, rel=2e-4)
    assert found["relative_gap"] < 1e-4


@pytest.mark.parametrize(
    ("length_scale", "count", "mse"), [(12.0, 8, 0.02), (12.0, 6, 1e-4), (8.0, 6, 2.5e-4)]
)
def test_neighbours_that_nearly_determine_one_another(length_scale, count, mse):
    """Float64 cannot tell their covariance from a singular one: they are regressed in balls."""
    prior = sf.priors.rbf(length_scale=length_scale, times=50)
    secret = sf.secrets.compound(range(20, 20 + count))
    release = sf.mechanisms.gaussian_optimal(mse=mse).protect(prior, secret)
    assert release.claims["relative_gap"] < 1e-5
    exact = sf.measures.renyi(order=2.0).loss(prior, secret, release)
    assert exact.value == pytest.approx(release.claims["worst_loss"], rel=1e-9)


@pytest.mark.parametrize("case", [*grid.corners()[::11], *grid.drawn(240)[::60]], ids=str)
def test_no_design_of_the_grid_fails(case):
    """A sample of what the benchmark designs in full, at no more than 40 entries."""
    kind, length, neighbours, mse, n, radius = case
    release = grid.design((kind, length, neighbours, mse, min(n, 40), radius))
    found = release.claims
    assert found["lower_bound"] <= found["worst_loss"]
    assert found["relative_gap"] <= 1e-4
    exact = sf.measures.renyi(order=2.0).loss(release.prior, release.secret, release)
    assert exact.floor <= found["worst_loss"] <= exact.ceiling * (1 + 1e-9)
    assert exact.ceiling <= exact.floor * (1 + 1e-4)


def test_a_gap_above_the_tolerance_is_told():
    prior, secret = Given(random_covariance(2, 4)), sf.secrets.compound([0, 2])
    found = claims(prior, secret, mse=0.1, floor=1e-12, tolerance=1e-14)
    assert 1e-14 < found["relative_gap"] < 1e-5
    assert found["worst_loss"] == pytest.approx(found["lower_bound"], rel=1e-5)


def test_a_solver_that_breaks_down_is_named(monkeypatch):
    import cvxpy as cp

    def broken(self, *args, **options):
        raise cp.error.SolverError("no")

    monkeypatch.setattr(cp.Problem, "solve", broken)
    with pytest.raises(SolverFailed, match=r"CLARABEL must solve the noise program; it broke"):
        claims(Given(random_covariance(2, 4)), sf.secrets.compound([0, 2]), mse=0.1)


def test_long_traces_take_one_secret_time():
    prior = sf.priors.rbf(length_scale=6.0, times=5000)
    with pytest.raises(OutsideHypotheses, match="above 4000 entries"):
        claims(prior, sf.secrets.compound([1, 2]), mse=0.1)


def test_long_and_short_traces_agree(monkeypatch):
    from sfumato_gaussian_noise import optimal as design_routes

    prior, secret = sf.priors.rbf(length_scale=3.0, times=200), sf.secrets.basic(80)
    dense = claims(prior, secret, mse=0.01)
    monkeypatch.setattr(design_routes, "LONG", 100)
    release = sf.mechanisms.gaussian_optimal(mse=0.01).protect(prior, secret)
    exact = sf.measures.renyi(order=2.0).loss(prior, secret, release).value
    assert "conjugate gradients" in release.claims["route"]
    assert release.claims["worst_loss"] == pytest.approx(dense["worst_loss"], rel=1e-6)
    assert exact <= release.claims["worst_loss"] <= exact * (1 + 1e-6)
    assert release.claims["lower_bound"] == pytest.approx(dense["lower_bound"], rel=1e-6)


def test_every_point_of_a_long_trace():
    prior, secret = sf.priors.rbf(length_scale=3.0, times=5000), sf.secrets.every_point(radius=2.0)
    found = claims(prior, secret, mse=0.5)
    assert found["lower_bound"] == pytest.approx(8.0, rel=1e-9)
    assert found["worst_loss"] == pytest.approx(8.0, rel=2e-6)


def test_a_hundred_thousand_points():
    prior, secret = sf.priors.rbf(length_scale=6.0, times=100_000), sf.secrets.basic(50_000)
    release = sf.mechanisms.gaussian_optimal(mse=1e-5).protect(prior, secret)
    # Far from both ends the trace's length no longer matters: 0.608868 more than at n = 50 is 7.
    assert release.claims["worst_loss"] == pytest.approx(7.608868, rel=1e-6)
    assert release.apply(np.zeros(100_000), np.random.default_rng(0)).shape == (100_000,)


def test_the_sampled_noise_has_the_claimed_covariance():
    prior, secret = sf.priors.rbf(length_scale=2.0, times=4), sf.secrets.compound([1, 2])
    channel = sf.mechanisms.gaussian_optimal(mse=0.5).protect(prior, secret).channel
    draws = channel.noise.sample(np.random.default_rng(5), 200_000)
    assert np.cov(draws.T) == pytest.approx(channel.covariance(), abs=0.02)
    assert isinstance(channel, AdditiveGaussian)


def test_a_choice_of_whole_priors_is_a_class_to_design_for():
    rough, smooth = (sf.priors.rbf(length_scale=x, times=8) for x in (1.0, 3.0))
    both, secret = sf.AnyOf(rough, smooth), sf.secrets.basic(3)
    design = sf.mechanisms.gaussian_optimal(mse=0.1).designed_for(prior=both)
    found = design.protect(rough, secret).claims["worst_loss"]
    assert found == pytest.approx(claims(both, secret, mse=0.1)["worst_loss"], rel=1e-9)
    family = sf.priors.rbf(length_scale=sf.AnyOf(1.0, 3.0), times=8)
    for one in (design, design.mechanism.designed_for(prior=family)):
        rebuilt = sf.registry.build("mechanism", one.specification())
        assert rebuilt.specification() == one.specification()
        assert repr(eval(repr(one))) == repr(one)  # noqa: S307 - our own repr


@pytest.mark.parametrize("mse", [1e-10, 1e-12, 1e-14, 1e-20, 1e-100])
@pytest.mark.parametrize("dimensions", [1, 2])
def test_budgets_far_below_the_prior_are_met_by_the_formula(mse, dimensions):
    """As B → 0 the loss of the best noise is d/B: all of it goes to the d secret entries."""
    prior = sf.priors.matern(length_scale=2.0, nu=1.5, times=8, dimensions=dimensions)
    found = claims(prior, sf.secrets.basic(3), mse=mse, floor=1e-6)
    assert found["relative_gap"] < 1e-5
    assert found["worst_loss"] == pytest.approx(1 / (8 * mse), rel=1e-5)


@pytest.mark.parametrize("mse", [1e-9, 1e-10, 1e-11])
@pytest.mark.parametrize(
    ("secret", "limit"),
    [
        (sf.secrets.compound([1, 2]), 4.0),  # B/2 on each, and both may move
        (sf.secrets.basic(0) | sf.secrets.basic(4), 2.0),
        (sf.secrets.basic(0) | sf.secrets.compound([2, 4]), 5.0),
    ],
    ids=str,
)
def test_budgets_far_below_the_prior_are_met_by_the_program(mse, secret, limit):
    prior = sf.priors.rbf(length_scale=1.0, times=6)
    found = claims(prior, secret, mse=mse)
    assert found["relative_gap"] < 1e-4
    assert found["worst_loss"] == pytest.approx(limit / (6 * mse), rel=1e-4)


def test_budgets_that_rounding_hides_are_refused_with_one_that_is_not():
    prior, secret = sf.priors.rbf(length_scale=1.0, times=6, variance=4.0), sf.secrets.compound([1])
    with pytest.raises(OutsideHypotheses, match=r"an mse of at least 6\.7e-13.*got 1e-20"):
        claims(prior, secret | sf.secrets.basic(3), mse=1e-20)
    assert claims(prior, secret | sf.secrets.basic(3), mse=7e-13)["relative_gap"] < 1e-4
    smooth = sf.priors.rbf(length_scale=6.0, times=30)
    assert 1e-4 < claims(smooth, sf.secrets.compound([10, 11]), mse=1e-13)["relative_gap"] < 2.0
    assert claims(smooth, sf.secrets.compound([10, 11]), mse=3.4e-8)["relative_gap"] < 1e-4


def test_a_singular_prior_and_a_tiny_budget_break_no_factorisation():
    """Every second time is a copy of the secret: three entries share the draw of variance B/3."""
    prior, secret = sf.priors.periodic(length_scale=1.0, period=2.0, times=6), sf.secrets.basic(2)
    assert claims(prior, secret, mse=1e-14)["worst_loss"] == pytest.approx(3 / 6e-14, rel=1e-5)
    with pytest.raises(OutsideHypotheses, match="an mse of at least"):
        claims(prior, secret, mse=1e-60)


@pytest.mark.parametrize("times", [6, 7])
def test_a_class_that_may_be_reversed_in_time_is_solved_at_half_the_size(times, monkeypatch):
    """The program for even and odd vectors has the optimum of the whole program."""
    from sfumato_gaussian_noise import dual_program

    prior = sf.priors.rbf(length_scale=sf.AnyOf(1.0, 3.0), times=times)
    half = claims(prior, sf.secrets.every_point(), mse=0.1)
    assert half["relative_gap"] < 1e-5
    monkeypatch.setattr(dual_program, "mirror_partners", lambda blocks: None)
    whole = claims(prior, sf.secrets.every_point(), mse=0.1)
    assert half["worst_loss"] == pytest.approx(whole["worst_loss"], rel=1e-5)
    problems = []
    for length in (1.0, 3.0):
        covariance = sf.priors.rbf(length_scale=length, times=times).belief().covariance.dense()
        problems += [(covariance, [[entry]], 1.0) for entry in range(times)]
    direct = direct_optimum(problems, 0.1 * times)
    assert half["worst_loss"] == pytest.approx(direct, rel=1e-4)


def test_mirror_images_are_found_only_where_there_are_some():
    from sfumato_gaussian_noise.design import block_of
    from sfumato_gaussian_noise.dual_program import mirror_groups, mirror_partners

    belief = sf.priors.rbf(length_scale=2.0, times=5).belief()
    blocks = [block_of(belief, ((entry,),), 1.0) for entry in (0, 2, 4, 1, 3)]
    assert mirror_partners(blocks) == [2, 1, 0, 4, 3]
    assert mirror_partners(blocks[:2]) is None
    uneven = sf.priors.rbf(length_scale=2.0, times=[0.0, 1.0, 2.0, 3.0, 9.0]).belief()
    assert mirror_partners([block_of(uneven, ((i,),), 1.0) for i in range(5)]) is None
    assert mirror_partners([block_of(belief, ((0,), (4,)), 1.0)]) is None
    question = (sf.secrets.basic(0) | sf.secrets.basic(4, radius=2.0)).question(belief)
    assert mirror_groups(question, 5) == {}
    assert mirror_groups(sf.secrets.compound([0, 4]).question(belief), 5) == {}


def test_secrets_that_are_functions_of_one_another_are_refused():
    """Copies are served (above); a time that is the sum of two others is not."""
    mixed = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    prior = Given(mixed @ mixed.T)
    for secret in (sf.secrets.compound([0, 1, 2]), sf.secrets.compound([0, 2, 1])):
        with pytest.raises(sf.Undecidable, match="leave out secret entries that the others"):
            claims(prior, secret, mse=0.1)


def test_secret_times_that_share_a_coordinate_are_refused():
    copies = np.array([[1.0, 0, 0], [0, 1, 0], [1, 0, 0], [0, 0, 1]])  # one of two coordinates

    @declare
    class Shared(sf.Prior):
        """Two places in the plane with one coordinate in common."""

        name = "shared_coordinate"
        yields = Gaussian

        def belief(self):
            return Gaussian(Dense(copies @ copies.T), dimensions=2, rounding=0.0)

    with pytest.raises(OutsideHypotheses, match="secret times that are free or wholly equal"):
        claims(Shared(), sf.secrets.compound([0, 1]), mse=0.1)


def test_huge_shifts_leave_no_gap():
    """The solver's own readings prove a bound 5 % below the loss; those of the noise do better."""
    radius = 530629.6863172126
    block, pair = (
        sf.secrets.compound(indices, radius=radius) for indices in ([17, 18, 19, 20, 21], [35, 36])
    )
    secret = block | sf.secrets.basic(1, radius=3 * radius) | pair
    prior = sf.priors.rbf(length_scale=12.0, times=38)
    release = sf.mechanisms.gaussian_optimal(mse=0.2902712205303586).protect(prior, secret)
    assert release.claims["relative_gap"] < 1e-4
