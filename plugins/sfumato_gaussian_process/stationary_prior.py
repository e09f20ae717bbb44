"""What every prior with a covariance that depends on the lag alone shares."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs import Gaussian
from sfumato.matrices import Dense, Matrix, Toeplitz
from sfumato.matrices.matrix import ROUNDOFF
from sfumato.parameters import stamps
from sfumato.protocols import Prior
from sfumato_gaussian_process.coordinates import across_coordinates, coordinates_of


class StationaryPrior(Prior):
    """A prior whose covariance is a function k of the lag: what a kernel's author subclasses.

    The author declares parameters, among them `times`, `dimensions` and `across`, and writes
    `covariance_at` and `ball_at`.
    With d coordinates per time the covariance is k ⊗ across.
    """

    yields = Gaussian

    times: int | NDArray[np.float64]
    dimensions: int | None
    across: NDArray[np.float64] | None

    @abstractmethod
    def covariance_at(self, lag: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the covariance at each lag."""

    @abstractmethod
    def ball_at(self, lag: Any) -> Any:
        """Return a ball that holds the covariance at a lag that is itself a ball."""

    @property
    @abstractmethod
    def definite(self) -> bool:
        """Whether the covariance at distinct times is strictly positive definite."""

    def rounding(self) -> float:
        """Bound the rounding of `covariance_at`, in units of the variance."""
        return 16 * ROUNDOFF

    def belief(self) -> Gaussian:
        """Return the belief: Toeplitz over time on a regular grid, dense otherwise."""
        over_time = Gaussian(
            self._over_time(),
            definite=self.definite,
            rounding=self.rounding(),
            exact=self._balls,
        )
        return across_coordinates(over_time, self.dimensions, self.across)

    def trace_signature(self) -> Hashable:
        """Return the numbers of times and of coordinates."""
        return self.sizes["n"], coordinates_of(self.dimensions, self.across)

    def _over_time(self) -> Matrix:
        if isinstance(self.times, int):
            return Toeplitz(self.covariance_at(np.arange(self.times, dtype=np.float64)))
        return Dense(self.covariance_at(self.times[:, None] - self.times[None, :]))

    def _balls(self, bits: int) -> Any:
        """Return the covariance over time in ball arithmetic, from the kernel's parameters."""
        from flint import arb, arb_mat

        from sfumato.inference.ball_arithmetic import precision

        with precision(bits):
            if isinstance(self.times, int):
                column = [self.ball_at(arb(lag)) for lag in range(self.times)]
                every = range(self.times)
                return arb_mat([[column[abs(i - j)] for j in every] for i in every])
            t = [arb(float(stamp)) for stamp in stamps(self.times)]
            return arb_mat([[self.ball_at(abs(a - b)) for b in t] for a in t])
