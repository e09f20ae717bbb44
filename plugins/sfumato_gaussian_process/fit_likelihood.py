"""Maximum likelihood of stationary priors, for many traces at once."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError
from sfumato.report.delayed_progress import delayed_progress
from sfumato_gaussian_process.fit_series import Series, read_series
from sfumato_gaussian_process.fitted_priors import FittedPriors

if TYPE_CHECKING:
    from sfumato_gaussian_process.stationary_prior import StationaryPrior

Array = NDArray[np.float64]
Points = NDArray[np.float64]  # (count, parameters): logarithms, durations in sampling periods

GRID = {1: 33, 2: 17}
"""Points of the first grid along each fitted parameter."""

STEP = 1e-5
"""Relative change of a parameter at which the search stops."""

CHUNK = 2_000_000
"""Largest number of matrix entries handled at once."""


@attrs.frozen
class _Model:
    """The family of correlations that is fitted, and what of it is free."""

    cls: type[StationaryPrior]
    free: tuple[str, ...]
    fixed: Mapping[str, float]
    noise: float
    normalised: bool

    def log_likelihoods(self, lags: Array, periods: Array, points: Points, values: Array) -> Array:
        """Return the log likelihood of values (..., N, k) at points (..., p), shape (..., k).

        With R the correlation plus noise: −½ (xᵀR⁻¹x + log det 2πR), or, if the variance is free,
        its value at the best variance xᵀR⁻¹x / N.
        """
        size = lags.shape[-1]
        matrices = self.correlations(lags, periods, points)
        matrices[..., np.arange(size), np.arange(size)] += self.noise
        factors = np.linalg.cholesky(matrices)
        whitened = _forward_substituted(factors, values)
        squares = np.sum(whitened**2, axis=-2)
        diagonal = np.diagonal(factors, axis1=-2, axis2=-1)
        determinant = 2 * np.sum(np.log(diagonal), axis=-1)[..., None]
        determinant = determinant + size * math.log(2 * math.pi)
        if self.normalised:
            return np.asarray(-0.5 * (squares + determinant))
        with np.errstate(divide="ignore"):  # a constant trace of zeros has no best variance
            return np.asarray(-0.5 * (size * np.log(squares / size) + size + determinant))

    def variances(self, lags: Array, periods: Array, points: Points, values: Array) -> Array:
        """Return the best variance xᵀR⁻¹x / N of each series."""
        size = lags.shape[-1]
        matrices = self.correlations(lags, periods, points) + self.noise * np.eye(size)
        solved = np.linalg.solve(matrices, values)
        return np.asarray(np.sum(values * solved, axis=-2) / size)

    def correlations(self, lags: Array, periods: Array, points: Points) -> Array:
        """Return the correlation matrices; lags and durations in sampling periods."""
        shape: list[Any] = []
        for name in self.cls.shape_parameters:
            if name in self.free:
                shape.append(np.exp(points[..., self.free.index(name)])[..., None, None])
            elif name in self.cls.in_time_units:
                shape.append(self.fixed[name] / periods[..., None, None])
            else:
                shape.append(self.fixed[name])
        return self.cls.correlation(lags, *shape)


def _forward_substituted(factors: Array, values: Array) -> Array:
    """Return L⁻¹x for stacks of lower triangular L (..., N, N) and values (..., N, k)."""
    size = factors.shape[-1]
    batch = np.broadcast_shapes(factors.shape[:-2], values.shape[:-2])
    solved = np.empty((*batch, size, values.shape[-1]))
    for i in range(size):
        known = factors[..., i : i + 1, :i] @ solved[..., :i, :]
        solved[..., i, :] = (values[..., i, :] - known[..., 0, :]) / factors[..., i, i, None]
    return solved


def fit_traces(
    cls: type[StationaryPrior],
    traces: Any,
    times: Any,
    noise: float,
    normalise: bool,  # noqa: FBT001 - passed on from a keyword
    bounds: Mapping[str, tuple[float, float]],
    fixed: Mapping[str, float],
) -> FittedPriors:
    """Return the fitted parameters of every trace: a shared grid first, then a pattern search.

    Traces whose stamps are equal up to origin and unit share the factorisations of the grid.
    """
    if isinstance(noise, bool) or not (math.isfinite(noise) and noise > 0):
        raise ParameterError(f"{cls.name}.fit noise must be finite and positive; got {noise!r}.")
    model = _model(cls, noise, normalise, bounds, fixed)
    series = read_series(cls.name, traces, times, normalise=normalise)
    low, high = _limits(model, series, bounds)
    best = np.empty((len(series), len(model.free)))
    with delayed_progress(f"fitting {cls.name}", 2 * len(series)) as advance:
        for group in _alike(series):
            best[group] = _on_grid(model, [series[i] for i in group], low[group], high[group])
            advance(len(group))
        values = np.empty(len(series))
        variances = np.ones(len(series))
        for group in _equally_long(series):
            chosen = [series[i] for i in group]
            best[group], values[group] = _refined(
                model, chosen, best[group], low[group], high[group]
            )
            if not normalise:
                variances[group] = _at(model.variances, chosen, best[group])
            advance(len(group))
    return _fitted(model, series, best, values, variances, (low, high))


def _model(
    cls: type[StationaryPrior],
    noise: float,
    normalise: bool,  # noqa: FBT001 - passed on from a keyword
    bounds: Mapping[str, Any],
    fixed: Mapping[str, float],
) -> _Model:
    defaults = {item.name: item for item in cls.parameters()}
    known: dict[str, float] = {}
    for name in (*fixed, *bounds):
        if name not in cls.shape_parameters:
            raise ParameterError(
                f"{cls.name}.fit takes {', '.join(cls.shape_parameters)} as shape parameters; "
                f"got {name!r}."
            )
    for name in cls.shape_parameters:
        if name in fixed:
            known[name] = cls(**_stand_ins(cls, name, fixed[name])).__getattribute__(name)
        elif name not in cls.fit_ranges:
            known[name] = defaults[name].default
    free = tuple(name for name in cls.shape_parameters if name not in known)
    if not free:
        raise ParameterError(f"{cls.name}.fit must have a free parameter; got all of them fixed.")
    return _Model(cls, free, known, float(noise), normalise)


def _stand_ins(cls: type[StationaryPrior], name: str, value: float) -> dict[str, Any]:
    """Return arguments that let the class itself check one value."""
    return {**dict.fromkeys(cls.fit_ranges, 1.0), "times": 1, name: value}


def _limits(
    model: _Model, series: Sequence[Series], bounds: Mapping[str, tuple[float, float]]
) -> tuple[Points, Points]:
    """Return the logarithms of the ends of the search, (series, parameters)."""
    periods = np.array([one.period for one in series])
    ends = []
    for name in model.free:
        if name in bounds:
            low, high = bounds[name]
            if not 0 < low < high < math.inf:
                raise ParameterError(
                    f"{model.cls.name}.fit bounds must be 0 < low < high; got {low} and {high}."
                )
            unit = periods if name in model.cls.in_time_units else np.ones_like(periods)
            ends.append((low / unit, high / unit))
        else:
            low, high = model.cls.fit_ranges[name]
            ends.append((np.full(len(series), low), np.full(len(series), high)))
    return (
        np.log(np.stack([low for low, _ in ends], axis=1)),
        np.log(np.stack([high for _, high in ends], axis=1)),
    )


def _alike(series: Sequence[Series]) -> Iterator[list[int]]:
    """Yield the series whose stamps agree up to origin and unit: they share correlations."""
    groups: dict[bytes, list[int]] = defaultdict(list)
    for position, one in enumerate(series):
        groups[np.round(one.stamps, 9).tobytes()].append(position)
    yield from groups.values()


def _equally_long(series: Sequence[Series]) -> Iterator[list[int]]:
    """Yield chunks of series of one length."""
    groups: dict[int, list[int]] = defaultdict(list)
    for position, one in enumerate(series):
        groups[one.values.size].append(position)
    for size, members in groups.items():
        step = max(1, CHUNK // size**2)
        for start in range(0, len(members), step):
            yield members[start : start + step]


def _on_grid(model: _Model, series: Sequence[Series], low: Points, high: Points) -> Points:
    """Return each series' best point of one grid, among those inside its limits."""
    axes = [
        np.linspace(low[:, k].min(), high[:, k].max(), GRID[len(model.free)])
        for k in range(len(model.free))
    ]
    points = np.array(list(itertools.product(*axes)))
    lags, values = series[0].lags(), np.stack([one.values for one in series], axis=1)
    known = model.fixed.keys() & set(model.cls.in_time_units)
    if known and len({one.period for one in series}) > 1:
        # A fixed duration is another number of samples in each series: no grid is shared.
        parts = [
            _on_grid(model, [one], low[[i]], high[[i]]) for i, one in enumerate(series)
        ]
        return np.concatenate(parts)
    found = []
    step = max(1, CHUNK // lags.size)
    for start in range(0, len(points), step):
        some = points[start : start + step]
        periods = np.full(len(some), series[0].period)
        found.append(model.log_likelihoods(lags, periods, some, values))
    likelihoods = np.concatenate(found)  # (points, series)
    inside = np.all((points[:, None] >= low - 1e-12) & (points[:, None] <= high + 1e-12), axis=2)
    likelihoods = np.where(inside, likelihoods, -np.inf)
    chosen = points[np.argmax(likelihoods, axis=0)]
    return np.where(np.any(inside, axis=0)[:, None], chosen, (low + high) / 2)


def _refined(
    model: _Model, series: Sequence[Series], start: Points, low: Points, high: Points
) -> tuple[Points, Array]:
    """Climb from each start: to the best neighbour on a stencil, or halve the stencil."""
    width = len(model.free)
    offsets = [
        np.array(o, dtype=float) for o in itertools.product((-1, 0, 1), repeat=width) if any(o)
    ]
    best = np.clip(start, low, high)
    values = _at(model.log_likelihoods, series, best)
    step = (high - low) / (GRID[width] - 1)
    active = np.arange(len(series))
    while active.size:
        some = [series[i] for i in active]
        tried = [np.clip(best[active] + o * step[active], low[active], high[active]) for o in offsets]
        found = np.stack([_at(model.log_likelihoods, some, points) for points in tried])
        which = np.argmax(found, axis=0)
        rows = np.arange(active.size)
        better = found[which, rows] > values[active]
        winners = np.stack(tried)[which, rows]
        best[active[better]] = winners[better]
        values[active[better]] = found[which, rows][better]
        step[active[~better]] /= 2
        active = active[np.max(step[active], axis=1) > STEP]
    return best, values


def _at(
    function: Callable[[Array, Array, Points, Array], Array],
    series: Sequence[Series],
    points: Points,
) -> Array:
    """Evaluate a function of the model at one point for each series."""
    lags = np.stack([one.lags() for one in series])
    periods = np.array([one.period for one in series])
    values = np.stack([one.values for one in series])[..., None]
    return function(lags, periods, points, values)[:, 0]


def _fitted(
    model: _Model,
    series: Sequence[Series],
    best: Points,
    values: Array,
    variances: Array,
    limits: tuple[Points, Points],
) -> FittedPriors:
    numbers = np.exp(best)
    effective = {name: numbers[:, k] for k, name in enumerate(model.free)}
    low, high = limits
    near = 2 * STEP
    if not model.normalised:
        effective["variance"] = variances
    return FittedPriors(
        prior=model.cls,
        fixed=dict(model.fixed),
        noise=model.noise,
        effective=effective,
        sampling_periods=np.array([one.period for one in series]),
        log_likelihoods=values,
        at_bound=np.any((best <= low + near) | (best >= high - near), axis=1),
        trace=np.array([one.trace for one in series]),
        coordinate=np.array([one.coordinate for one in series]),
        lengths=np.array([one.values.size for one in series]),
    )
