"""Divergences of conditional Gaussians: many digits, quadrature, and when they are infinite."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from flint import arb_mat
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.beliefs import Gaussian
from sfumato.inference.exact import is_positive_definite, pivots
from sfumato.matrices import Dense, Diagonal
from sfumato_renyi.misspecification import conditional_divergence


def rbf(length, n=50):
    return sf.priors.rbf(length_scale=length, times=n).belief()


def scalar(variance):
    return Gaussian(Diagonal([variance]), definite=True, rounding=0.0)


@settings(max_examples=10, deadline=None)
@given(st.floats(0.2, 5), st.floats(0.2, 5), st.floats(1.05, 6))
def test_one_entry_by_quadrature(one, other, order):
    found = conditional_divergence(scalar(one), scalar(other), [], order)
    mixed = order * other + (1 - order) * one
    assert found.infinite == (mixed <= 0)
    if not found.infinite and mixed > 0.05:
        with mpmath.workdps(25):
            p, q, a = mpmath.mpf(one), mpmath.mpf(other), mpmath.mpf(order)

            def integrand(x):
                return mpmath.npdf(x, 0, mpmath.sqrt(p)) ** a * mpmath.npdf(
                    x, 0, mpmath.sqrt(q)
                ) ** (1 - a)

            reach = 60 * max(1.0, math.sqrt(one * other / mixed))
            points = [0, reach / 64, reach / 16, reach / 4, reach]
            value = mpmath.log(2 * mpmath.quad(integrand, points)) / (a - 1)
        assert found.constant == pytest.approx(float(value), rel=1e-6, abs=1e-9)


def test_at_order_four_a_little_is_finite_and_more_is_not():
    assert not conditional_divergence(rbf(6.0), rbf(6.01), [], 4.0).infinite
    assert conditional_divergence(rbf(6.0), rbf(6.1), [], 4.0).infinite
    assert not conditional_divergence(rbf(6.1), rbf(6.0), [], 4.0).infinite


def test_given_a_secret_in_many_digits():
    n, order, chosen = 6, 3.0, 2
    with mpmath.workdps(80):

        def parts(length):
            entries = mpmath.matrix(n, n)
            for i in range(n):
                for j in range(n):
                    entries[i, j] = mpmath.exp(-mpmath.mpf((i - j) ** 2) / (2 * length**2))
            rest = [i for i in range(n) if i != chosen]
            weights = mpmath.matrix([entries[i, chosen] for i in rest])
            own = mpmath.matrix([[entries[i, j] for j in rest] for i in rest])
            return weights, own - weights * weights.T

        (weights, own), (others, other) = (parts(mpmath.mpf(l)) for l in (1.5, 1.5078125))
        mixed = order * other + (1 - order) * own
        apart = weights - others
        quadratic = (apart.T * mixed**-1 * apart)[0]
        logs = [mpmath.log(mpmath.det(m)) for m in (mixed, own, other)]
        constant = -(logs[0] - (1 - order) * logs[1] - order * logs[2]) / (2 * (order - 1))
    found = conditional_divergence(rbf(1.5, n), rbf(1.5078125, n), [chosen], order)
    assert found.constant == pytest.approx(float(constant), rel=1e-9)
    assert found.quadratic[0, 0] == pytest.approx(float(quadratic), rel=1e-9)
    assert found.constant >= float(constant) * (1 - 1e-15)
    assert found.quadratic[0, 0] >= float(quadratic) * (1 - 1e-15)


def test_equal_beliefs_have_none():
    found = conditional_divergence(rbf(6.0), rbf(6.0), [3], 2.0)
    assert (found.constant, found.infinite) == (0.0, False)


def test_what_cannot_be_decided_is_refused():
    blurred = Gaussian(Dense(np.eye(2)))
    with pytest.raises(sf.Undecidable, match="ball arithmetic"):
        conditional_divergence(blurred, Gaussian(Dense(2 * np.eye(2))), [], 2.0)
    daily = sf.priors.periodic(length_scale=1.0, period=2.0, times=4).belief()
    nightly = sf.priors.periodic(length_scale=1.5, period=2.0, times=4).belief()
    with pytest.raises(sf.Undecidable, match="4096 bits"):
        conditional_divergence(daily, nightly, [], 2.0)


@pytest.mark.parametrize("order", [1.0, 0.5, math.inf, math.nan])
def test_bad_orders(order):
    with pytest.raises(sf.ParameterError, match="above 1"):
        conditional_divergence(scalar(1.0), scalar(2.0), [], order)


def test_shapes_must_agree():
    with pytest.raises(sf.Incompatible, match="one trace"):
        conditional_divergence(rbf(1.0, 2), rbf(1.0, 3), [], 2.0)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 24), st.integers(0, 2**32 - 1), st.floats(-0.5, 0.5))
def test_definiteness_of_integer_matrices(size, seed, shift):
    """Exact integers: the decision and the determinant have no excuse."""
    factor = np.random.default_rng(seed).integers(-3, 4, (size, size))
    entries = (factor @ factor.T + int(8 * shift) * np.eye(size, dtype=int)).tolist()
    smallest = np.linalg.eigvalsh(np.array(entries, dtype=float))[0]
    decided = is_positive_definite(arb_mat(entries))
    if abs(smallest) > 1e-6:
        assert decided is bool(smallest > 0)
    if decided:
        product = math.prod(float(pivot) for pivot in pivots(arb_mat(entries)))
        sign, logarithm = np.linalg.slogdet(np.array(entries, dtype=float))
        assert math.log(product) == pytest.approx(logarithm, abs=1e-6)
        assert sign == 1
