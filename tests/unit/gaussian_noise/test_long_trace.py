"""Designs on a window of a long grid, against the dense design and the exact measure."""

from __future__ import annotations

import pytest

import sfumato as sf
from sfumato.inference.gaussian import grid_information
from sfumato_gaussian_noise import optimal as design_routes

RENYI = sf.measures.renyi(order=2.0)


@pytest.fixture
def widths(monkeypatch):
    """Windows of 64 times and then more; the widths that were tried."""
    monkeypatch.setattr(grid_information, "WINDOW", 64)
    tried = []
    solved = grid_information.GridRegression._window  # to see which widths it is asked for

    def counted(self, inside, width):
        tried.append(width)
        return solved(self, inside, width)

    monkeypatch.setattr(grid_information.GridRegression, "_window", counted)
    return tried


def as_long(monkeypatch, prior, secret, mse):
    """Return the release of the route for long traces, and the claims of the dense one."""
    dense = sf.mechanisms.gaussian_optimal(mse=mse).protect(prior, secret).claims
    with monkeypatch.context() as patched:
        patched.setattr(design_routes, "LONG", 10)
        return sf.mechanisms.gaussian_optimal(mse=mse).protect(prior, secret), dense


@pytest.mark.parametrize("index", [0, 5, 100, 199])
def test_a_window_is_enough_where_the_correlation_fades(monkeypatch, widths, index):
    prior, secret = sf.priors.rbf(length_scale=2.0, times=200), sf.secrets.basic(index)
    release, dense = as_long(monkeypatch, prior, secret, mse=0.01)
    exact = RENYI.loss(prior, secret, release).value
    assert widths == [64]
    assert exact <= release.claims["worst_loss"] <= exact * (1 + 1e-6)
    assert release.claims["worst_loss"] == pytest.approx(dense["worst_loss"], rel=2e-6)
    assert release.claims["lower_bound"] == pytest.approx(dense["lower_bound"], rel=2e-6)


@pytest.mark.parametrize(
    "prior",
    [
        sf.priors.periodic(length_scale=1.0, period=7.0, times=200),
        sf.priors.matern(length_scale=60.0, nu=0.5, times=200),
    ],
)
def test_else_the_whole_trace_is_taken(monkeypatch, widths, prior):
    secret = sf.secrets.basic(100)
    release, dense = as_long(monkeypatch, prior, secret, mse=0.1)
    exact = RENYI.loss(prior, secret, release).value
    assert widths == [64, 200]
    assert exact <= release.claims["worst_loss"] * (1 + 1e-9)
    assert release.claims["worst_loss"] == pytest.approx(dense["worst_loss"], rel=1e-4)
    assert release.claims["lower_bound"] == pytest.approx(dense["lower_bound"], rel=1e-4)


def test_two_coordinates(monkeypatch, widths):
    prior = sf.priors.rbf(length_scale=2.0, times=150, dimensions=2)
    secret = sf.secrets.basic(70)
    release, dense = as_long(monkeypatch, prior, secret, mse=0.01)
    exact = RENYI.loss(prior, secret, release).value
    assert widths == [64]
    assert exact <= release.claims["worst_loss"] <= exact * (1 + 1e-5)
    assert release.claims["worst_loss"] == pytest.approx(dense["worst_loss"], rel=1e-5)
