"""The periodic prior."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.matrices.matrix import ROUNDOFF
from sfumato.parameters import POSITIVE, TIMES, declare, parameter
from sfumato_gaussian_process.coordinates import across_parameter, dimensions_parameter
from sfumato_gaussian_process.stationary_prior import StationaryPrior


@declare
class Periodic(StationaryPrior):
    """Repeating traces: covariance σ² exp(−2 sin²(π (s − t) / p) / l²).

    Entries a whole number of periods apart are the same number, so the covariance is singular
    whenever the period divides the sampling.

    Reference: Meehan and Chaudhuri (2021), section 5, k_PER.

    >>> Periodic(period=2.0, length_scale=1.0, times=3).belief().covariance.dense().round(4)[0]
    array([1.    , 0.1353, 1.    ])
    """

    name = "periodic"
    definite = False
    shape_parameters = ("length_scale", "period")
    in_time_units = ("period",)
    fit_ranges = MappingProxyType({"length_scale": (0.05, 50.0), "period": (4.0, 100.0)})

    length_scale: float = parameter(POSITIVE, doc="smoothness within one period")
    period: float = parameter(POSITIVE, doc="time after which the trace repeats")
    times: int | NDArray[np.float64] = parameter(
        TIMES("n"), doc="number of points 0, 1, ..., or increasing time stamps"
    )
    variance: float = parameter(POSITIVE, default=1.0, doc="prior variance of each entry")
    dimensions: int | None = dimensions_parameter()
    across: NDArray[np.float64] | None = across_parameter()

    @staticmethod
    def correlation(lag: NDArray[np.float64], *shape: Any) -> NDArray[np.float64]:
        """Return exp(−2 sin²(π lag / p) / l²).

        The lag is folded into half a period first, exactly: points a whole number of periods
        apart then have bit-for-bit equal rows, and singular blocks are recognised as such.
        """
        length_scale, period = shape
        folded = np.remainder(np.abs(lag), period)
        folded = np.minimum(folded, period - folded)
        # Beyond 50 the exponential underflows anyway; the square must not overflow.
        sine = np.minimum(np.sin(np.pi * (folded / period)) / length_scale, 50.0)
        correlation: NDArray[np.float64] = np.exp(-2.0 * np.square(sine))
        return correlation

    def rounding(self) -> float:
        """Bound the rounding: a lag of irregular stamps is rounded before it is folded.

        The covariance changes by at most σ² 2π / (p l √e) per unit of lag.
        """
        if isinstance(self.times, int):
            return super().rounding()
        span = float(self.times[-1] - self.times[0])
        return super().rounding() + 4 * ROUNDOFF * span / (self.period * self.length_scale)

    def ball_at(self, lag: Any) -> Any:
        """Return the same for a ball."""
        from flint import arb

        sine = (lag / arb(self.period)).sin_pi() / arb(self.length_scale)
        return arb(self.variance) * (-2 * sine * sine).exp()
