"""Gaussian processes: the covariance of a trace over time, alike in each of its coordinates."""

from __future__ import annotations

import functools
import math
from abc import abstractmethod
from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import attrs
import numpy as np

from sfumato.beliefs import Gaussian
from sfumato.errors import OutsideHypotheses
from sfumato.inference.exact import is_definite
from sfumato.matrices import Dense, Kronecker, Toeplitz
from sfumato.matrices.matrix import ROUNDOFF, Array, refuse_dense
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

# Largest length scale, in units of the trace: beyond it the trace is a constant in float64.
LONGEST = 1e12


times_parameter = functools.partial(
    parameter, TIMES("n"), doc="number of points 0, 1, ..., or increasing time stamps"
)
variance_parameter = functools.partial(
    parameter, POSITIVE, default=1.0, doc="prior variance of each entry"
)
dimensions_parameter = functools.partial(
    parameter,
    OPTIONAL(COUNT("d")),
    default=None,
    doc="coordinates per time; one, or as many as across has",
)
across_parameter = functools.partial(
    parameter,
    OPTIONAL(COVARIANCE("d")),
    default=None,
    doc="covariance of the coordinates at one time, in units of the variance; None: independent",
)


class GaussianProcess(Prior):
    """A prior over times, with covariance (over time) ⊗ across for d coordinates per time.

    The author declares `times`, `dimensions` and `across`, and writes `over_time` and
    `smoothest`. Entries of the trace are time · d + coordinate.
    """

    yields = Gaussian
    smoothed_by: ClassVar[str] = "length_scale"

    times: int | Array
    dimensions: int | None
    across: Array | None

    @abstractmethod
    def over_time(self) -> Gaussian:
        """Return the belief about one coordinate."""

    @abstractmethod
    def smoothest(self, span: float) -> float:
        """Return the largest length scale, in units of a trace of length `span`."""

    def belief(self) -> Gaussian:
        """Return the belief; it is definite if and only if both factors are."""
        self._refuse_what_looks_singular()
        over_time, across = self.over_time(), self._mixed
        if across is None:
            return over_time
        return attrs.evolve(
            over_time,
            covariance=Kronecker(over_time.covariance, Dense(across)),
            dimensions=len(across),
            definite=over_time.definite and bool(np.all(np.diagonal(across) > 0)),
            rounding=over_time.rounding + 2 * ROUNDOFF,
            exact=functools.partial(_formula_of_product, over_time.exact, across),
        )

    @abstractmethod
    def formula_over_time(self, numbers: Any) -> Any:
        """Return the covariance of one coordinate in exact numbers, or in Taylor coefficients."""

    def formula(self, numbers: Any) -> Any:
        """Return the covariance in numbers of any kind, of which the parameters may be, too."""
        if (across := self._mixed) is None:
            return self.formula_over_time(numbers)
        return _formula_of_product(self.formula_over_time, across, numbers)

    @property
    def _mixed(self) -> Array | None:
        """The covariance of the coordinates at one time; None for one coordinate as it is."""
        if self.across is None and self.dimensions not in (None, 1):
            return np.eye(self.dimensions or 1)
        return self.across

    def _refuse_what_looks_singular(self) -> None:
        """Refuse what float64 takes for singular: that would hide the worst displacement."""
        span = self.times - 1 if isinstance(self.times, int) else float(np.ptp(self.times))
        if span > 0 and self.smoothest(span) > LONGEST:
            raise OutsideHypotheses(
                f"{self.name}.{self.smoothed_by} must have length scales of at most {LONGEST:.0e} "
                f"times the trace; got {getattr(self, self.smoothed_by)}: the trace is a constant."
            )
        across = np.eye(1) if self.across is None else self.across
        if np.any(across - np.diag(np.diagonal(across))) and not is_definite(across):
            raise OutsideHypotheses(
                "across must be positive definite or diagonal; got a singular matrix, under which "
                "some coordinates determine others: leave those out."
            )

    def trace_signature(self) -> Hashable:
        """Return the numbers of times and of coordinates, and stamps other than 0, 1, …."""
        width = (self.dimensions or 1) if self.across is None else len(self.across)
        points = stamps(self.times)
        regular = np.array_equal(points, np.arange(len(points)))
        return (len(points), width) if regular else (len(points), width, tuple(points.tolist()))


