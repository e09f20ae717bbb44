"""What fitting finds: parameters for every trace, and the class they span together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError
from sfumato.prior_classes import Interval
from sfumato.prior_families import Family
from sfumato.protocols import PriorClass
from sfumato_gaussian_process.fit_series import check_quantiles, common_length

if TYPE_CHECKING:
    import pandas as pd

    from sfumato_gaussian_process.stationary_prior import StationaryPrior

Array = NDArray[np.float64]


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
