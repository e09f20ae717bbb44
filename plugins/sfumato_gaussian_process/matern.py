"""The Matérn prior."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.parameters import CHOICE, POSITIVE, TIMES, declare, parameter
from sfumato_gaussian_process.coordinates import across_parameter, dimensions_parameter
from sfumato_gaussian_process.stationary_prior import StationaryPrior


@declare
class Matern(StationaryPrior):
    """Rough traces, differentiable ν − 1/2 times.

    With u = √(2ν) |s − t| / l the covariance is
    σ² e^(−u) for ν = 1/2, σ² (1 + u) e^(−u) for ν = 3/2, σ² (1 + u + u²/3) e^(−u) for ν = 5/2.

    Reference: Rasmussen and Williams (2006), Gaussian Processes for Machine Learning, eq. 4.17.

    >>> Matern(length_scale=2.0, nu=0.5, times=3).belief().covariance.dense().round(4)[0]
    array([1.    , 0.6065, 0.3679])
    """

    name = "matern"
    shape_parameters = ("length_scale", "nu")
    definite = True  # its spectral density is positive everywhere

    length_scale: float = parameter(POSITIVE, doc="distance in time over which entries look alike")
    times: int | NDArray[np.float64] = parameter(
        TIMES("n"), doc="number of points 0, 1, ..., or increasing time stamps"
    )
    nu: float = parameter(CHOICE(0.5, 1.5, 2.5), default=1.5, doc="smoothness ν")
    variance: float = parameter(POSITIVE, default=1.0, doc="prior variance of each entry")
    dimensions: int | None = dimensions_parameter()
    across: NDArray[np.float64] | None = across_parameter()

    @staticmethod
    def correlation(lag: NDArray[np.float64], *shape: Any) -> NDArray[np.float64]:
        """Return the correlation at each lag."""
        length_scale, nu = shape
        # Beyond u = 800 the exponential underflows anyway; the square must not overflow.
        u = np.minimum(math.sqrt(2 * nu) * (np.abs(lag) / length_scale), 800.0)
        correlation: NDArray[np.float64] = _polynomial(nu, u) * np.exp(-u)
        return correlation

    def ball_at(self, lag: Any) -> Any:
        """Return the same for a ball."""
        from flint import arb

        u = arb(2 * self.nu).sqrt() * lag / arb(self.length_scale)
        return arb(self.variance) * _polynomial(self.nu, u) * (-u).exp()


def _polynomial(nu: float, u: Any) -> Any:
    if nu == 0.5:
        return 1
    return 1 + u if nu == 1.5 else 1 + u + u * u / 3
