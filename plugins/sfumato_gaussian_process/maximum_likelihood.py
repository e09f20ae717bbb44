"""Fitting stationary priors to many traces by maximum likelihood."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from sfumato.comparison.executors import with_progress
from sfumato.errors import ParameterError
from sfumato.matrices.matrix import Array
from sfumato_gaussian_process.fitting import (
    FittedPriors,
    Series,
    check_noise,
    ordered_pair,
    places_of,
    read_series,
)

if TYPE_CHECKING:
    from sfumato_gaussian_process.stationary import StationaryPrior

FARTHEST = 8.0  # longest step along any axis, in units of the stencil


def quadratic_step(offsets: Array, gains: Array) -> Array:
    """Return where f is largest if f(u) = gᵀu + ½ uᵀH u, in units of the stencil.

    Offsets (m, w) are those of the stencil, gains (m, k) the values there less the one at the
    centre, for k functions; the result is (k, w). H is taken by its absolute eigenvalues, so that
    the step leads uphill along a ridge that is not curved at all, and it is shortened to
    `FARTHEST`. Where a gain is not finite, it is zero.
    """
    width = offsets.shape[1]
    rows, columns = np.triu_indices(width)
    squares = offsets[:, rows] * offsets[:, columns] / np.where(rows == columns, 2.0, 1.0)
    usable = np.all(np.isfinite(gains), axis=0)
    fitted = np.linalg.pinv(np.hstack([offsets, squares])) @ np.where(usable, gains, 0.0)
    slopes, curved = fitted[:width].T, fitted[width:].T
    hessians = np.zeros((gains.shape[1], width, width))
    hessians[:, rows, columns] = curved
    hessians[:, columns, rows] = curved
    values, vectors = np.linalg.eigh(hessians)
    sizes = np.abs(values)
    sizes = np.maximum(sizes, 1e-12 * sizes.max(axis=1, keepdims=True) + 1e-300)
    along = np.einsum("kij,ki->kj", vectors, slopes) / sizes
    steps = np.einsum("kij,kj->ki", vectors, np.clip(along, -1e9, 1e9))
    longest = np.max(np.abs(steps), axis=1, keepdims=True)
    return np.asarray(steps * np.minimum(1.0, FARTHEST / np.maximum(longest, FARTHEST)))


@attrs.frozen
class TraceLikelihood:
    """The family of correlations that is fitted, and what of it is free.

    Points (count, parameters) are logarithms of the free parameters, durations in sampling periods.
    """

    cls: type[StationaryPrior]
    free: tuple[str, ...]
    fixed: Mapping[str, float]
    noise: float
    normalised: bool

    def log_likelihoods(self, lags: Array, periods: Array, points: Array, values: Array) -> Array:
        """Return the log likelihood of values (..., N, k) at points (..., p), shape (..., k).

        With R the correlation plus noise: −½ (xᵀR⁻¹x + log det 2πR), or, if the variance is free,
        its value at the best variance xᵀR⁻¹x / N.
        """
        size = lags.shape[-1]
        squares, determinant = self._whitened(lags, periods, points, values)
        if self.normalised:
            return np.asarray(-0.5 * (squares + determinant))
        with np.errstate(divide="ignore"):  # a constant trace of zeros has no best variance
            return np.asarray(-0.5 * (size * np.log(squares / size) + size + determinant))

    def variances(self, lags: Array, periods: Array, points: Array, values: Array) -> Array:
        """Return the best variance xᵀR⁻¹x / N of each series."""
        squares, _ = self._whitened(lags, periods, points, values)
        return np.asarray(squares / lags.shape[-1])

    def _whitened(
        self, lags: Array, periods: Array, points: Array, values: Array
    ) -> tuple[Array, Array]:
        """Return xᵀR⁻¹x and log det 2πR."""
        size = lags.shape[-1]
        matrices = self.correlations(lags, periods, points)
        matrices[..., np.arange(size), np.arange(size)] += self.noise
        factors: Array = np.linalg.cholesky(matrices).astype(np.float64, copy=False)
        squares = np.sum(_forward_substituted(factors, values) ** 2, axis=-2)
        diagonal = np.diagonal(factors, axis1=-2, axis2=-1)
        determinant = 2 * np.sum(np.log(diagonal), axis=-1)[..., None]
        return squares, determinant + size * math.log(2 * math.pi)

    def correlations(self, lags: Array, periods: Array, points: Array) -> Array:
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
    batch = np.broadcast_shapes(factors.shape[:-2], values.shape[:-2])
    solved = np.empty((*batch, *values.shape[-2:]))
    for i in range(factors.shape[-1]):
        known = factors[..., i : i + 1, :i] @ solved[..., :i, :]
        solved[..., i, :] = (values[..., i, :] - known[..., 0, :]) / factors[..., i, i, None]
    return solved


# Points of the first grid along a parameter; likelihoods have narrow peaks in periods.
GRID = {"length_scale": 25, "period": 97}
STEP = 1e-5  # relative change of a parameter at which the search stops
# Smallest gain of log likelihood, for each point of a trace, that the search takes a step for.
GAIN = 1e-9
CLOSE = 1.0  # log likelihood by which a second peak of the grid may be lower and yet be climbed
CHUNK = 500_000  # largest number of matrix entries handled at once


def fit_traces(
    cls: type[StationaryPrior],
    traces: Any,
    times: Any,
    *,
    noise: float,
    normalise: bool,
    bounds: Mapping[str, tuple[float, float]],
    fixed: Mapping[str, float],
) -> FittedPriors:
    """Return the fitted parameters of every trace: a shared grid first, then a pattern search.

    Traces whose stamps are equal up to origin and unit share the factorisations of the grid.
    """
    check_noise(cls.name, noise)
    if normalise and "variance" in fixed:
        raise ParameterError(
            f"{cls.name}.fit must have normalise=False where the variance is known; got both."
        )
    settled = normalise or "variance" in fixed
    model = _model(cls, noise, settled, bounds, fixed)
    variance = model.fixed.get("variance", 1.0)
    series = [
        attrs.evolve(one, values=one.values / math.sqrt(variance))
        for one in read_series(cls.name, traces, times, normalise=normalise)
    ]
    low, high = _limits(model, series, bounds)
    best, rivals = np.empty((2, len(series), len(model.free)))
    alike = _grouped(series, lambda one: np.round(one.stamps, 9).tobytes())
    for group in with_progress(alike, f"fitting {cls.name}: a grid for all", len(alike)):
        found = _on_grid(model, [series[i] for i in group], low[group], high[group])
        best[group], rivals[group] = found
    values, variances = np.empty(len(series)), np.ones(len(series))
    chunks = list(_equally_long(series))
    for group in with_progress(chunks, f"fitting {cls.name}: each trace", len(chunks)):
        chosen = [series[i] for i in group]
        best[group], values[group] = _refined(model, chosen, best[group], low[group], high[group])
        twin = np.flatnonzero(np.isfinite(rivals[group, 0]))  # a second peak is as likely
        if twin.size:
            at, some = np.array(group)[twin], [chosen[i] for i in twin.tolist()]
            other, likelihood = _refined(model, some, rivals[at], low[at], high[at])
            higher = likelihood > values[at]
            best[at[higher]], values[at[higher]] = other[higher], likelihood[higher]
        if not settled:
            variances[group] = _at(model.variances, chosen, best[group])
    near, places = 2 * STEP, places_of(series)
    effective = {name: np.exp(best[:, k]) for k, name in enumerate(model.free)}
    return FittedPriors(
        prior=cls,
        fixed=model.fixed,
        noise=model.noise,
        effective=effective if settled else {**effective, "variance": variances},
        sampling_periods=np.array([one.period for one in series]),
        log_likelihoods=values - places["lengths"] * math.log(variance) / 2,
        at_bound=np.any((best <= low + near) | (best >= high - near), axis=1),
        **places,
    )


def _model(
    cls: type[StationaryPrior],
    noise: float,
    normalised: bool,
    bounds: Mapping[str, Any],
    fixed: Mapping[str, float],
) -> TraceLikelihood:
    """Return what is to be fitted: shape parameters that are not known and have a range."""
    if not isinstance(bounds, Mapping):
        raise ParameterError(f"{cls.name}.fit bounds must be a table of pairs; got {bounds!r}.")
    for name in (*(name for name in fixed if name != "variance"), *bounds):
        if name not in cls.shape_parameters:
            raise ParameterError(
                f"{cls.name}.fit takes {', '.join(cls.shape_parameters)} as shape parameters; "
                f"got {name!r}."
            )
    stand_ins = {**dict.fromkeys(cls.fit_ranges, 1.0), "times": 1}
    # The class itself checks each value.
    known = {n: getattr(cls(**{**stand_ins, n: value}), n) for n, value in fixed.items()}
    unfitted = set(cls.shape_parameters) - set(cls.fit_ranges) - set(known)
    known |= {item.name: item.default for item in cls.parameters() if item.name in unfitted}
    free = tuple(name for name in cls.shape_parameters if name not in known)
    if not free:
        raise ParameterError(f"{cls.name}.fit must have a free parameter; got all of them fixed.")
    return TraceLikelihood(cls, free, known, float(noise), normalised)


def _limits(
    model: TraceLikelihood, series: Sequence[Series], bounds: Mapping[str, tuple[float, float]]
) -> tuple[Array, Array]:
    """Return the logarithms of the ends of the search, (series, parameters)."""
    periods, ends = np.array([one.period for one in series]), []
    for name in model.free:
        low, high = model.cls.fit_ranges[name]
        unit = np.ones(len(series))
        if name in bounds:
            words = f"{model.cls.name}.fit bounds must be pairs of numbers 0 < low < high"
            low, high = ordered_pair(bounds[name], lambda a, b: 0 < a < b < math.inf, words)
            unit = periods if name in model.cls.in_time_units else unit
        ends.append(np.log([low / unit, high / unit]))
    low_ends, high_ends = np.stack(ends, axis=2)
    return low_ends, high_ends


def _grouped(series: Sequence[Series], key: Callable[[Series], Hashable]) -> list[list[int]]:
    """Return the positions of series with equal keys."""
    groups: dict[Hashable, list[int]] = defaultdict(list)
    for position, one in enumerate(series):
        groups[key(one)].append(position)
    return list(groups.values())


def _equally_long(series: Sequence[Series]) -> Iterator[list[int]]:
    """Yield chunks of series of one length."""
    for group in _grouped(series, lambda one: len(one.stamps)):
        step = max(1, CHUNK // 8 // len(series[group[0]].stamps) ** 2)  # few, for a bar to move
        yield from (group[start : start + step] for start in range(0, len(group), step))


def _on_grid(model: TraceLikelihood, series: Sequence[Series], low: Array, high: Array) -> Array:
    """Return each series' best point of one grid inside its limits, and a peak that is close."""
    axes = [
        np.linspace(low[:, k].min(), high[:, k].max(), GRID[name])
        for k, name in enumerate(model.free)
    ]
    points = np.array(list(itertools.product(*axes)))
    from scipy.ndimage import maximum_filter

    lags, values = series[0].lags(), np.stack([one.values for one in series], axis=1)
    known = model.fixed.keys() & set(model.cls.in_time_units)
    if known and len({one.period for one in series}) > 1:
        # A fixed duration is another number of samples in each series: no grid is shared.
        parts = [_on_grid(model, [one], low[[i]], high[[i]]) for i, one in enumerate(series)]
        return np.concatenate(parts, axis=1)
    step, period = max(1, CHUNK // lags.size), np.array([series[0].period])
    chunks = [points[start : start + step] for start in range(0, len(points), step)]
    found = [model.log_likelihoods(lags, period, chunk, values) for chunk in chunks]
    likelihoods = np.concatenate(found)  # (points, series)
    inside = np.all((points[:, None] >= low - 1e-12) & (points[:, None] <= high + 1e-12), axis=2)
    likelihoods = np.where(inside, likelihoods, -np.inf)
    top, which = likelihoods.max(axis=0), np.argmax(likelihoods, axis=0)
    chosen = np.where(np.isfinite(top)[:, None], points[which], (low + high) / 2)
    table = likelihoods.reshape(*(len(axis) for axis in axes), -1)
    around = maximum_filter(table, size=(3,) * len(axes) + (1,), mode="nearest")
    peaks = np.where(table == around, table, -np.inf).reshape(likelihoods.shape)
    peaks[which, np.arange(len(series))] = -np.inf
    close = peaks.max(axis=0) > top - CLOSE
    rival = np.where(close[:, None], points[np.argmax(peaks, axis=0)], np.nan)
    return np.stack([chosen, rival])


def _refined(
    model: TraceLikelihood, series: Sequence[Series], start: Array, low: Array, high: Array
) -> tuple[Array, Array]:
    """Climb from each start: to the best neighbour on a stencil, or halve the stencil.

    Neighbours along the axes creep on a ridge, such as a long period and a length scale that only
    matter together, so the top of the stencil's parabola is tried too. What rounding gains is no
    success.
    """
    width = len(model.free)
    offsets = np.array([o for o in itertools.product((-1.0, 0.0, 1.0), repeat=width) if any(o)])
    best = np.clip(start, low, high)
    values = _at(model.log_likelihoods, series, best)
    step = (high - low) / (np.array([GRID[name] for name in model.free]) - 1)
    least = GAIN * np.array([one.values.size for one in series])
    active = np.arange(len(series))
    while active.size:
        some = [series[i] for i in active.tolist()]

        def look(moves: Array, some: Sequence[Series] = some, at: Any = active) -> Any:
            """Return points that many stencils away, inside the limits, and their likelihoods."""
            points = np.clip(best[at] + moves * step[at], low[at], high[at])
            return points, _at(model.log_likelihoods, some, points)

        looks = [look(offset) for offset in offsets]
        gains = np.array([found for _, found in looks]) - values[active]
        looks.append(look(quadratic_step(offsets, gains)))
        tried, found = (np.array(both) for both in zip(*looks, strict=True))
        which = np.argmax(found, axis=0)
        rows = np.arange(active.size)
        better = found[which, rows] > values[active] + least[active]
        winners = tried[which, rows]
        best[active[better]] = winners[better]
        values[active[better]] = found[which, rows][better]
        step[active[~better]] /= 2
        active = active[np.max(step[active], axis=1) > STEP]
    return best, values


def _at(
    function: Callable[[Array, Array, Array, Array], Array],
    series: Sequence[Series],
    points: Array,
) -> Array:
    """Evaluate a function of the model at one point for each series."""
    lags = np.stack([one.lags() for one in series])
    periods = np.array([one.period for one in series])
    values = np.stack([one.values for one in series])[..., None]
    return function(lags, periods, points, values)[:, 0]
