"""The stationary law against exact rational elimination."""

from fractions import Fraction

import numpy as np
import pytest

from sfumato.errors import OutsideHypotheses, ParameterError
from sfumato_markov_chain.stationary import stationary_law


def exact_law(matrix):
    """Solve π P = π, Σ π = 1 by Gauss-Jordan elimination over the rationals."""
    n = len(matrix)
    rows = [[matrix[j][i] - (i == j) for j in range(n)] + [Fraction(0)] for i in range(n)]
    rows[-1] = [Fraction(1)] * (n + 1)
    for column in range(n):
        pivot = next(r for r in range(column, n) if rows[r][column] != 0)
        rows[column], rows[pivot] = rows[pivot], rows[column]
        rows[column] = [value / rows[column][column] for value in rows[column]]
        for r in range(n):
            if r != column and rows[r][column] != 0:
                factor = rows[r][column]
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[column], strict=True)]
    return [row[-1] for row in rows]


@pytest.mark.parametrize("seed", range(10))
def test_random_chains(seed):
    rng = np.random.default_rng(seed)
    weights = rng.integers(0, 6, (5, 5)) + np.roll(np.eye(5, dtype=int), 1, axis=1)
    matrix = [[Fraction(int(w), int(row.sum())) for w in row] for row in weights]
    law = stationary_law([[float(p) for p in row] for row in matrix])
    np.testing.assert_allclose(law, [float(p) for p in exact_law(matrix)], rtol=1e-13)


def test_relative_accuracy_of_a_nearly_decomposable_chain():
    tiny, other = Fraction(1, 2**60), Fraction(1, 2**40)
    matrix = [[1 - tiny, tiny, 0], [other, Fraction(1, 2) - other, Fraction(1, 2)], [0, 1, 0]]
    exact = [float(p) for p in exact_law([[Fraction(p) for p in row] for row in matrix])]
    law = stationary_law([[float(p) for p in row] for row in matrix])
    np.testing.assert_allclose(law, exact, rtol=1e-11)


def test_a_geometric_law_over_many_orders_of_magnitude():
    # Birth and death, up 1/1024 and down 1/2: π_k is proportional to 512^-k.
    n = 60
    matrix = np.diag(np.full(n - 1, 1 / 1024), 1) + np.diag(np.full(n - 1, 0.5), -1)
    matrix += np.diag(1 - matrix.sum(axis=1))
    law = stationary_law(matrix)
    np.testing.assert_allclose(law[1:] / law[:-1], 1 / 512, rtol=1e-12)
    np.testing.assert_allclose(stationary_law(matrix[::-1, ::-1]), law[::-1], rtol=1e-11)


def test_transient_states_get_exactly_zero_and_periodic_chains_are_fine():
    assert stationary_law([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]).tolist() == [
        0.0,
        0.5,
        0.5,
    ]
    assert stationary_law([[1.0]]).tolist() == [1.0]


def test_two_closed_classes_are_refused():
    with pytest.raises(OutsideHypotheses, match="not unique: states 0 and 2"):
        stationary_law([[1.0, 0.0, 0.0], [0.5, 0.0, 0.5], [0.0, 0.0, 1.0]])


@pytest.mark.parametrize("bad", [[[0.5, 0.4], [0.5, 0.5]], [[1.0, 0.0]], [0.5, 0.5], [[np.nan]]])
def test_bad_matrices(bad):
    with pytest.raises(ParameterError, match="transitions"):
        stationary_law(bad)


def test_a_chain_left_too_seldom_for_float64_is_refused_without_a_warning():
    with pytest.raises(OutsideHypotheses, match="cannot be told in float64"):
        stationary_law([[1.0, 5e-324], [5e-324, 1.0]])
