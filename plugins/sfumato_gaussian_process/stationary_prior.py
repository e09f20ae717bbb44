"""What every prior with a covariance that depends on the lag alone shares."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs import Gaussian
from sfumato.matrices import Dense, Matrix, Toeplitz
from sfumato.matrices.matrix import ROUNDOFF
from sfumato.parameters import stamps
from sfumato.protocols import Prior
from sfumato_gaussian_process.coordinates import across_coordinates, trace_of

if TYPE_CHECKING:
    from sfumato_gaussian_process.fitted_priors import FittedPriors


class StationaryPrior(Prior):
    """A prior whose covariance is a function k of the lag: what a kernel's author subclasses.

    The author declares parameters, among them `variance`, `times`, `dimensions` and `across`,
    and writes `correlation` and `ball_at`.
    With d coordinates per time the covariance is k ⊗ across.

    Attributes
    ----------
    shape_parameters
        The parameters that `correlation` takes.
    in_time_units
        Those of them that are durations: divided by the sampling period they count samples.
    fit_ranges
        Where `fit` looks for a parameter: as multiples of the sampling period for a duration.
    """

    yields = Gaussian
    scale_parameter = "variance"
    shape_parameters: ClassVar[tuple[str, ...]] = ("length_scale",)
    in_time_units: ClassVar[tuple[str, ...]] = ("length_scale",)
    fit_ranges: ClassVar[Mapping[str, tuple[float, float]]] = MappingProxyType(
        {"length_scale": (0.1, 200.0)}
    )

    variance: float
    times: int | NDArray[np.float64]
    dimensions: int | None
    across: NDArray[np.float64] | None

    @staticmethod
    @abstractmethod
    def correlation(lag: NDArray[np.float64], *shape: Any) -> NDArray[np.float64]:
        """Return the correlation at each lag, for shape parameters that may be arrays."""

    @abstractmethod
    def ball_at(self, lag: Any) -> Any:
        """Return a ball that holds the covariance at a lag that is itself a ball."""

    @property
    @abstractmethod
    def definite(self) -> bool:
        """Whether the covariance at distinct times is strictly positive definite."""

    def covariance_at(self, lag: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the covariance at each lag."""
        shape = [getattr(self, name) for name in self.shape_parameters]
        with np.errstate(over="ignore"):  # a lag of infinitely many length scales is an answer
            return self.variance * self.correlation(lag, *shape)

    @classmethod
    def fit(
        cls,
        traces: Any,
        *,
        times: Any = None,
        noise: float = 0.0025,
        normalise: bool = True,
        bounds: Mapping[str, tuple[float, float]] | None = None,
        **fixed: float,
    ) -> FittedPriors:
        """Fit the prior to every trace by maximum likelihood.

        Parameters
        ----------
        traces
            An array (traces, times) or (traces, times, d), or a list of arrays (times,) or
            (times, d) of any lengths. Coordinates are fitted one by one.
        times
            Time stamps of all traces, or a list with those of each; missing means 0, 1, ….
        noise
            Variance of the measurement error, as a share of the prior's. It is a parameter of the
            fitted model: without one, a smooth kernel explains no real trace, and its likelihood
            cannot be computed in float64. The default is the square of 5 %.
        normalise
            Subtract each trace's mean and divide by its standard deviation first, so that the
            variance is one and only the shape is fitted. Else the variance is fitted too.
        bounds
            Where to look for a parameter, in the units of `times`.
        fixed
            Parameters that are known, such as ``period=24.0``, or ``variance=1.0`` with
            ``normalise=False``.

        Reference: Meehan and Chaudhuri (2021), appendix 7.4.
        """
        from sfumato_gaussian_process.maximum_likelihood import fit_traces

        return fit_traces(
            cls, traces, times, noise=noise, normalise=normalise, bounds=bounds or {}, fixed=fixed
        )

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

    @classmethod
    def glance(cls, members: Sequence[Self]) -> NDArray[np.float64] | None:
        """Return the covariances of members with one coordinate on a common regular grid."""
        times, one = members[0].times, members[0].dimensions is None
        if not (isinstance(times, int) and one):
            return None
        lags = np.arange(times, dtype=np.float64)
        shape = [_common([getattr(m, name) for m in members]) for name in cls.shape_parameters]
        with np.errstate(over="ignore"):  # as in `covariance_at`
            columns = cls.correlation(lags[None, :], *shape)
        columns = np.array([[member.variance] for member in members]) * columns
        ring = np.concatenate([columns[:, :0:-1], columns], axis=1)
        windows = np.lib.stride_tricks.sliding_window_view(ring, times, axis=1)
        return np.ascontiguousarray(windows[:, ::-1])

    def trace_signature(self) -> Hashable:
        """Return the numbers of times and of coordinates, and stamps other than 0, 1, …."""
        return trace_of(self.times, self.dimensions, self.across)

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


def _common(values: list[float]) -> float | NDArray[np.float64]:
    """Return the value that all share, else a column of them: a smoothness takes no array."""
    return values[0] if len(set(values)) == 1 else np.array(values)[:, None]
