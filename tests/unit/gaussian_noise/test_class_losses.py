"""Worst members of intervals, as a design looks for them: what a proof looks at first."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.matrices import Diagonal, LowRank, Sum
from sfumato_gaussian_noise.design import Members


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
def test_it_finds_what_a_search_by_members_finds(monkeypatch, prior, noise):
    secret = sf.secrets.basic(7) | sf.secrets.basic(12, radius=2.0)
    led = Members(prior, secret).losses(noise)
    monkeypatch.setattr(Members, "is_provable", False)
    searched = Members(prior, secret).losses(noise)
    assert led.how == searched.how == "searched"
    assert led.worst == pytest.approx(searched.worst, rel=1e-4)


def test_the_resonance_of_a_periodic_prior():
    prior = sf.priors.periodic(length_scale=1.0, period=sf.Interval(3.3, 11), times=50)
    found = Members(prior, sf.secrets.basic(24)).losses(even(0.1, 50))
    assert found.worst == pytest.approx(130.33, rel=1e-4)
    assert found.readings[0][0].prior.period == pytest.approx(4.0, abs=1e-3)


def test_what_is_listed_is_looked_at_whatever_the_search_meets():
    """A period next to 5, where two secret times are almost copies: no cell would find it."""
    prior = sf.priors.periodic(length_scale=1.0, period=sf.Interval(4.5, 5.5), times=10)
    members, near = Members(prior, sf.secrets.compound([2, 3, 7])), prior.member({"period": 5.001})
    loss = Members(near, members.secret).losses(even(0.1, 10)).worst
    members.enter(Members(near, members.secret).first)
    assert members.losses(even(0.1, 10)).worst >= loss


def test_a_class_in_which_secret_times_almost_become_copies_is_designed_for():
    prior = sf.priors.periodic(length_scale=1.0, period=sf.Interval(4.5, 5.5), times=10)
    secret = sf.secrets.compound([2, 3, 7])
    claims = sf.mechanisms.gaussian_optimal(mse=0.1).protect(prior, secret).claims
    assert claims["class_seen"] == "searched"
    assert claims["lower_bound"] <= claims["worst_loss"] * (1 + 1e-9)
