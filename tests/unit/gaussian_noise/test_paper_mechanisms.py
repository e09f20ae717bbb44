"""The two baselines, SDP_A and Algorithm 1 on small traces."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import OutsideHypotheses
from sfumato_gaussian_noise.published import smallest_above

PRIOR = sf.priors.rbf(length_scale=2.0, times=6)


def test_concentrated_noise_lies_on_the_secret_alone():
    mechanism = sf.mechanisms.gaussian_concentrated(mse=0.5)
    release = mechanism.protect(PRIOR, sf.secrets.compound([1, 4]))
    assert release.channel.covariance() == pytest.approx(np.diag([0, 1.5, 0, 0, 1.5, 0]))
    assert release.utility() == pytest.approx(0.5)


def test_sdp_a_for_one_time_is_a_formula():
    # A linear objective: Γ = B u uᵀ along the regression u, of which the two blocks are kept.
    covariance = PRIOR.belief().covariance.dense()
    direction = covariance[:, 2] / np.linalg.norm(covariance[:, 2])
    truth = 3.0 * np.outer(direction, direction)
    truth[2, [0, 1, 3, 4, 5]] = truth[[0, 1, 3, 4, 5], 2] = 0.0
    release = sf.mechanisms.gaussian_sdp_a(mse=0.5).protect(PRIOR, sf.secrets.basic(2))
    assert release.channel.covariance() == pytest.approx(truth, abs=1e-6)


def test_sdp_a_takes_one_prior_and_one_secret():
    mechanism = sf.mechanisms.gaussian_sdp_a(mse=0.5)
    with pytest.raises(OutsideHypotheses, match="use gaussian_multiple_secrets"):
        mechanism.protect(PRIOR, sf.secrets.every_point())
    several = sf.priors.rbf(length_scale=sf.AnyOf(1.0, 2.0), times=6)
    with pytest.raises(OutsideHypotheses, match="designs for one prior"):
        mechanism.protect(several, sf.secrets.basic(2))
    with pytest.raises(OutsideHypotheses, match="designs for one prior"):
        mechanism.protect(
            sf.priors.rbf(length_scale=sf.Interval(1, 2), times=6), sf.secrets.basic(2)
        )


def test_sdp_a_refuses_copies():
    prior = sf.priors.periodic(length_scale=1.0, period=2.0, times=4)
    with pytest.raises(OutsideHypotheses, match="a constant or determined by the others"):
        sf.mechanisms.gaussian_sdp_a(mse=0.5).protect(prior, sf.secrets.compound([0, 2]))


def test_the_smallest_noise_above_two():
    # For two matrices the smallest trace above both is tr(A + B)/2 + ‖A − B‖₁/2.
    rng = np.random.default_rng(0)
    first, second = (f @ f.T for f in rng.standard_normal((2, 4, 2)))
    above = smallest_above(np.array([first, second]))
    truth = np.trace(first + second) / 2 + np.abs(np.linalg.eigvalsh(first - second)).sum() / 2
    assert np.trace(above) == pytest.approx(truth, rel=1e-8)
    for each in (first, second):
        assert np.linalg.eigvalsh(above - each)[0] >= -1e-12


@pytest.mark.parametrize("seed", range(6))
def test_the_smallest_noise_above_several_is_that_of_the_program(seed):
    import cvxpy as cp

    rng = np.random.default_rng(seed)
    ranks = rng.integers(0, 4, size=5)
    factors = [rng.standard_normal((5, rank)) * 10.0 ** rng.uniform(-1, 1) for rank in ranks]
    covariances = np.array([factor @ factor.T for factor in factors])
    above = smallest_above(covariances)
    variable = cp.Variable((5, 5), symmetric=True)
    program = cp.Problem(
        cp.Minimize(cp.trace(variable)), [variable - each >> 0 for each in covariances]
    )
    program.solve(solver="CLARABEL")
    assert np.trace(above) == pytest.approx(program.value, rel=1e-6, abs=1e-9)
    assert np.linalg.eigvalsh(above - covariances).min() >= -1e-10 * covariances.max()


def test_the_smallest_noise_above_nearly_equal_ones():
    # The iteration is slow here: the first matrix counts only in a direction of the second.
    first, second = np.diag([1.0, 1.0]), np.diag([1.0 + 1e-3, 1.0 - 1e-3])
    above = smallest_above(np.array([first, second]))
    assert np.trace(above) == pytest.approx(2.001, rel=2e-6)


@pytest.mark.parametrize("rescale", [1.0, 1000.0])
@pytest.mark.parametrize("indices", [[2, 3], [0, 2, 5]])
def test_sdp_a_for_several_times_is_the_program(rescale, indices):
    import cvxpy as cp

    mechanism = sf.mechanisms.gaussian_sdp_a(mse=0.5, rescale=rescale)
    found = mechanism.protect(PRIOR, sf.secrets.compound(indices)).channel.covariance()
    covariance = PRIOR.belief().covariance.dense()
    shifts = covariance[:, indices] @ np.linalg.inv(covariance[np.ix_(indices, indices)])
    spread = covariance - shifts @ covariance[indices]
    inverse, budget = np.linalg.pinv(shifts), 3.0 * rescale
    noise, level = cp.Variable((6, 6), PSD=True), cp.Variable()
    held = inverse @ (spread + noise) @ inverse.T - level * np.eye(len(indices))
    cp.Problem(cp.Maximize(level), [held >> 0, cp.trace(noise) <= budget]).solve(solver="CLARABEL")
    truth = np.asarray(noise.value) / rescale
    others = np.setdiff1d(np.arange(6), indices)
    assert found[np.ix_(others, others)] == pytest.approx(
        truth[np.ix_(others, others)], rel=1e-3, abs=1e-5
    )
    assert found[np.ix_(indices, indices)] == pytest.approx(
        np.eye(len(indices)) * np.mean(np.diagonal(truth)[indices]), rel=1e-3, abs=1e-5
    )


def test_algorithm_1_keeps_its_budget_and_is_no_better_than_the_optimum():
    everywhere = sf.secrets.every_point()
    release = sf.mechanisms.gaussian_multiple_secrets(mse=0.5).protect(PRIOR, everywhere)
    assert release.utility() == pytest.approx(0.5, rel=1e-9)
    renyi = sf.measures.renyi(order=2.0)
    best = sf.mechanisms.gaussian_optimal(mse=0.5).protect(PRIOR, everywhere)
    assert renyi.loss(PRIOR, everywhere, best).value < renyi.loss(PRIOR, everywhere, release).value
    # Each secret keeps at least what its own program gave it.
    single = sf.mechanisms.gaussian_sdp_a(mse=release.claims["mse_of_each_secret"])
    for index in range(6):
        secret = sf.secrets.basic(index)
        own = renyi.loss(PRIOR, secret, single.protect(PRIOR, secret)).value
        assert renyi.loss(PRIOR, secret, release).value <= own * (1 + 1e-5)


def test_no_noise_on_the_neighbours_gives_the_secret_away():
    prior, secret = sf.priors.rbf(length_scale=6.0, times=20), sf.secrets.basic(10)
    release = sf.mechanisms.gaussian_concentrated(mse=0.1).protect(prior, secret)
    loss = sf.measures.renyi(order=2.0).loss(prior, secret, release).value
    assert 1e12 < loss < math.inf


def test_the_bundled_study_can_be_read():
    from sfumato.comparison.study_files import bundled_study
    from sfumato.plugin_registry import Registry

    study = bundled_study("noise_by_length_scale", Registry.load(strict=True))
    assert [len(part.mechanisms) for part in study.parts] == [5, 6]


CALIBRATED = [
    "gaussian_uniform",
    "gaussian_concentrated",
    "gaussian_sdp_a",
    "gaussian_multiple_secrets",
    "gaussian_optimal",
]


@pytest.mark.parametrize("name", CALIBRATED)
@pytest.mark.parametrize("secret", [sf.secrets.basic(2), sf.secrets.compound([1, 2])], ids=str)
def test_budgets_beyond_float64_are_refused_in_one_sentence(name, secret):
    mechanism = getattr(sf.mechanisms, name)
    for mse in (5e-324, 1e-305, 1e308):
        with pytest.raises(
            sf.ParameterError, match=rf"^{name}\.mse must be such that .*; got .*\.$"
        ):
            mechanism(mse=mse).protect(PRIOR, secret)


@pytest.mark.parametrize("name", ["gaussian_sdp_a", "gaussian_multiple_secrets"])
@pytest.mark.parametrize("dimensions", [1, 2])
def test_the_papers_programs_take_budgets_of_any_size(name, dimensions):
    """As the budget vanishes beside the prior, its shape stays and the loss grows inversely."""
    prior = sf.priors.rbf(length_scale=2.0, times=4, dimensions=dimensions)
    secret, losses = sf.secrets.compound([1, 2]), []
    for mse in (1e-20, 1e-160, 1e-300):
        release = getattr(sf.mechanisms, name)(mse=mse).protect(prior, secret)
        losses.append(sf.measures.renyi(order=2.0).loss(prior, secret, release).value * mse)
    assert losses[1:] == pytest.approx(losses[:1] * 2, rel=1e-3)
    for mse in (1e20, 1e300):
        release = getattr(sf.mechanisms, name)(mse=mse).protect(prior, secret)
        assert release.utility() == pytest.approx(mse, rel=1e-6)


def test_a_rescaled_budget_may_leave_float64():
    secret = sf.secrets.compound([1, 2])
    for rescale in (1e-300, 1e300):
        mechanism = sf.mechanisms.gaussian_sdp_a(mse=1e-10, rescale=rescale)
        assert mechanism.protect(PRIOR, secret).utility() == pytest.approx(1e-10, rel=1e-6)
