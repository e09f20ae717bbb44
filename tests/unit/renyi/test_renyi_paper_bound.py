"""Equation 5: its formula, its hypotheses, and how it relates to the exact loss."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf

N = 6


def equation_five(prior, noise, entries, *, order=2.0, radius=1.0):
    """The formula as it is printed."""
    rest = [i for i in range(len(prior)) if i not in entries]
    inner = np.linalg.inv(prior[np.ix_(entries, entries)])
    weights = prior[np.ix_(rest, entries)] @ inner
    conditional = prior[np.ix_(rest, rest)] - weights @ prior[np.ix_(entries, rest)]
    effective = weights.T @ np.linalg.solve(conditional + noise[np.ix_(rest, rest)], weights)
    alpha = np.linalg.eigvalsh(effective)[-1]
    return order / 2 * len(entries) * radius**2 * (1 / noise[entries[0], entries[0]] + alpha)


@settings(max_examples=40)
@given(
    st.lists(st.integers(0, N - 1), min_size=1, max_size=3, unique=True),
    st.floats(0.05, 5.0),
    st.floats(1.1, 9.0),
    st.floats(0.1, 3.0),
    st.integers(0, 2**32 - 1),
)
def test_the_printed_formula_within_its_hypotheses(indices, variance, order, radius, seed):
    factor = np.random.default_rng(seed).standard_normal((N, N))
    noise = factor @ factor.T + 0.1 * np.eye(N)
    noise[indices, :] = noise[:, indices] = 0.0
    noise[indices, indices] = variance
    prior, secret = (
        sf.priors.matern(length_scale=2.0, times=N),
        sf.secrets.compound(indices, radius),
    )
    release = sf.mechanisms.gaussian_given(covariance=noise).protect(prior, secret)
    found = sf.measures.renyi_paper_bound(order=order).loss(prior, secret, release)
    covariance = prior.belief().covariance.dense()
    expected = equation_five(covariance, noise, indices, order=order, radius=radius)
    assert found.value == pytest.approx(expected, rel=1e-7)
    exact = sf.measures.renyi(order=order).loss(prior, secret, release).value
    assert exact <= found.value * (1 + 1e-9)
    if len(indices) == 1:
        assert exact == pytest.approx(found.value, rel=1e-7)


def test_several_coordinates_count_as_one_time():
    prior = sf.priors.rbf(length_scale=2.0, times=4, dimensions=2)
    secret = sf.secrets.basic(1)
    release = sf.mechanisms.gaussian_uniform(mse=0.3).protect(prior, secret)
    found = sf.measures.renyi_paper_bound().loss(prior, secret, release)
    exact = sf.measures.renyi().loss(prior, secret, release)
    assert found.value == pytest.approx(exact.value, rel=1e-9)


PRIOR = sf.priors.rbf(length_scale=2.0, times=4)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ([(1, 2, 0.1)], "correlated noise"),
        ([(1, 1, 0.5)], "one variance"),
        ([(1, 3, 0.1)], "independent of the rest"),
    ],
)
def test_noise_outside_the_hypotheses_is_refused_with_the_reason(change, words):
    noise = np.eye(4)
    for i, j, value in change:
        noise[i, j] += value
        noise[j, i] = noise[i, j]
    secret = sf.secrets.compound([1, 2])
    release = sf.mechanisms.gaussian_given(covariance=noise).protect(PRIOR, secret)
    with pytest.raises(sf.OutsideHypotheses, match=words):
        sf.measures.renyi_paper_bound().loss(PRIOR, secret, release)
    assert sf.measures.renyi().loss(PRIOR, secret, release).bound == "exact"


def test_outside_its_hypotheses_the_formula_would_lie():
    """Why it refuses: on correlated noise the printed formula falls below the exact loss."""
    rng = np.random.default_rng(0)
    secret, below = sf.secrets.basic(1), 0
    covariance = PRIOR.belief().covariance.dense()
    for _ in range(50):
        factor = rng.standard_normal((4, 4))
        noise = factor @ factor.T + 0.01 * np.eye(4)
        release = sf.mechanisms.gaussian_given(covariance=noise).protect(PRIOR, secret)
        exact = sf.measures.renyi(order=2.0).loss(PRIOR, secret, release).value
        below += equation_five(covariance, noise, [1]) < exact
    assert below > 25


def test_a_silent_secret_is_infinite():
    secret = sf.secrets.basic(1)
    silent = sf.mechanisms.gaussian_given(covariance=np.diag([1.0, 0.0, 1.0, 1.0]))
    release = silent.protect(PRIOR, secret)
    assert sf.measures.renyi_paper_bound().loss(PRIOR, secret, release).value == math.inf
