"""Long traces on a grid are read without a dense matrix, and with a certified error."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.channels import AdditiveGaussian
from sfumato.errors import OutsideHypotheses, Undecidable
from sfumato.inference.gaussian import fisher_information as module
from sfumato.inference.gaussian import grid_information
from sfumato.inference.gaussian.fisher_information import fisher_information
from sfumato.matrices import Diagonal, LowRank, Sum

RENYI = sf.measures.renyi(order=2.0)


@pytest.fixture
def long(monkeypatch):
    """Traces of a few hundred entries count as long, and windows are narrow."""
    monkeypatch.setattr(module, "MAX_DENSE", 10)
    monkeypatch.setattr(grid_information, "WINDOW", 64)


def gain_in_precision(belief, noise, entries):
    """V_SS⁻¹ − Σ_SS⁻¹ from dense matrices that are well conditioned."""
    prior = belief.covariance.dense()
    columns = prior[:, entries]
    left = prior[np.ix_(entries, entries)] - columns.T @ np.linalg.solve(prior + noise, columns)
    return np.linalg.inv(left) - np.linalg.inv(prior[np.ix_(entries, entries)])


@pytest.mark.parametrize(
    "prior",
    [
        sf.priors.rbf(length_scale=3.0, times=300),
        sf.priors.matern(length_scale=40.0, nu=0.5, times=300),
        sf.priors.rbf(length_scale=3.0, times=150, dimensions=2),
    ],
    ids=["rbf", "a window is not enough", "plane"],
)
@pytest.mark.parametrize("time", [0, 70, 149])
def test_independent_noise(long, prior, time):
    belief = prior.belief()
    entries = list(belief.entries_at(time))
    channel = AdditiveGaussian(
        Diagonal.constant(0.05, belief.entries), dimensions=belief.dimensions
    )
    found = fisher_information(belief, channel, entries)
    truth = gain_in_precision(belief, 0.05 * np.eye(belief.entries), entries)
    assert found.bound == "exact"
    error = np.linalg.norm(found.matrix - truth, 2)
    assert error <= found.relative_error * np.diag(truth).min() + 1e-11 * np.linalg.norm(truth, 2)


@pytest.mark.parametrize("dimensions", [None, 2])
def test_the_best_noise(long, monkeypatch, dimensions):
    prior = sf.priors.rbf(length_scale=3.0, times=120, dimensions=dimensions)
    secret = sf.secrets.basic(50)
    release = sf.mechanisms.gaussian_optimal(mse=0.01).protect(prior, secret)
    read = RENYI.loss(prior, secret, release)
    monkeypatch.undo()
    dense = RENYI.loss(prior, secret, release)
    assert read.bound == dense.bound == "exact"
    assert read.value == pytest.approx(dense.value, rel=read.relative_error + 1e-9)


def test_other_shared_noise_is_undecided_rather_than_wrong(long):
    """Its readings are not those of a ridge: nothing is claimed that is not proved."""
    belief = sf.priors.rbf(length_scale=3.0, times=500).belief()  # too long for exact arithmetic
    bump = np.exp(-0.5 * ((np.arange(500) - 20) / 9.0) ** 2)
    noise = Sum((LowRank(bump), Diagonal.constant(1e-9, 500)))
    with pytest.raises(Undecidable, match="cannot tell this loss"):
        fisher_information(belief, AdditiveGaussian(noise), [70])


@pytest.mark.parametrize("n", [100_000, 1_000_000])
def test_a_design_is_read_at_any_length(n):
    prior, secret = sf.priors.rbf(length_scale=6.0, times=n), sf.secrets.basic(n // 2)
    release = sf.mechanisms.gaussian_optimal(mse=1 / n).protect(prior, secret)
    loss = RENYI.loss(prior, secret, release)
    assert loss.bound == "exact"
    assert loss.value == pytest.approx(7.608868, rel=1e-6)
    assert release.claims["lower_bound"] <= loss.ceiling <= release.claims["worst_loss"] * 1.00001


@pytest.mark.parametrize("n", [20_000, 100_000])
def test_a_trace_that_repeats_itself_is_read_at_any_length(n):
    """Of five values each is seen n/5 times: as once, with n/5 times less noise."""
    prior, secret = sf.priors.periodic(length_scale=1.0, period=5.0, times=n), sf.secrets.basic(7)
    channel = AdditiveGaussian(Diagonal.constant(n / 10, n))
    found = fisher_information(prior.belief(), channel, [7])
    once = sf.priors.periodic(length_scale=1.0, period=5.0, times=5).belief()
    truth = gain_in_precision(once, 0.5 * np.eye(5), [2])
    assert found.matrix == pytest.approx(truth, rel=found.relative_error + 1e-10)
    assert found.bound == "exact"
    release = sf.mechanisms.gaussian_optimal(mse=1 / n).protect(prior, secret)
    loss = RENYI.loss(prior, secret, release)
    assert release.claims["lower_bound"] <= loss.ceiling <= release.claims["worst_loss"] * 1.00001


def test_copies_without_noise_of_a_long_trace_are_not_overlooked():
    prior = sf.priors.periodic(length_scale=1.0, period=5.0, times=20_000)
    variances = np.full(20_000, 0.1)
    variances[12] = 0.0
    with pytest.raises(OutsideHypotheses, match="entries without noise"):
        fisher_information(prior.belief(), AdditiveGaussian(Diagonal(variances)), [7])


@pytest.mark.parametrize(
    ("prior", "secret"),
    [
        (sf.priors.rbf, sf.secrets.compound([5, 9])),
        (sf.priors.rbf, sf.secrets.every_point()),
    ],
    ids=["compound", "every point"],
)
def test_what_needs_a_dense_matrix_is_refused_in_a_sentence(prior, secret):
    belief = prior(length_scale=1.0, times=100_000).belief()
    channel = AdditiveGaussian(Diagonal.constant(0.1, 100_000))
    with pytest.raises(OutsideHypotheses, match="a shorter trace"):
        RENYI.evaluate(belief, secret.question(belief), channel)
