"""scikit-learn kernels fitted to traces, one by one."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError
from sfumato.nested_tables import replaced
from sfumato.prior_classes import Interval
from sfumato.prior_families import family_of
from sfumato.progress import watched
from sfumato.protocols import PriorClass
from sfumato_gaussian_process.fit_series import (
    Series,
    check_noise,
    check_quantiles,
    common_length,
    read_series,
)
from sfumato_gaussian_process.kernel_expression import KernelExpression

if TYPE_CHECKING:
    import pandas as pd

    from sfumato_gaussian_process.kernel import Kernel

Array = NDArray[np.float64]


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
