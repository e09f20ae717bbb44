"""The small space holds what tells the secret, and designs in it are as good as any."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato_gaussian_noise import member_exchange
from sfumato_gaussian_noise.design import block_of
from sfumato_gaussian_noise.member_exchange import ReadingSpace

MANY_TIMES = sf.secrets.basic(10) | sf.secrets.basic(24) | sf.secrets.basic(40, radius=2.0)


def blocks_of(lengths, entries, n):
    beliefs = [sf.priors.rbf(length_scale=l, times=n).belief() for l in lengths]
    group = tuple((entry,) for entry in entries)
    return [block_of(belief, group, 1.0) for belief in beliefs]


def test_the_worst_readings_under_any_noise_that_was_learnt_lie_in_it():
    rng, n, floor = np.random.default_rng(3), 80, 1e-4
    blocks = blocks_of([2.0, 5.0], [30, 33], n)
    times = np.arange(n)[:, None]
    factor = np.exp(-0.5 * ((times - np.array([[30.0, 45.0]])) / 6.0) ** 2)
    space = ReadingSpace(budget=1.0, floor=floor * n)
    small = space.basis(blocks)
    space.learn(factor)
    basis = space.basis(blocks)
    assert np.allclose(basis.T @ basis, np.eye(basis.shape[1]))
    assert basis.shape[1] < n
    for _ in range(5):
        mixed = factor @ rng.normal(size=(2, 2))
        for block in blocks:
            total = block.spread + mixed @ mixed.T + floor * np.eye(n)
            readings = np.linalg.solve(total, block.shifts)
            gained = np.trace(block.shifts.T @ readings)

            def lost(inside, total=total, block=block, gained=gained):
                """The share of the loss that readings of the space alone do not see."""
                moved = inside.T @ block.shifts
                seen = np.linalg.solve(inside.T @ total @ inside, moved)
                return 1 - np.trace(moved.T @ seen) / gained

            assert lost(basis) < 1e-6 < lost(small)


@pytest.mark.parametrize(
    ("prior", "secret", "options"),
    [
        (sf.priors.rbf(length_scale=3.0, times=50), sf.secrets.compound([20, 24, 25, 30]), {}),
        (sf.priors.rbf(length_scale=6.0, times=50), MANY_TIMES, {}),
        (
            sf.priors.rbf(length_scale=sf.AnyOf(1.0, 2.0, 3.0, 6.0, 9.0, 12.0), times=50),
            sf.secrets.basic(24),
            {},
        ),
        (
            sf.priors.matern(length_scale=3.0, times=40),
            sf.secrets.basic(15) | sf.secrets.basic(22),
            {"independent_secret_noise": True},
        ),
    ],
)
def test_the_small_space_loses_nothing(monkeypatch, prior, secret, options):
    mechanism = sf.mechanisms.gaussian_optimal(mse=0.02, **options)
    whole = mechanism.protect(prior, secret).claims
    monkeypatch.setattr(member_exchange, "WHOLE_SPACE", 10)
    monkeypatch.setattr(member_exchange, "LARGEST_PROGRAM", 10)
    found = mechanism.protect(prior, secret)
    assert found.claims["route"].startswith("dual program")
    assert found.claims["worst_loss"] == pytest.approx(whole["worst_loss"], rel=1e-4)
    assert found.claims["lower_bound"] == pytest.approx(whole["lower_bound"], rel=1e-4)
    exact = sf.measures.renyi(order=2.0).loss(prior, secret, found).value
    assert found.claims["lower_bound"] <= exact <= found.claims["worst_loss"] * (1 + 1e-9)


def test_several_priors_on_hundreds_of_times():
    prior = sf.priors.rbf(length_scale=sf.AnyOf(1.0, 12.0), times=420)
    secret = sf.secrets.basic(210)
    release = sf.mechanisms.gaussian_optimal(mse=1 / 420).protect(prior, secret)
    assert release.claims["relative_gap"] <= 1e-4
    exact = sf.measures.renyi(order=2.0).loss(prior, secret, release).value
    assert release.claims["lower_bound"] <= exact <= release.claims["worst_loss"] * (1 + 1e-9)
