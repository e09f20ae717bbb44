"""Traces of several coordinates per time: the same dependence over time in each."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs import Gaussian
from sfumato.errors import OutsideHypotheses
from sfumato.inference.exact import is_definite
from sfumato.matrices import Dense, Kronecker, Matrix, Toeplitz
from sfumato.matrices.matrix import ROUNDOFF
from sfumato.parameters import (
    CHOICE,
    COUNT,
    COVARIANCE,
    OPTIONAL,
    POSITIVE,
    TIMES,
    declare,
    parameter,
    stamps,
)
from sfumato.protocols import Prior

if TYPE_CHECKING:
    from sfumato_gaussian_process.fitting import FittedPriors


def dimensions_parameter() -> Any:
    """Declare the number d of coordinates per time."""
    doc = "coordinates per time; 1 unless `across` says otherwise"
    return parameter(OPTIONAL(COUNT("d")), default=None, doc=doc)


def across_parameter() -> Any:
    """Declare the covariance across the coordinates."""
    doc = "covariance of the coordinates at one time, in units of the variance; None: independent"
    return parameter(OPTIONAL(COVARIANCE("d")), default=None, doc=doc)


def coordinates_of(dimensions: int | None, across: NDArray[np.float64] | None) -> int:
    """Return d.

    >>> coordinates_of(None, None), coordinates_of(None, np.eye(3))
    (1, 3)
    """
    if across is not None:
        return len(across)
    return 1 if dimensions is None else dimensions


def trace_of(
    times: int | NDArray[np.float64], dimensions: int | None, across: NDArray[np.float64] | None
) -> Hashable:
    """Return what two priors about one kind of trace agree in: times and coordinates.

    >>> trace_of(2, None, None) == trace_of(np.array([0.0, 1.0]), 1, None)
    True
    >>> trace_of(np.array([0.0, 2.0]), None, None)
    (2, 1, (0.0, 2.0))
    """
    width = coordinates_of(dimensions, across)
    if isinstance(times, int):
        return times, width
    if np.array_equal(times, np.arange(len(times))):
        return len(times), width
    return len(times), width, tuple(times.tolist())


def across_coordinates(
    over_time: Gaussian, dimensions: int | None, across: NDArray[np.float64] | None
) -> Gaussian:
    """Return the belief Σ_time ⊗ across, whose entries are time · d + coordinate.

    It is definite if and only if both factors are. `across` must be definite, which rational
    numbers decide, or diagonal.

    >>> across_coordinates(Gaussian(Dense(np.eye(2))), 3, None).shape
    (2, 3)
    """
    if across is None and dimensions in (None, 1):
        return over_time
    matrix = np.eye(coordinates_of(dimensions, across)) if across is None else across
    diagonal = not np.any(matrix - np.diag(np.diagonal(matrix)))
    definite = bool(np.all(np.diagonal(matrix) > 0)) if diagonal else is_definite(matrix)
    if not (definite or diagonal):
        raise OutsideHypotheses(
            "across must be positive definite or diagonal; got a singular matrix, under which some "
            "coordinates determine others: leave those out."
        )
    return attrs.evolve(
        over_time,
        covariance=Kronecker(over_time.covariance, Dense(matrix)),
        dimensions=len(matrix),
        definite=over_time.definite and definite,
        rounding=over_time.rounding + 2 * ROUNDOFF,
        exact=_product(over_time.exact, matrix),
    )


def _product(exact: Any, matrix: NDArray[np.float64]) -> Any:
    """Return k ⊗ across as a formula."""
    if exact is None:
        return None

    def formula(numbers: Any) -> Any:
        time, mixed = exact(numbers), numbers.matrix(matrix)
        times, axes = np.divmod(np.arange(time.nrows() * len(matrix)), len(matrix))
        return numbers.entrywise(
            numbers.block(time, times, times), numbers.block(mixed, axes, axes)
        )

    return formula


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
            exact=self._formula,
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

    def _formula(self, numbers: Any) -> Any:
        """Return the covariance over time in exact numbers, from the kernel's parameters."""
        if isinstance(self.times, int):
            column = [self.ball_at(numbers.number(lag)) for lag in range(self.times)]
            every = range(self.times)
            return numbers.matrix([[column[abs(i - j)] for j in every] for i in every])
        t = [numbers.number(float(stamp)) for stamp in stamps(self.times)]
        return numbers.matrix([[self.ball_at(abs(a - b)) for b in t] for a in t])


def _common(values: list[float]) -> float | NDArray[np.float64]:
    """Return the value that all share, else a column of them: a smoothness takes no array."""
    return values[0] if len(set(values)) == 1 else np.array(values)[:, None]


@declare
class RBF(StationaryPrior):
    """Smooth traces: covariance σ² exp(−(s − t)² / (2 l²)).

    Strictly positive definite at distinct times, yet numerically singular: on 50 points its
    condition number is 2.5e17 at l = 3.

    Reference: Meehan and Chaudhuri (2021), section 5, k_RBF.

    >>> RBF(length_scale=2.0, times=3).belief().covariance.dense().round(4)[0]
    array([1.    , 0.8825, 0.6065])
    """

    name = "rbf"
    definite = True  # its spectral density is positive everywhere

    length_scale: float = parameter(POSITIVE, doc="distance in time over which entries look alike")
    times: int | NDArray[np.float64] = parameter(
        TIMES("n"), doc="number of points 0, 1, ..., or increasing time stamps"
    )
    variance: float = parameter(POSITIVE, default=1.0, doc="prior variance of each entry")
    dimensions: int | None = dimensions_parameter()
    across: NDArray[np.float64] | None = across_parameter()

    @staticmethod
    def correlation(lag: NDArray[np.float64], *shape: Any) -> NDArray[np.float64]:
        """Return exp(−lag² / (2 l²))."""
        (length_scale,) = shape
        # Beyond 100 length scales the exponential underflows anyway; the square must not overflow.
        scaled = np.minimum(np.abs(lag) / length_scale, 100.0)
        correlation: NDArray[np.float64] = np.exp(-0.5 * np.square(scaled))
        return correlation

    def ball_at(self, lag: Any) -> Any:
        """Return σ² exp(−lag² / (2 l²)) in balls."""
        scaled = lag / self.length_scale
        return (-(scaled * scaled) / 2).exp() * self.variance


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
        """Return σ² exp(−2 sin²(π lag / p) / l²) in balls."""
        sine = (lag / self.period).sin_pi() / self.length_scale
        return (-2 * sine * sine).exp() * self.variance


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
        """Return the covariance in balls."""
        scaled = lag / self.length_scale
        u = (scaled * scaled * (2 * self.nu)).sqrt()
        return (-u).exp() * _polynomial(self.nu, u) * self.variance


def _polynomial(nu: float, u: Any) -> Any:
    if nu == 0.5:
        return 1
    return 1 + u if nu == 1.5 else 1 + u + u * u / 3
