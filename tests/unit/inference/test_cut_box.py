"""Corners of cut boxes against qhull, and what is too large or unsure to list."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import HalfspaceIntersection

from sfumato.inference.gaussian.worst_pair import cut_box_corners, worst_pair


def qhull_corners(basis):
    """Return the corners of {δ : |T δ| ≤ 1} as qhull finds them, as Δ."""
    ones = -np.ones((len(basis), 1))
    halves = np.vstack([np.hstack([basis, ones]), np.hstack([-basis, ones])])
    return HalfspaceIntersection(halves, np.zeros(basis.shape[1])).intersections @ basis.T


@pytest.mark.parametrize(("size", "rank"), [(3, 2), (5, 2), (5, 3), (6, 4), (8, 3)])
@pytest.mark.parametrize("seed", range(4))
def test_the_largest_value_is_that_of_all_corners(size, rank, seed):
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.integers(-3, 4, (size, rank)) + 0.1 * np.eye(size, rank))[0]
    inner = rng.standard_normal((rank, rank))
    matrix = basis @ inner @ inner.T @ basis.T
    values = [each @ matrix @ each for each in qhull_corners(basis)]
    found = worst_pair(matrix, [(i,) for i in range(size)], 2.0, support=basis)
    assert found.bound == "exact"
    assert found.value == pytest.approx(4 * max(values), rel=1e-8)
    assert found.witness @ matrix @ found.witness == pytest.approx(found.value)


def test_too_many_corners_are_not_listed():
    basis = np.linalg.qr(np.random.default_rng(0).standard_normal((20, 10)))[0]
    assert cut_box_corners(basis) is None
    found = worst_pair(basis @ basis.T, [(i,) for i in range(20)], 1.0, support=basis)
    assert found.bound == "upper"


def test_rows_that_are_nearly_dependent_leave_it_unsure():
    basis = np.linalg.qr(np.array([[1.0, 0.0], [1.0, 1e-9], [0.0, 1.0], [1.0, 1.0]]))[0]
    assert cut_box_corners(basis) is None
