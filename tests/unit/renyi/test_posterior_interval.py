"""Posterior intervals against high precision, and never too wide."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

import sfumato as sf
from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.inference import exact as ball_arithmetic
from sfumato.inference.gaussian.worst_pair import worst_squares
from sfumato.matrices import Dense, Diagonal
from sfumato.questions import Displacements


def true_width(length, mse, entries, n):
    """2 √λ_min(V_SS), V = Σ − Σ K⁻¹ Σ, in 150 digits."""
    with mpmath.workdps(150):
        l, noise = mpmath.mpf(length), mpmath.mpf(mse)
        prior = mpmath.matrix(n, n)
        for i in range(n):
            for j in range(n):
                prior[i, j] = mpmath.exp(-mpmath.mpf((i - j) ** 2) / (2 * l**2))
        posterior = prior - prior * (prior + noise * mpmath.eye(n)) ** -1 * prior
        block = mpmath.matrix([[posterior[i, j] for j in entries] for i in entries])
        return float(2 * mpmath.sqrt(min(mpmath.eigsy(block, eigvals_only=True))))


@pytest.mark.parametrize("length", [1.0, 6.0, 30.0])
@pytest.mark.parametrize("entries", [[7], [7, 8], [2, 7, 8, 11]], ids=str)
def test_widths_in_many_digits(length, entries):
    prior, secret = sf.priors.rbf(length_scale=length, times=14), sf.secrets.compound(entries)
    release = sf.mechanisms.gaussian_uniform(mse=0.02).protect(prior, secret)
    found = sf.measures.posterior_interval().loss(prior, secret, release)
    assert found.bound == "exact"
    assert found.value == pytest.approx(true_width(length, 0.02, entries, 14), rel=1e-6)


def test_neighbours_that_float64_cannot_tell_apart():
    """At l = 1e5 the covariance of neighbours is singular in float64: V has λ_min near 5e-11."""
    prior, secret = sf.priors.rbf(length_scale=1e5, times=4), sf.secrets.compound([1, 2])
    release = sf.mechanisms.gaussian_uniform(mse=0.02).protect(prior, secret)
    found = sf.measures.posterior_interval().loss(prior, secret, release)
    assert found.value == pytest.approx(true_width(1e5, 0.02, [1, 2], 4), rel=1e-6)


def test_without_balls_an_unknown_width_is_refused_not_guessed(monkeypatch):
    monkeypatch.setattr(ball_arithmetic, "MOST_IN_BALLS", 0)
    prior, secret = sf.priors.rbf(length_scale=1e8, times=4), sf.secrets.compound([1, 2])
    release = sf.mechanisms.gaussian_uniform(mse=0.02).protect(prior, secret)
    with pytest.raises(sf.Undecidable):
        sf.measures.posterior_interval().loss(prior, secret, release)


def test_a_blurred_prior_gives_a_lower_bound():
    """Stored numbers that may be off by 1e-7 leave λ_min uncertain; the width is a lower end."""
    close = 1 - 1e-5
    covariance = Dense(np.array([[1.0, close], [close, 1.0]]))
    channel = AdditiveGaussian(Diagonal([10.0, 10.0]))
    question = Displacements((((0,), (1,)),), radii=1.0)
    found = sf.measures.posterior_interval().evaluate(
        Gaussian(covariance, definite=True, rounding=1e-7), question, channel
    )
    assert found.bound == "lower"
    for blur in (-1e-7, 1e-7):
        shifted = np.array([[1.0, close + blur], [close + blur, 1.0]])
        posterior = np.linalg.inv(np.linalg.inv(shifted) + np.eye(2) / 10)
        assert found.value <= 2 * math.sqrt(np.linalg.eigvalsh(posterior)[0])


def test_every_point_takes_the_mean():
    prior = sf.priors.rbf(length_scale=2.0, times=8)
    release = sf.mechanisms.gaussian_uniform(mse=0.1).protect(prior, sf.secrets.every_point())
    measure = sf.measures.posterior_interval()
    each = [measure.loss(prior, sf.secrets.basic(index), release).value for index in range(8)]
    found = measure.loss(prior, sf.secrets.every_point(), release)
    assert found.value == pytest.approx(np.mean(each), rel=1e-12)


def test_certainty_has_no_width():
    measure = sf.measures.posterior_interval()
    prior = sf.priors.rbf(length_scale=2.0, times=2)
    silent = sf.mechanisms.gaussian_given(covariance=np.diag([0.0, 1.0]))
    release = silent.protect(prior, sf.secrets.basic(0))
    assert measure.loss(prior, sf.secrets.basic(0), release).value == 0.0
    daily = sf.priors.periodic(length_scale=1.0, period=2.0, times=4)
    release = sf.mechanisms.gaussian_uniform(mse=1.0).protect(daily, sf.secrets.compound([0, 2]))
    assert measure.loss(daily, sf.secrets.compound([0, 2]), release).value == 0.0


@pytest.mark.parametrize("unit", [1e-150, 1e-12, 1e12, 1e140])
def test_widths_scale_with_the_units(unit):
    secret = sf.secrets.compound([1, 2])
    one, other = (sf.priors.rbf(length_scale=2.0, times=4, variance=v) for v in (1.0, unit**2))
    measure = sf.measures.posterior_interval()
    here = sf.mechanisms.gaussian_uniform(mse=0.1).protect(one, secret)
    there = sf.mechanisms.gaussian_uniform(mse=0.1 * unit**2).protect(other, secret)
    expected = unit * measure.loss(one, secret, here).value
    assert measure.loss(other, secret, there).value == pytest.approx(expected, rel=1e-9)


def test_all_measures_of_a_release_share_what_it_tells(monkeypatch):
    prior, secret = sf.priors.rbf(length_scale=2.0, times=8), sf.secrets.compound([2, 5])
    release = sf.mechanisms.gaussian_uniform(mse=0.3).protect(prior, secret)
    at, asked = release.situation(prior, secret), []

    def counted(*source):
        asked.append(source)
        return worst_squares(*source)

    monkeypatch.setattr("sfumato.views.gaussian.worst_squares", counted)
    for name in ("renyi", "renyi_paper_bound", "posterior_interval", "advantage", "bayes_success"):
        getattr(sf.measures, name)().evaluate(at.belief, at.question, at.channel)
    assert len(asked) == 1


def test_the_mean_over_every_point_is_proved_over_an_interval():
    times, ends = 5, (1.0, 3.0)
    prior = sf.priors.rbf(length_scale=sf.Interval(*ends), times=times)
    secret = sf.secrets.every_point()
    release = sf.mechanisms.gaussian_uniform(mse=0.3).protect(prior, secret)
    found = sf.measures.posterior_interval().loss(prior, secret, release)
    means = [
        np.mean([true_width(length, 0.3, [entry], times) for entry in range(times)])
        for length in np.linspace(*ends, 9)
    ]
    low, high = found.interval
    assert (found.bound, "proved" in found.how) == ("lower", True)
    assert low <= min(means) <= low * (1 + 2e-3)
    assert high <= max(means) * (1 + 1e-9)
