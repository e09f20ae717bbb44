"""Worst members of intervals: rough values only lead the way."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.matrices import Diagonal, LowRank, Sum
from sfumato_gaussian_noise import design
from sfumato_gaussian_noise.design import Members, rough_losses


def even(variance, n):
    return Diagonal.constant(variance, n)


BUMP = np.exp(-0.5 * ((np.arange(50) - 24) / 8.0) ** 2)
SHARED = Sum((LowRank(BUMP[:, None] / np.linalg.norm(BUMP)), even(1e-4, 50)))


@pytest.mark.parametrize(
    ("prior", "noise"),
    [
        (sf.priors.rbf(length_scale=sf.Interval(1, 12), times=50), SHARED),
        (sf.priors.rbf(length_scale=sf.Interval(3, 12), times=50), even(0.02, 50)),
        # A resonance at 4 that a coarse grid would miss.
        (sf.priors.periodic(length_scale=1, period=sf.Interval(3.3, 11), times=20), even(0.1, 20)),
    ],
)
def test_it_finds_what_the_ordinary_search_finds(monkeypatch, prior, noise):
    secret = sf.secrets.basic(7) | sf.secrets.basic(12, radius=2.0)
    led = Members(prior, secret).losses(noise)
    monkeypatch.setattr(design, "LARGEST_GLANCE", 0)
    searched = Members(prior, secret).losses(noise)
    assert led.how == searched.how == "searched"
    assert led.worst == pytest.approx(searched.worst, rel=1e-5)


def test_the_resonance_of_a_periodic_prior():
    prior = sf.priors.periodic(length_scale=1.0, period=sf.Interval(3.3, 11), times=50)
    found = Members(prior, sf.secrets.basic(24)).losses(even(0.1, 50))
    assert found.worst == pytest.approx(130.33, rel=1e-4)
    assert found.readings[0][0].prior.period == pytest.approx(4.0, abs=1e-3)


def test_rough_losses_are_close_to_the_certified_ones():
    lengths = (1.0, 3.0, 7.0)
    members = [sf.priors.rbf(length_scale=l, times=50) for l in lengths]
    stack = np.array([member.belief().covariance.dense() for member in members])
    rough = rough_losses(stack, SHARED.dense(), np.array([24, 30]), np.array([1.0, 2.0]))
    secret = sf.secrets.basic(24) | sf.secrets.basic(30, radius=2.0)
    exact = [Members(member, secret).losses(SHARED).worst for member in members]
    np.testing.assert_allclose(rough, exact, rtol=1e-4)


def test_no_rough_losses_of_a_singular_sum():
    ones = np.ones((1, 2, 2))
    assert rough_losses(ones, np.zeros((2, 2)), np.array([0]), np.ones(1)) is None
