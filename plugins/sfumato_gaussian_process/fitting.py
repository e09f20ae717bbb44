"""Fitting: traces read as real series, kernels fitted to them, and what every fit gives."""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.comparison.executors import with_progress
from sfumato.errors import ParameterError
from sfumato.matrices.matrix import Array
from sfumato.prior_classes.families import family_of
from sfumato.prior_classes.sets import Interval
from sfumato.protocols import PriorClass
from sfumato.quantities import count_text
from sfumato.values import replace_at
from sfumato_gaussian_process.kernel import KernelExpression

if TYPE_CHECKING:
    import pandas as pd

    from sfumato_gaussian_process.kernel import Kernel


# Values beyond it, or below its inverse throughout, have no usable squares in float64.
LARGEST = 1e140


@attrs.frozen(eq=False)
class Series:
    """One coordinate of one trace."""

    trace: int
    coordinate: int
    values: Array
    stamps: Array  # from the first, in sampling periods
    period: float  # the sampling period: the median step between stamps

    def lags(self) -> Array:
        """Return the table of lags, in sampling periods."""
        return np.asarray(np.abs(self.stamps[:, None] - self.stamps[None, :]))


LONGEST = 500  # samples of a trace that is fitted as it is; a longer one is fitted in windows
WINDOW = 50  # samples of such a window, as `sfumato fit` takes them
MOST = 200  # windows of one trace that are fitted at most, spread evenly


def read_series(name: str, traces: Any, times: Any, *, normalise: bool) -> list[Series]:
    """Return the series of all traces; refuse what cannot be fitted, naming the trace."""
    if isinstance(traces, (str, bytes)) or not hasattr(traces, "__len__") or len(traces) == 0:
        raise ParameterError(f"{name}.fit must get one or more traces; got {traces!r}.")
    if not isinstance(normalise, (bool, np.bool_)):
        raise ParameterError(f"{name}.fit normalise must be True or False; got {normalise!r}.")
    found = []
    for position, given in enumerate(traces):
        where = f"{name}.fit trace {position}"
        table = _table(given, where)
        stamps = _stamps(times, position, len(traces), len(table), where)
        for rows in _windows(len(table)):
            period = float(np.median(np.diff(stamps[rows])))
            relative = (stamps[rows] - stamps[rows][0]) / period
            for coordinate, column in enumerate(table[rows].T):
                values = _usable(column, where, normalise=bool(normalise))
                found.append(Series(position, coordinate, values, relative, period))
    return found


def _windows(length: int) -> list[slice]:
    """Return the pieces of a trace that are fitted: a long one would take as its cube.

    >>> from sfumato_gaussian_process.fitting import _windows
    >>> _windows(30), len(_windows(1_000_000)), _windows(1000)[-1]
    ([slice(0, 30, None)], 200, slice(950, 1000, None))
    """
    if length <= LONGEST:
        return [slice(0, length)]
    starts = np.arange(0, length - WINDOW + 1, WINDOW)
    chosen = np.unique(np.linspace(0, len(starts) - 1, min(len(starts), MOST)).round().astype(int))
    return [slice(start, start + WINDOW) for start in starts[chosen].tolist()]


def places_of(series: Sequence[Series]) -> dict[str, Any]:
    """Return the trace, coordinate and length of every series."""
    places = [(one.trace, one.coordinate, len(one.stamps)) for one in series]
    return dict(zip(("trace", "coordinate", "lengths"), np.array(places).T, strict=True))


def check_noise(name: str, noise: Any) -> None:
    """Refuse a measurement error that is not a positive number."""
    number = isinstance(noise, Real) and not isinstance(noise, bool)
    if not (number and math.isfinite(noise) and noise > 0):
        raise ParameterError(f"{name}.fit noise must be finite and positive; got {noise!r}.")


def _table(given: Any, where: str) -> Array:
    """Return a trace as (times, coordinates)."""
    try:
        array = np.asarray(given)
    except ValueError:  # rows of unequal length
        array = np.asarray(None)
    table = array[:, None] if array.ndim == 1 else array
    real = array.dtype.kind in "iuf" and table.ndim == 2
    if not (real and len(table) > 1 and table.size and np.all(np.isfinite(table))):
        raise ParameterError(
            f"{where} must have two or more finite values, real numbers in an array (times,) or "
            f"(times, d); got {array.dtype} of shape {array.shape}."
        )
    return table.astype(np.float64)