def _formula_of_product(exact: Any, across: Array, numbers: Any) -> Any:
    """Return (over time) ⊗ across in exact numbers."""
    time, mixed = exact(numbers), numbers.matrix(across)
    times, axes = np.divmod(np.arange(time.nrows() * len(across)), len(across))
    return numbers.entrywise(numbers.block(time, times, times), numbers.block(mixed, axes, axes))


class StationaryPrior(GaussianProcess):
    """A prior whose covariance is a function k of the lag: what a kernel's author subclasses.

    The author declares parameters, among them `variance`, `times`, `dimensions` and `across`,
    and writes `correlation` and `exact_correlation`.

    Class attributes say whether the covariance at distinct times is strictly `definite`, whether
    it `falls` with the distance in time, which
    `shape_parameters` `correlation` takes, which of them are `in_time_units`, so that divided by
    the sampling period they count samples, and the `fit_ranges` in which `fit` looks for them.
    """

    scale_parameter = "variance"
    definite: ClassVar[bool]
    falls: ClassVar[bool] = False
    shape_parameters: ClassVar[tuple[str, ...]] = ("length_scale",)
    in_time_units: ClassVar[tuple[str, ...]] = ("length_scale",)
    fit_ranges: ClassVar[Mapping[str, tuple[float, float]]] = {"length_scale": (0.1, 200.0)}

    length_scale: float
    variance: float

    @staticmethod
    @abstractmethod
    def correlation(lag: Array, *shape: Any) -> Array:
        """Return the correlation at each lag, for shape parameters that may be arrays."""

    @staticmethod
    @abstractmethod
    def exact_correlation(lag: Any, *shape: float) -> Any:
        """Return the correlation at a lag that is an exact number, such as a ball."""

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

        `traces` is an array (traces, times) or (traces, times, d), or a list of arrays (times,) or
        (times, d) of any lengths; coordinates are fitted one by one. `times` are the stamps of all
        traces, or a list with those of each; missing means 0, 1, ….
        Of a trace of more than 500 samples windows of 50 are fitted, each by itself, at most 200 of
        them spread evenly, as `sfumato fit` does: the whole would take as the cube of its length.
        `noise` is the variance of the measurement error as a share of the prior's, a parameter of
        the model: without one, a smooth kernel explains no real trace, and its likelihood cannot
        be computed in float64. The default is the square of 5 %.
        With `normalise`, each trace's mean is subtracted and it is divided by its deviation first,
        so that only the shape is fitted; else the variance is fitted too.
        `bounds` say where to look for a parameter, in the units of `times`; `fixed` are known
        parameters, such as ``period=24.0``, or ``variance=1.0`` with ``normalise=False``.

        Reference: Meehan and Chaudhuri (2021), appendix 7.4.
        """
        from sfumato_gaussian_process.maximum_likelihood import fit_traces

        return fit_traces(
            cls, traces, times, noise=noise, normalise=normalise, bounds=bounds or {}, fixed=fixed
        )

    def smoothest(self, span: float) -> float:
        """Return the length scale in units of the trace."""
        return self.length_scale / span

    def rounding(self) -> float:
        """Bound the rounding of the stored covariance, in units of the variance."""
        return 16 * ROUNDOFF

    def covariance_beyond(self, distance: float) -> float:
        """Return the covariance at that distance, where it falls with the distance."""
        if not self.falls:
            return math.inf
        peak = 1.0 if self.across is None else float(np.abs(self.across).max())
        at = float(self.correlation(np.array(distance), *self._shape()))
        return self.variance * peak * at * (1 + 1e-9) + 1e-300

    def over_time(self) -> Gaussian:
        """Return the belief: Toeplitz over time on a regular grid, dense otherwise."""
        if regular := isinstance(self.times, int):
            lags: Array = np.arange(self.times, dtype=np.float64)
        else:
            refuse_dense(self.times.size)
            lags = self.times[:, None] - self.times
        with np.errstate(over="ignore"):  # a lag of infinitely many length scales is an answer
            entries = self.variance * self.correlation(lags, *self._shape())
        return Gaussian(
            Toeplitz(entries) if regular else Dense(entries),
            definite=self.definite,
            rounding=self.rounding(),
            exact=self.formula_over_time,
        )

    def formula_over_time(self, numbers: Any) -> Any:
        """Return the covariance of one coordinate in exact numbers."""
        return formula_of(self._exact_covariance, self.times, numbers, stationary=True)

    def _shape(self) -> list[float]:
        return [getattr(self, name) for name in self.shape_parameters]

    def _exact_covariance(self, s: Any, t: Any) -> Any:
        """Return the covariance at two times in exact numbers."""
        return self.exact_correlation(abs(s - t), *self._shape()) * self.variance


def formula_of(
    covariance: Callable[[Any, Any], Any], times: int | Array, numbers: Any, *, stationary: bool
) -> Any:
    """Return a covariance over time in exact numbers, from the formula for two times."""
    by_lag = stationary and isinstance(times, int)
    return numbers.of_times(covariance, stamps(times).tolist(), by_lag=by_lag)


@declare
class RBF(StationaryPrior):
    """Smooth traces: covariance $σ² exp(−(s − t)² / (2 l²))$.

    Strictly positive definite at distinct times, yet numerically singular: on 50 points its
    condition number is 2.5e17 at l = 3.

    Reference: Meehan and Chaudhuri (2021), section 5, k_RBF.

    >>> import sfumato as sf
    >>> sf.priors.rbf(length_scale=2.0, times=3).belief().covariance.dense().round(4)[0]
    array([1.    , 0.8825, 0.6065])
    """

    name = "rbf"
    definite = True  # its spectral density is positive everywhere
    falls = True

    length_scale: float = parameter(POSITIVE, doc="distance in time over which entries look alike")
    times: int | Array = times_parameter()
    variance: float = variance_parameter()
    dimensions: int | None = dimensions_parameter()
    across: Array | None = across_parameter()

    @staticmethod
    def correlation(lag: Array, *shape: Any) -> Array:
        """Return exp(−lag² / (2 l²))."""
        (length_scale,) = shape
        # Beyond 100 length scales the exponential underflows anyway; the square must not overflow.
        scaled = np.minimum(np.abs(lag) / length_scale, 100.0)
        return np.asarray(np.exp(-0.5 * np.square(scaled)))

    @staticmethod
    def exact_correlation(lag: Any, *shape: float) -> Any:
        """Return exp(−lag² / (2 l²))."""
        scaled = lag / shape[0]
        return (-(scaled * scaled) / 2).exp()


@declare
class Periodic(StationaryPrior):
    """Repeating traces: covariance $σ² exp(−2 sin²(π (s − t) / p) / l²)$.

    Entries a whole number of periods apart are the same number, so the covariance is singular
    whenever the period divides the sampling.

    Reference: Meehan and Chaudhuri (2021), section 5, k_PER.

    >>> import sfumato as sf
    >>> prior = sf.priors.periodic(period=2.0, length_scale=1.0, times=3)
    >>> prior.belief().covariance.dense().round(4)[0]
    array([1.    , 0.1353, 1.    ])
    """

    name = "periodic"
    definite = False
    shape_parameters = ("length_scale", "period")
    in_time_units = ("period",)
    fit_ranges: ClassVar = {"length_scale": (0.05, 50.0), "period": (4.0, 100.0)}

    length_scale: float = parameter(POSITIVE, doc="smoothness within one period")
    period: float = parameter(POSITIVE, doc="time after which the trace repeats")
    times: int | Array = times_parameter()
    variance: float = variance_parameter()
    dimensions: int | None = dimensions_parameter()
    across: Array | None = across_parameter()

    @staticmethod
    def correlation(lag: Array, *shape: Any) -> Array:
        """Return exp(−2 sin²(π lag / p) / l²).

        The lag is folded into half a period first, exactly: points a whole number of periods
        apart then have bit-for-bit equal rows, and singular blocks are recognised as such.
        """
        length_scale, period = shape
        folded = np.remainder(np.abs(lag), period)
        folded = np.minimum(folded, period - folded)
        # Beyond 50 the exponential underflows anyway; the square must not overflow.
        sine = np.minimum(np.sin(np.pi * (folded / period)) / length_scale, 50.0)
        return np.asarray(np.exp(-2.0 * np.square(sine)))

    @staticmethod
    def exact_correlation(lag: Any, *shape: float) -> Any:
        """Return exp(−2 sin²(π lag / p) / l²)."""
        sine = (lag / shape[1]).sin_pi() / shape[0]
        return (-2 * sine * sine).exp()

    def smoothest(self, span: float) -> float:
        """Return l, or the length scale p l of a period longer than the trace, in its units."""
        return self.length_scale * max(1.0, self.period / span)

    def rounding(self) -> float:
        """Bound the rounding: a lag of irregular stamps is rounded before it is folded.

        The covariance changes by at most σ² 2π / (p l √e) per unit of lag.
        """
        if isinstance(self.times, int):
            return super().rounding()
        span = float(self.times[-1] - self.times[0])
        return super().rounding() + 4 * ROUNDOFF * span / (self.period * self.length_scale)


@declare
class Matern(StationaryPrior):
    """Rough traces, differentiable ν − 1/2 times.

    With $u = √(2ν) |s − t| / l$ the covariance is
    $σ² e^{−u}$ for ν = 1/2, $σ² (1 + u) e^{−u}$ for ν = 3/2, $σ² (1 + u + u²/3) e^{−u}$ for 5/2.

    Reference: Rasmussen and Williams (2006), Gaussian Processes for Machine Learning, eq. 4.17.

    >>> import sfumato as sf
    >>> sf.priors.matern(length_scale=2.0, nu=0.5, times=3).belief().covariance.dense().round(4)[0]
    array([1.    , 0.6065, 0.3679])
    """

    name = "matern"
    shape_parameters = ("length_scale", "nu")
    definite = True  # its spectral density is positive everywhere
    falls = True

    length_scale: float = parameter(POSITIVE, doc="distance in time over which entries look alike")
    times: int | Array = times_parameter()
    nu: float = parameter(CHOICE(0.5, 1.5, 2.5), default=1.5, doc="smoothness ν")
    variance: float = variance_parameter()
    dimensions: int | None = dimensions_parameter()
    across: Array | None = across_parameter()

    @staticmethod
    def correlation(lag: Array, *shape: Any) -> Array:
        """Return the correlation at each lag."""
        length_scale, nu = shape
        # Beyond u = 800 the exponential underflows anyway; the square must not overflow.
        u = np.minimum(math.sqrt(2 * nu) * (np.abs(lag) / length_scale), 800.0)
        return np.asarray(_polynomial(nu, u) * np.exp(-u))

    @staticmethod
    def exact_correlation(lag: Any, *shape: float) -> Any:
        """Return the correlation at a lag."""
        length_scale, nu = shape
        u = lag / length_scale * (0 * lag + 2 * nu).sqrt()
        return (-u).exp() * _polynomial(nu, u)


def _polynomial(nu: float, u: Any) -> Any:
    if nu == 0.5:
        return 1
    return 1 + u if nu == 1.5 else 1 + u + u * u / 3
