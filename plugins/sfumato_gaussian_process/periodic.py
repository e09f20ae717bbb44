"""The periodic prior."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs import Gaussian
from sfumato.parameters import POSITIVE, TIMES, declare, parameter
from sfumato.protocols import Prior
from sfumato_gaussian_process.stationary_kernel import stationary_belief


@declare
class Periodic(Prior):
    """Repeating traces: covariance σ² exp(−2 sin²(π (s − t) / p) / l²).

    Entries a whole number of periods apart are the same number, so the covariance is singular
    whenever the period divides the sampling.

    Reference: Meehan and Chaudhuri (2021), section 5, k_PER.

    >>> Periodic(period=2.0, length_scale=1.0, times=3).belief().covariance.dense().round(4)[0]
    array([1.    , 0.1353, 1.    ])
    """

    name = "periodic"
    yields = Gaussian

    length_scale: float = parameter(POSITIVE, doc="smoothness within one period")
    period: float = parameter(POSITIVE, doc="time after which the trace repeats")
    times: int | NDArray[np.float64] = parameter(
        TIMES("n"), doc="number of points 0, 1, ..., or increasing time stamps"
    )
    variance: float = parameter(POSITIVE, default=1.0, doc="prior variance of each entry")

    def belief(self) -> Gaussian:
        """Return the Gaussian belief."""
        return stationary_belief(self, self.times, definite=False)

    def covariance_at(self, lag: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return σ² exp(−2 sin²(π lag / p) / l²).

        The lag is folded into half a period first, exactly: points a whole number of periods
        apart then have bit-for-bit equal rows, and singular blocks are recognised as such.
        """
        folded = np.remainder(np.abs(lag), self.period)
        folded = np.minimum(folded, self.period - folded)
        covariance: NDArray[np.float64] = self.variance * np.exp(
            -2.0 * np.square(np.sin(np.pi * folded / self.period) / self.length_scale)
        )
        return covariance

    def ball_at(self, lag: Any) -> Any:
        """Return the same for a ball."""
        from flint import arb

        sine = (lag / arb(self.period)).sin_pi() / arb(self.length_scale)
        return arb(self.variance) * (-2 * sine * sine).exp()
