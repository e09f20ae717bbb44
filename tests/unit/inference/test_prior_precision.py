"""Inverses of prior blocks against rational numbers and many digits."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.beliefs import Gaussian
from sfumato.inference.gaussian.posterior import prior_precision
from sfumato.matrices import Dense, Diagonal


@settings(max_examples=50)
@given(
    st.floats(-0.999999, 0.999999),
    st.floats(1e-3, 1e3),
    st.floats(1e-3, 1e3),
    st.floats(0, 1e-9),
)
def test_two_entries_within_the_certified_error(correlation, one, other, blur):
    cross = correlation * math.sqrt(one * other)
    belief = Gaussian(Dense([[one, cross], [cross, other]]), definite=True, rounding=blur)
    found, error = prior_precision(belief, [0, 1])
    if math.isinf(error):
        assert 1 - correlation**2 < 1e-4
        return
    for side in (-1, 0, 1):  # any matrix within the blur is a possible truth
        c = Fraction(cross) + side * Fraction(blur) * Fraction(math.sqrt(one * other)) * Fraction(
            99, 100
        )
        determinant = Fraction(one) * Fraction(other) - c * c
        true = np.array(
            [
                [float(Fraction(other) / determinant), float(-c / determinant)],
                [float(-c / determinant), float(Fraction(one) / determinant)],
            ]
        )
        norm = np.linalg.norm(found, 2)
        assert np.linalg.norm(found - true, 2) <= (error + 1e-14) * norm


def test_balls_take_over_where_float64_cannot_invert():
    belief = sf.priors.rbf(length_scale=1e7, times=3).belief()
    found, error = prior_precision(belief, [0, 1])
    with mpmath.workdps(60):
        correlation = mpmath.exp(-1 / (2 * mpmath.mpf(1e7) ** 2))
        expected = float(1 / (1 - correlation**2))
    assert error <= 1e-9
    assert found[0, 0] == pytest.approx(expected, rel=1e-9)


def test_a_constant_has_no_precision():
    assert math.isinf(prior_precision(Gaussian(Diagonal([1.0, 0.0])), [0, 1])[1])
    assert math.isinf(prior_precision(Gaussian(Dense(np.ones((2, 2)))), [0, 1])[1])