def _stamps(times: Any, position: int, count: int, length: int, where: str) -> Array:
    if times is None:
        return np.arange(length, dtype=np.float64)
    try:
        nested = np.ndim(next(iter(times), 0)) == 1
        several = len(times) if nested else count
        stamps = np.asarray(times[min(position, several - 1)] if nested else times, np.float64)
    except (TypeError, ValueError):
        several, stamps = count, np.zeros(0)
    if several != count:
        raise ParameterError(f"{where} must have its own times; got {several} lists of them.")
    finite = stamps.shape == (length,) and np.all(np.isfinite(stamps))
    if not (finite and np.all(np.diff(stamps) > 0)):
        raise ParameterError(f"{where} must have {length} finite times, increasing; got others.")
    return stamps


def _usable(column: Array, where: str, *, normalise: bool) -> Array:
    """Return values with mean zero and variance one, or as given if their squares fit float64."""
    largest = float(np.max(np.abs(column)))
    if normalise:
        scaled = column / largest if largest > 0 else column
        centred = scaled - scaled.mean()
        if not centred.std() > 1e-12:
            raise ParameterError(f"{where} must not be constant; got one value throughout.")
        return np.asarray(centred / centred.std())
    if not 1 / LARGEST <= largest <= LARGEST:
        raise ParameterError(
            f"{where} must have a largest value between {1 / LARGEST:.0e} and {LARGEST:.0e} where "
            f"it is not normalised; got {largest:.3g}: use other units, or normalise=True."
        )
    return np.array(column)


def ordered_pair(
    given: Any, is_pair: Callable[[Any, Any], bool], words: str
) -> tuple[float, float]:
    """Return two numbers that are such a pair, or refuse them in words that name it."""
    try:
        low, high = given
        valid = bool(is_pair(low, high))
    except (TypeError, ValueError):
        valid = False
    if not valid:
        raise ParameterError(f"{words}; got {given!r}.")
    return float(low), float(high)


@attrs.frozen(eq=False, kw_only=True)
class Fitted(ABC):
    """Maximum-likelihood parameters, one row for each coordinate of each trace."""

    prior: type[Any]
    effective: Mapping[str, Array]  # by name; durations count samples (l / P in the paper)
    log_likelihoods: Array
    at_bound: NDArray[np.bool_]  # at an end of the search: the true optimum may lie beyond
    trace: NDArray[np.intp]
    coordinate: NDArray[np.intp]
    lengths: NDArray[np.intp]

    def __repr__(self) -> str:
        return f"<{self.prior.name} fitted to {count_text(len(np.unique(self.trace)), 'trace')}>"

    def _repr_html_(self) -> str:
        return str(self.to_pandas().to_html())

    @abstractmethod
    def between(self, low: Array, high: Array, trace: Mapping[str, int]) -> PriorClass:
        """Return the class with each fitted parameter between two values, about such traces."""

    @abstractmethod
    def columns(self) -> dict[str, NDArray[Any]]:
        """Return what the table shows of the parameters."""

    def prior_class(
        self, quantiles: tuple[float, float] = (0.25, 0.75), times: int | None = None
    ) -> PriorClass:
        """Return the class of priors on a regular grid between two quantiles of each parameter.

        `times` is the number of points of a trace; missing means the one that all traces have.
        """
        ends = ordered_pair(
            quantiles, lambda a, b: 0 <= a <= b <= 1, "quantiles must be 0 <= low <= high <= 1"
        )
        if times is None and np.unique(self.lengths).size > 1:
            raise ParameterError(
                f"prior_class must get times, as traces have from {self.lengths.min()} to "
                f"{self.lengths.max()} points; got none."
            )
        width = int(self.coordinate.max()) + 1
        trace = {"times": int(self.lengths[0]) if times is None else times}
        if width > 1:
            trace["dimensions"] = width
        low, high = np.quantile(list(self.effective.values()), ends, axis=1)
        return self.between(low, high, trace)

    def to_pandas(self) -> pd.DataFrame:
        """Return one row for each coordinate of each trace."""
        import pandas as pd

        told = {"log_likelihood": self.log_likelihoods, "at_bound": self.at_bound}
        places = {"trace": self.trace, "coordinate": self.coordinate}
        return pd.DataFrame({**places, **self.columns(), **told})

    def __len__(self) -> int:
        return len(self.trace)


