"""One ball on a regular grid, at lengths that leave no room for a dense matrix."""

from __future__ import annotations

import math

import attrs
import numpy as np

from sfumato.inference.gaussian.grid_information import GridRegression
from sfumato.matrices.matrix import ROUNDOFF, Array
from sfumato_gaussian_noise.design import Certified, ClassLosses, DualBound, Solution, Task

# Share of the tolerance at which a window is wide enough: a wider one could gain no more.
CLOSE = 0.01


def long_trace(task: Task) -> Certified | None:
    """Return the design for one ball on a regular grid, at any length; None if it is not that.

    The formula of `one_ball` needs (C + (B/k) I)⁻¹A: conjugate gradients with products by fast
    Fourier transforms, first on a window round the secret. Let Y be what they return for the budget
    (1 − κ)B. Both certificates hold for any Y whatever: the lower bound as in `dual_bound`, and
    the loss of the very Γ that is sampled, as the framework reads it, with no further solve.
    """
    groups = task.question.groups
    if task.independent is not None or not task.members.is_single:
        return None
    if len(groups) > 1 or len(groups[0]) > 1:
        return None
    block = GridRegression.of(task.belief, groups[0][0])
    if block is None:
        return None
    narrow, found = attrs.evolve(task, tolerance=CLOSE * task.tolerance), None
    count = len(groups[0][0])
    ridge = (1 - task.floor) * task.budget / count
    for readings in block.ridge_solutions(ridge):
        found = _certify(task, block, readings, ridge)
        if narrow.met(found):
            break
    return found


def _certify(task: Task, block: GridRegression, readings: Array, ridge: float) -> Certified:
    """Return the noise that spends the budget on the readings, its loss, and the dual bound."""
    count, square = readings.shape[1], task.question.radii[0] ** 2
    lengths = np.linalg.norm(readings, axis=0)
    noise = task.sampled_noise(Solution(math.sqrt(task.budget / count) * readings / lengths))
    gains, off = block.gains(readings, ridge)
    price = float(np.linalg.eigvalsh(readings.T @ readings)[-1]) / count
    price *= square * (1 + 4 * len(readings) * ROUNDOFF)
    bound = DualBound(square * float(np.mean(gains - off)), price, ridge)
    matrix, error = block.information(readings, noise, ridge)
    largest = float(np.linalg.eigvalsh(matrix)[-1])
    worst = square * largest * (1 + error) if math.isfinite(error) else math.inf
    route = "closed form, conjugate gradients on the grid"
    return Certified(noise, ClassLosses(worst, "single"), bound, route)
