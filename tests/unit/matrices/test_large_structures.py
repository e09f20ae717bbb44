"""Long traces: memory that grows like n, and draws that are what they claim."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from sfumato.errors import OutsideHypotheses
from sfumato.inference.exact import Rationals
from sfumato.matrices import Diagonal, LowRank, Sum, Toeplitz
from sfumato.matrices.structured import SMALL


def test_a_million_points_need_linear_memory():
    n = 1_000_000
    bump = np.exp(-0.5 * ((np.arange(n) - n / 2) / 100) ** 2)
    matrix = Sum((LowRank(bump), Diagonal.constant(1e-6, n)))
    rng = np.random.default_rng(0)
    tracemalloc.start()
    draw = matrix.sample(rng)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert draw.shape == (n,)
    assert peak < 8 * n * 8


def test_fast_products_agree_with_sums():
    n = 3_000
    column = np.exp(-0.5 * (np.arange(n) / 7.0) ** 2)
    matrix = Toeplitz(column)
    x = np.random.default_rng(0).standard_normal(n)
    for i in (0, 1, 1_500, n - 1):
        expected = np.sum(column[np.abs(i - np.arange(n))] * x)
        assert matrix.apply(x)[i] == pytest.approx(expected, rel=1e-12, abs=1e-12)


class _Unit:
    """A stand-in for a generator: its 'normals' are one unit vector after the other."""

    def __init__(self):
        self.position = 0

    def standard_normal(self, size):
        vector = np.zeros(size)
        vector[self.position] = 1.0
        self.position += 1
        return vector


def test_the_circulant_draw_has_the_claimed_covariance(monkeypatch):
    # A draw is linear in the normals: its action on unit vectors is its factor.
    column = np.exp(-0.5 * (np.arange(12) / 1.5) ** 2)
    matrix = Toeplitz(column)
    spectrum = matrix._spectrum
    assert spectrum.min() > 0
    monkeypatch.setattr("sfumato.matrices.structured.SMALL", 0)
    factor = matrix._draw(_Unit(), spectrum.size).T
    np.testing.assert_allclose(factor @ factor.T, matrix.dense(), rtol=0, atol=1e-14)


def test_large_draws_have_the_claimed_variance():
    column = np.exp(-0.5 * (np.arange(SMALL + 1) / 3.0) ** 2)
    draws = Toeplitz(column).sample(np.random.default_rng(0), 200)
    lag = np.mean(draws[:, :-3] * draws[:, 3:])
    assert np.mean(draws**2) == pytest.approx(1.0, abs=0.05)
    assert lag == pytest.approx(np.exp(-0.5), abs=0.05)
    assert Toeplitz(column).sample(np.random.default_rng(0)).shape == (SMALL + 1,)


def test_an_indefinite_circulant_matrix_is_refused():
    # Semidefinite itself, but no ring of 2n − 2 points carries a period that does not divide it.
    column = np.cos(2 * np.pi * np.arange(SMALL + 2) / 7.3)
    with pytest.raises(OutsideHypotheses, match="circulant"):
        Toeplitz(column).sample(np.random.default_rng(0))


def test_the_circulant_matrix_bounds_the_smallest_eigenvalue():
    column = 0.5 ** np.arange(SMALL + 1)
    matrix = Toeplitz(column)
    assert 1 / 3 * 0.999 < matrix.smallest_eigenvalue() <= np.linalg.eigvalsh(matrix.dense())[0]


def test_exact_arithmetic_on_a_large_draw_is_refused():
    matrix = Toeplitz(0.5 ** np.arange(SMALL + 1))
    assert matrix.formula(Rationals(), [0, 1])[0, 1] * 2 == 1
    with pytest.raises(OutsideHypotheses, match="at most 1000 rows"):
        matrix.formula(Rationals(), [0, 1], sampled=True)