@attrs.frozen(eq=False, kw_only=True, repr=False)
class FittedPriors(Fitted):
    """The most likely stationary priors.

    >>> import numpy as np
    >>> import sfumato as sf
    >>> traces = sf.priors.rbf(length_scale=3.0, times=40).belief().sample(
    ...     np.random.default_rng(0), 20
    ... )
    >>> fitted = sf.priors.rbf.fit(traces, noise=1e-4)
    >>> bool(2.0 < np.median(fitted.parameters["length_scale"]) < 4.0)
    True
    """

    fixed: Mapping[str, float]  # the parameters that were given
    noise: float  # the share of measurement error in the fitted model
    sampling_periods: Array  # the median step P between stamps

    @property
    def parameters(self) -> dict[str, Array]:
        """The fitted parameters in the units of the time stamps."""
        durations = self.prior.in_time_units
        return {
            name: values * self.sampling_periods if name in durations else values
            for name, values in self.effective.items()
        }

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return lengths, periods and parameters; durations also in samples."""
        durations = [name for name in self.prior.in_time_units if name in self.effective]
        return {
            "points": self.lengths,
            "sampling_period": self.sampling_periods,
            **self.parameters,
            **{f"effective_{name}": self.effective[name] for name in durations},
        }

    def between(self, low: Array, high: Array, trace: Mapping[str, int]) -> PriorClass:
        """Return the family of priors."""
        ends = zip(self.effective, low.tolist(), high.tolist(), strict=True)
        fitted = {name: Interval(a, b) if a < b else a for name, a, b in ends}
        return family_of(self.prior, {**self._fixed_in_samples(), **trace, **fitted})

    def _fixed_in_samples(self) -> dict[str, float]:
        """Return the fixed parameters, durations in samples."""
        durations = set(self.fixed) & set(self.prior.in_time_units)
        periods = np.unique(self.sampling_periods)
        if durations and np.ptp(periods) > 1e-9 * periods[-1]:
            raise ParameterError(
                f"prior_class must have one sampling period to count {', '.join(durations)} in "
                f"samples; got several."
            )
        return {
            name: value / float(periods[0]) if name in durations else value
            for name, value in self.fixed.items()
        }


@attrs.frozen(eq=False, kw_only=True, repr=False)
class FittedKernels(Fitted):
    """The most likely kernels of the shape of `start`, times in sampling periods.

    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> import sfumato as sf
    >>> rng = np.random.default_rng(0)
    >>> traces = sf.priors.rbf(length_scale=3.0, times=20).belief().sample(rng, 3)
    >>> sf.priors.kernel.fit(traces, RBF(1.0)).names
    ('length_scale',)
    """

    start: Any

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the fitted parameters."""
        return tuple(self.effective)

    @property
    def values(self) -> Array:
        """The fitted parameters, (series, parameters)."""
        return np.stack(list(self.effective.values()), axis=1)

    def kernel(self, values: Array) -> KernelExpression:
        """Return the kernel with the given values of the fitted parameters."""
        return KernelExpression.read(self.start.clone_with_theta(np.log(values)))

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the fitted parameters."""
        return dict(self.effective)

    def between(self, low: Array, high: Array, trace: Mapping[str, int]) -> PriorClass:
        """Return the family of kernels."""
        table = self.kernel(low).plain()
        for name, a, b in zip(self.names, low.tolist(), high.tolist(), strict=True):
            if a < b:
                table = replace_at(table, name.replace("__", "."), Interval(a, b))
        return family_of(self.prior, {"kernel": table, **trace})


def fit_kernels(
    cls: type[Kernel], traces: Any, kernel: Any, times: Any, *, noise: float, normalise: bool
) -> FittedKernels:
    """Return the kernel fitted to every series by scikit-learn's own search."""
    check_noise(cls.name, noise)
    try:
        expression = KernelExpression.read(kernel)
    except ValueError as reason:
        got = KernelExpression.open_parts(kernel)
        raise ParameterError(f"{cls.name}.fit kernel must be {reason}; got {got!r}.") from None
    start = expression.scikit_learn() if isinstance(kernel, (dict, KernelExpression)) else kernel
    if not start.theta.size:
        raise ParameterError(f"{cls.name}.fit kernel must have a free parameter; got {kernel!r}.")
    series = read_series(cls.name, traces, times, normalise=normalise)
    found = [_fitted(start, one, noise) for one in with_progress(series, f"fitting {cls.name}")]
    thetas = np.array([theta for theta, _ in found])
    low, high = start.bounds.T
    names = [free.name for free in start.hyperparameters if not free.fixed]
    return FittedKernels(
        prior=cls,
        start=start,
        effective=dict(zip(names, np.exp(thetas).T, strict=True)),
        log_likelihoods=np.array([likelihood for _, likelihood in found]),
        at_bound=np.any((thetas <= low + 1e-5) | (thetas >= high - 1e-5), axis=1),
        **places_of(series),
    )


def _fitted(start: Any, series: Series, noise: float) -> tuple[Array, float]:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.gaussian_process import GaussianProcessRegressor

    model = GaussianProcessRegressor(start, alpha=noise, n_restarts_optimizer=2, random_state=0)
    with warnings.catch_warnings():
        # A parameter at the end of its range is seen in the values.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(series.stamps[:, None], series.values)
    return np.asarray(model.kernel_.theta), float(model.log_marginal_likelihood_value_)
