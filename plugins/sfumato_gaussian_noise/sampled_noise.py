"""From a solution to noise that can be sampled as it is claimed."""

from __future__ import annotations

import math

import numpy as np

from sfumato.matrices import Diagonal, LowRank, Matrix, Sum
from sfumato_gaussian_noise.closed_forms import Solution


def sampled_noise(solution: Solution, budget: float, floor: float) -> Matrix:
    """Return (1 − κ)(L Lᵀ + extra) + κ (B/n) I: the solution with a floor inside its budget.

    Low-rank noise stored in float64 is not the noise of the formula: a smooth prior knows that a
    wiggle of 1e-16 is not the trace, and takes it out. Independent noise on every entry, counted in
    the budget and really drawn, covers the rounding and costs at most 1/(1 − κ) of the loss.

    >>> noise = sampled_noise(Solution(np.array([[1.0], [0.0]]), ()), 1.0, 0.5)
    >>> noise.diagonal()
    array([0.75, 0.25])
    """
    size = solution.factor.shape[0]
    variances = np.full(size, floor * budget / size)
    if solution.extra is not None:
        variances += (1 - floor) * solution.extra
    terms: list[Matrix] = [Diagonal(variances)]
    if np.any(solution.factor):
        terms.insert(0, LowRank(math.sqrt(1 - floor) * solution.factor))
    return Sum(tuple(terms)) if len(terms) > 1 else terms[0]
