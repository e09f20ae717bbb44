"""Reading traces for fitting: one real series for every coordinate of every trace."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.comparison.executors import watched
from sfumato.errors import ParameterError
from sfumato.prior_classes.families import Family, family_of
from sfumato.prior_classes.sets import Interval
from sfumato.protocols import PriorClass
from sfumato.values import replaced
from sfumato_gaussian_process.kernel import KernelExpression

if TYPE_CHECKING:
    import pandas as pd

    from sfumato_gaussian_process.kernel import Kernel
    from sfumato_gaussian_process.stationary import StationaryPrior


Array = NDArray[np.float64]

LARGEST = 1e140
"""Values beyond it, or below its inverse throughout, have no usable squares in float64."""


@attrs.frozen(eq=False)
class Series:
    """One coordinate of one trace.

    Attributes
    ----------
    values
        The numbers.
    stamps
        Their times from the first, in sampling periods.
    period
        The sampling period: the median step between stamps.
    """

    trace: int
    coordinate: int
    values: Array
    stamps: Array
    period: float

    def lags(self) -> Array:
        """Return the table of lags, in sampling periods."""
        return np.asarray(np.abs(self.stamps[:, None] - self.stamps[None, :]))


def read_series(name: str, traces: Any, times: Any, *, normalise: bool) -> list[Series]:
    """Return the series of all traces; refuse what cannot be fitted, naming the trace.

    >>> one, = read_series("rbf", [[1.0, 3.0]], None, normalise=True)
    >>> one.values, one.period
    (array([-1.,  1.]), 1.0)
    """
    if isinstance(traces, (str, bytes)) or not hasattr(traces, "__len__") or len(traces) == 0:
        raise ParameterError(f"{name}.fit must get one or more traces; got {traces!r}.")
    if not isinstance(normalise, (bool, np.bool_)):
        raise ParameterError(f"{name}.fit normalise must be True or False; got {normalise!r}.")
    found = []
    for position, given in enumerate(traces):
        where = f"{name}.fit trace {position}"
        table = _table(given, where)
        stamps = _stamps(times, position, len(traces), len(table), where)
        period = float(np.median(np.diff(stamps)))
        relative = (stamps - stamps[0]) / period
        for coordinate, column in enumerate(table.T):
            values = _normalised(column, where) if normalise else _as_given(column, where)
            found.append(Series(position, coordinate, values, relative, period))
    return found


def check_noise(name: str, noise: Any) -> None:
    """Refuse a measurement error that is not a positive number.

    >>> check_noise("rbf", 0.01)
    """
    number = isinstance(noise, Real) and not isinstance(noise, bool)
    if not (number and math.isfinite(noise) and noise > 0):
        raise ParameterError(f"{name}.fit noise must be finite and positive; got {noise!r}.")


def check_quantiles(quantiles: Any) -> None:
    """Refuse what is no pair of ordered quantiles.

    >>> check_quantiles((0.25, 0.75))
    """
    try:
        low, high = quantiles
        valid = bool(0 <= low <= high <= 1)
    except (TypeError, ValueError):
        valid = False
    if not valid:
        raise ParameterError(f"quantiles must be 0 <= low <= high <= 1; got {quantiles!r}.")


def common_length(lengths: NDArray[np.intp]) -> int:
    """Return the one number of points that all traces have, or refuse.

    >>> common_length(np.array([5, 5]))
    5
    """
    if np.unique(lengths).size > 1:
        raise ParameterError(
            f"prior_class must get times, as traces have from {lengths.min()} to "
            f"{lengths.max()} points; got none."
        )
    return int(lengths[0])


def _table(given: Any, where: str) -> Array:
    """Return a trace as (times, coordinates)."""
    try:
        array = np.asarray(given)
    except ValueError:
        raise ParameterError(f"{where} must have rows of equal length; got others.") from None
    if array.dtype.kind not in "iuf" or array.ndim not in (1, 2):
        raise ParameterError(
            f"{where} must be an array (times,) or (times, d) of real numbers; got "
            f"{array.dtype} of shape {array.shape}."
        )
    table = array.astype(np.float64)[:, None] if array.ndim == 1 else array.astype(np.float64)
    if len(table) < 2 or table.shape[1] == 0 or not np.all(np.isfinite(table)):
        raise ParameterError(
            f"{where} must have two or more finite values; got shape {array.shape}."
        )
    return table


def _stamps(times: Any, position: int, count: int, length: int, where: str) -> Array:
    if times is None:
        return np.arange(length, dtype=np.float64)
    own = times
    if isinstance(times, Sequence) or np.ndim(times) == 2:
        nested = len(times) > 0 and np.ndim(times[0]) == 1
        if nested and len(times) != count:
            raise ParameterError(
                f"{where} must have its own times; got {len(times)} lists of them."
            )
        own = times[position] if nested else times
    try:
        stamps = np.asarray(own, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(f"{where} must have {length} numbers as times; got others.") from None
    if stamps.shape != (length,) or not np.all(np.isfinite(stamps)):
        raise ParameterError(f"{where} must have {length} finite times; got shape {stamps.shape}.")
    if not np.all(np.diff(stamps) > 0):
        raise ParameterError(f"{where} must have increasing times; got others.")
    return stamps


def _normalised(column: Array, where: str) -> Array:
    """Return the values with mean zero and variance one, whatever their unit."""
    largest = float(np.max(np.abs(column)))
    scaled = column / largest if largest > 0 else column
    centred = scaled - scaled.mean()
    deviation = float(centred.std())
    if not deviation > 1e-12:
        raise ParameterError(f"{where} must not be constant; got one value throughout.")
    return np.asarray(centred / deviation)


def _as_given(column: Array, where: str) -> Array:
    """Return the values, if their squares fit float64 and a variance can be fitted to them."""
    largest = float(np.max(np.abs(column)))
    if not 1 / LARGEST <= largest <= LARGEST:
        raise ParameterError(
            f"{where} must have a largest value between {1 / LARGEST:.0e} and {LARGEST:.0e} where "
            f"it is not normalised; got {largest:.3g}: use other units, or normalise=True."
        )
    return np.array(column)


@attrs.frozen(eq=False, kw_only=True)
class FittedPriors:
    """Maximum-likelihood parameters, one row for each coordinate of each trace.

    Attributes
    ----------
    effective
        The fitted parameters; durations count samples (l / P in the paper).
    sampling_periods
        The median step P between stamps.
    fixed
        The parameters that were given.
    noise
        The share of measurement error in the fitted model.
    log_likelihoods, at_bound
        How well the best parameters explain the trace, and whether they lie at an end of the
        search, so that the true optimum may lie beyond.
    trace, coordinate, lengths
        Which trace and coordinate a row belongs to, and the number of its points.

    >>> import sfumato as sf
    >>> traces = sf.priors.rbf(length_scale=3.0, times=40).belief().sample(
    ...     np.random.default_rng(0), 20
    ... )
    >>> fitted = sf.priors.rbf.fit(traces, noise=1e-4)
    >>> bool(2.0 < np.median(fitted.parameters["length_scale"]) < 4.0)
    True
    """

    prior: type[StationaryPrior]
    fixed: Mapping[str, float]
    noise: float
    effective: Mapping[str, Array]
    sampling_periods: Array
    log_likelihoods: Array
    at_bound: NDArray[np.bool_]
    trace: NDArray[np.intp]
    coordinate: NDArray[np.intp]
    lengths: NDArray[np.intp]

    @property
    def parameters(self) -> dict[str, Array]:
        """The fitted parameters in the units of the time stamps."""
        durations = self.prior.in_time_units
        return {
            name: values * self.sampling_periods if name in durations else values
            for name, values in self.effective.items()
        }

    def prior_class(
        self, quantiles: tuple[float, float] = (0.25, 0.75), times: int | None = None
    ) -> PriorClass:
        """Return the class of priors on a regular grid between two quantiles of each parameter.

        Parameters
        ----------
        quantiles
            The ends of the class, such as the quartiles.
        times
            Number of points of a trace; missing means the one that all traces have.
        """
        check_quantiles(quantiles)
        points = common_length(self.lengths) if times is None else times
        settled: dict[str, Any] = {**self._fixed_in_samples(), "times": points}
        width = int(self.coordinate.max()) + 1
        if width > 1:
            settled["dimensions"] = width
        varying = {}
        for name, values in self.effective.items():
            ends = np.quantile(values, quantiles)
            if ends[0] < ends[1]:
                varying[name] = Interval(float(ends[0]), float(ends[1]))
            else:
                settled[name] = float(ends[0])
        return Family(self.prior, settled, varying) if varying else self.prior(**settled)

    def to_pandas(self) -> pd.DataFrame:
        """Return one row for each coordinate of each trace."""
        import pandas as pd

        return pd.DataFrame(
            {
                "trace": self.trace,
                "coordinate": self.coordinate,
                "points": self.lengths,
                "sampling_period": self.sampling_periods,
                **self.parameters,
                **{
                    f"effective_{name}": self.effective[name]
                    for name in self.effective
                    if name in self.prior.in_time_units
                },
                "log_likelihood": self.log_likelihoods,
                "at_bound": self.at_bound,
            }
        )

    def __len__(self) -> int:
        return len(self.trace)

    def _fixed_in_samples(self) -> dict[str, float]:
        """Return the fixed parameters, durations in samples."""
        durations = set(self.fixed) & set(self.prior.in_time_units)
        periods = np.unique(self.sampling_periods)
        if durations and periods.size > 1 and np.ptp(periods) > 1e-9 * periods[-1]:
            raise ParameterError(
                f"prior_class must have one sampling period to count {', '.join(durations)} in "
                f"samples; got several."
            )
        return {
            name: value / float(periods[0]) if name in durations else value
            for name, value in self.fixed.items()
        }


@attrs.frozen(eq=False, kw_only=True)
class FittedKernels:
    """The most likely kernel of every coordinate of every trace, times in sampling periods.

    Attributes
    ----------
    start
        The kernel that was fitted.
    names, values
        The fitted parameters and their values, (series, parameters).
    log_likelihoods, at_bound
        How well the best parameters explain each series, and whether one of them lies at an end
        of the search.
    trace, coordinate, lengths
        Which trace and coordinate a row belongs to, and the number of its points.

    >>> import sfumato as sf
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> rng = np.random.default_rng(0)
    >>> traces = sf.priors.rbf(length_scale=3.0, times=20).belief().sample(rng, 3)
    >>> sf.priors.kernel.fit(traces, RBF(1.0)).names
    ('length_scale',)
    """

    prior: type[Kernel]
    start: Any
    names: tuple[str, ...]
    values: Array
    log_likelihoods: Array
    at_bound: NDArray[np.bool_]
    trace: NDArray[np.intp]
    coordinate: NDArray[np.intp]
    lengths: NDArray[np.intp]

    @property
    def effective(self) -> dict[str, Array]:
        """The fitted parameters by name; durations count samples."""
        return dict(zip(self.names, self.values.T, strict=True))

    def kernel(self, values: Array) -> KernelExpression:
        """Return the kernel with the given values of the fitted parameters."""
        return KernelExpression.read(self.start.clone_with_theta(np.log(values)))

    def prior_class(
        self, quantiles: tuple[float, float] = (0.25, 0.75), times: int | None = None
    ) -> PriorClass:
        """Return the class of priors on a regular grid between two quantiles of each parameter.

        Without `times`, a trace has as many points as all the fitted ones.
        """
        check_quantiles(quantiles)
        points = common_length(self.lengths) if times is None else times
        ends = np.quantile(self.values, quantiles, axis=0)
        table = self.kernel(ends[0]).plain()
        for name, (low, high) in zip(self.names, ends.T.tolist(), strict=True):
            if low < high:
                table = replaced(table, name.replace("__", "."), Interval(low, high))
        width = int(self.coordinate.max()) + 1
        dimensions = {"dimensions": width} if width > 1 else {}
        return family_of(self.prior, {"kernel": table, "times": points, **dimensions})

    def to_pandas(self) -> pd.DataFrame:
        """Return one row for each coordinate of each trace."""
        import pandas as pd

        return pd.DataFrame(
            {
                "trace": self.trace,
                "coordinate": self.coordinate,
                **self.effective,
                "log_likelihood": self.log_likelihoods,
                "at_bound": self.at_bound,
            }
        )

    def __len__(self) -> int:
        return len(self.trace)


def fit_kernels(
    cls: type[Kernel], traces: Any, kernel: Any, times: Any, *, noise: float, normalise: bool
) -> FittedKernels:
    """Return the kernel fitted to every series by scikit-learn's own search."""
    check_noise(cls.name, noise)
    try:
        expression = KernelExpression.read(kernel)
    except ValueError as reason:
        raise ParameterError(
            f"{cls.name}.fit kernel must be {reason}; got {KernelExpression.opened(kernel)!r}."
        ) from None
    start = expression.scikit_learn() if isinstance(kernel, (dict, KernelExpression)) else kernel
    if not start.theta.size:
        raise ParameterError(f"{cls.name}.fit kernel must have a free parameter; got {kernel!r}.")
    series = read_series(cls.name, traces, times, normalise=normalise)
    found = [_fitted(start, one, noise) for one in watched(series, f"fitting {cls.name}")]
    thetas = np.array([theta for theta, _ in found])
    low, high = start.bounds.T
    return FittedKernels(
        prior=cls,
        start=start,
        names=tuple(free.name for free in start.hyperparameters if not free.fixed),
        values=np.exp(thetas),
        log_likelihoods=np.array([likelihood for _, likelihood in found]),
        at_bound=np.any((thetas <= low + 1e-5) | (thetas >= high - 1e-5), axis=1),
        trace=np.array([one.trace for one in series]),
        coordinate=np.array([one.coordinate for one in series]),
        lengths=np.array([len(one.stamps) for one in series]),
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
