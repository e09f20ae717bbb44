"""The likelihood of stationary priors, for many traces at once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from sfumato_gaussian_process.stationary_prior import StationaryPrior

Array = NDArray[np.float64]
Points = NDArray[np.float64]  # (count, parameters): logarithms, durations in sampling periods


@attrs.frozen
class TraceLikelihood:
    """The family of correlations that is fitted, and what of it is free."""

    cls: type[StationaryPrior]
    free: tuple[str, ...]
    fixed: Mapping[str, float]
    noise: float
    normalised: bool

    def log_likelihoods(self, lags: Array, periods: Array, points: Points, values: Array) -> Array:
        """Return the log likelihood of values (..., N, k) at points (..., p), shape (..., k).

        With R the correlation plus noise: −½ (xᵀR⁻¹x + log det 2πR), or, if the variance is free,
        its value at the best variance xᵀR⁻¹x / N.
        """
        size = lags.shape[-1]
        matrices = self.correlations(lags, periods, points)
        matrices[..., np.arange(size), np.arange(size)] += self.noise
        factors: Array = np.linalg.cholesky(matrices).astype(np.float64, copy=False)
        whitened = _forward_substituted(factors, values)
        squares = np.sum(whitened**2, axis=-2)
        diagonal = np.diagonal(factors, axis1=-2, axis2=-1)
        determinant = 2 * np.sum(np.log(diagonal), axis=-1)[..., None]
        determinant = determinant + size * math.log(2 * math.pi)
        if self.normalised:
            return np.asarray(-0.5 * (squares + determinant))
        with np.errstate(divide="ignore"):  # a constant trace of zeros has no best variance
            return np.asarray(-0.5 * (size * np.log(squares / size) + size + determinant))

    def variances(self, lags: Array, periods: Array, points: Points, values: Array) -> Array:
        """Return the best variance xᵀR⁻¹x / N of each series."""
        size = lags.shape[-1]
        matrices = self.correlations(lags, periods, points) + self.noise * np.eye(size)
        solved = np.linalg.solve(matrices, values)
        return np.asarray(np.sum(values * solved, axis=-2) / size)

    def correlations(self, lags: Array, periods: Array, points: Points) -> Array:
        """Return the correlation matrices; lags and durations in sampling periods."""
        shape: list[Any] = []
        for name in self.cls.shape_parameters:
            if name in self.free:
                shape.append(np.exp(points[..., self.free.index(name)])[..., None, None])
            elif name in self.cls.in_time_units:
                shape.append(self.fixed[name] / periods[..., None, None])
            else:
                shape.append(self.fixed[name])
        return self.cls.correlation(lags, *shape)


def _forward_substituted(factors: Array, values: Array) -> Array:
    """Return L⁻¹x for stacks of lower triangular L (..., N, N) and values (..., N, k)."""
    size = factors.shape[-1]
    batch = np.broadcast_shapes(factors.shape[:-2], values.shape[:-2])
    solved = np.empty((*batch, size, values.shape[-1]))
    for i in range(size):
        known = factors[..., i : i + 1, :i] @ solved[..., :i, :]
        solved[..., i, :] = (values[..., i, :] - known[..., 0, :]) / factors[..., i, i, None]
    return solved
