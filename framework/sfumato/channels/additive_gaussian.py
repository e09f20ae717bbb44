"""Noise added to a real-valued trace."""

from __future__ import annotations

import functools
import math
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import ArrayLike

from sfumato.channels.emission import Channel
from sfumato.errors import ParameterError
from sfumato.matrices.matrix import ROUNDOFF, Array, Indices, Matrix, as_permutation, is_matrix
from sfumato.matrices.structured import Diagonal
from sfumato.randomness import generator_or_secure
from sfumato.values import ByContent


def _dimensions(_: object, __: object, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ParameterError(
            f"additive_gaussian.dimensions must be an integer of at least 1; got {value!r}."
        )


@attrs.frozen(eq=False, slots=False)
class AdditiveGaussian(ByContent, Channel):
    """Z = X + G with G ~ N(0, noise), entries ordered as in the belief (time · d + coordinate).

    Released values are rounded to `grid`, a power of two about 2⁻²⁴ times the smallest standard
    deviation of any entry's noise. Rounding is post-processing, so no loss grows by it, and it
    hides the pattern of float64 spacings that a floating-point sum leaves.

    >>> from sfumato.channels import AdditiveGaussian
    >>> from sfumato.matrices import Diagonal
    >>> channel = AdditiveGaussian(Diagonal([0.25, 0.25]))
    >>> channel.covariance()
    array([[0.25, 0.  ],
           [0.  , 0.25]])
    >>> channel.grid == 2.0**-25
    True
    """

    words: ClassVar[str] = "added Gaussian noise"
    beyond: ClassVar[Any] = (
        None  # what a ledger counts of releases elsewhere, for proofs over intervals
    )

    noise: Matrix = attrs.field(validator=is_matrix)
    dimensions: int = attrs.field(default=1, validator=_dimensions, kw_only=True)

    def __attrs_post_init__(self) -> None:
        if self.noise.size % self.dimensions:
            raise ParameterError(
                f"additive_gaussian.noise must have a multiple of {self.dimensions} rows, one per "
                f"coordinate; got {self.noise.size}."
            )

    @property
    def entries(self) -> int:
        """Number n of real-valued entries."""
        return self.noise.size

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of a trace and of its release: (N,) for one coordinate, else (N, d)."""
        times = self.entries // self.dimensions
        return (times,) if self.dimensions == 1 else (times, self.dimensions)

    @property
    def trace_form(self) -> tuple[int, ...]:
        """What traces look like here: their shape."""
        return self.shape

    @functools.cached_property
    def grid(self) -> float:
        """Spacing of the released values; 0.0 (no rounding) where there is no noise at all."""
        variances = self.noise.diagonal()
        noisy = variances[variances > 0]
        if noisy.size == 0:
            return 0.0
        return math.ldexp(1.0, math.floor(math.log2(noisy.min()) / 2) - 24)

    def covariance(self) -> Array:
        """Return the noise covariance as an n x n array."""
        return self.noise.dense()

    def sample(self, trace: ArrayLike, rng: np.random.Generator | None = None) -> Array:
        """Release a trace, or every trace along leading axes: noise is added, then rounded."""
        array = as_trace(trace, self.shape, "trace")
        leading = array.shape[: array.ndim - len(self.shape)]
        count = math.prod(leading) if leading else None
        noise = self.noise.sample(generator_or_secure(rng), count).reshape(array.shape)
        return on_grid(array + noise, self.grid)

    def essence(self) -> tuple[Any, tuple[Array, ...]]:
        """Return what tells this channel from another: the noise's variances, relatively."""
        variances = self.noise.diagonal()
        return (self.shape, float(f"{variances.sum():.6g}")), (variances / variances.max(),)

    def log_likelihood(self, observed: ArrayLike, trace: ArrayLike) -> float:
        """Return the log density of `observed` given `trace`.

        Degenerate noise has no density on the whole space: the density is then with respect to
        Lebesgue measure on the range of the noise, and −inf off it. "Off" means further from the
        range than rounding to the grid can explain.
        """
        residual = _one(observed, self.shape, "observed") - _one(trace, self.shape, "trace")
        deviations, axes, values, log_volume = self._range
        live = deviations > 0
        scaled = residual[live] / deviations[live]
        coordinates = scaled if axes is None else axes.T @ scaled
        inside = np.zeros_like(residual)
        inside[live] = residual[live] if axes is None else deviations[live] * (axes @ coordinates)
        if np.linalg.norm(residual - inside) > self._slack(residual):
            return -math.inf
        squares = float(np.sum(coordinates**2 / values))
        return -0.5 * (squares + log_volume + values.size * math.log(2 * math.pi))

    def permuted(self, order: Indices) -> AdditiveGaussian:
        """Return the channel for the trace whose time i is this trace's time order[i]."""
        by_time = np.arange(self.entries).reshape(-1, self.dimensions)
        entries = by_time[as_permutation(order, by_time.shape[0])].reshape(-1)
        return attrs.evolve(self, noise=self.noise.permuted(entries))

    def scaled(self, factor: float) -> AdditiveGaussian:
        """Return the channel with noise covariance factor · Γ: a trace in other units."""
        return attrs.evolve(self, noise=self.noise.scaled(factor))

    @functools.cached_property
    def _range(self) -> tuple[Array, Array | None, Array, float]:
        """Return deviations D, axes U and variances Λ with Γ = D U Λ Uᵀ D, and log pdet Γ.

        Correlations are decomposed, so that entries of very different scales keep their digits, as
        they do when sampled. Diagonal noise has no axes but the entries themselves.
        """
        deviations = np.sqrt(self.noise.diagonal())
        live = deviations[deviations > 0]
        volume = 2 * float(np.sum(np.log(live)))
        if isinstance(self.noise, Diagonal):
            return deviations, None, np.ones_like(live), volume
        chosen = np.flatnonzero(deviations > 0)
        correlations = self.noise.block(chosen, chosen) / live[:, None] / live[None, :]
        values, axes = np.linalg.eigh(correlations)
        kept = values > 8 * self.entries * ROUNDOFF * live.size
        values, axes = values[kept], axes[:, kept]
        if values.size < live.size:  # the volume of the range's own coordinates
            volume = float(np.linalg.slogdet(axes.T @ (live[:, None] ** 2 * axes))[1])
        return deviations, axes, values, volume + float(np.sum(np.log(values)))

    def _slack(self, residual: Array) -> float:
        rounding = 8 * self.entries * ROUNDOFF * float(np.linalg.norm(residual))
        return self.grid * math.sqrt(self.entries) + rounding


def as_trace(value: ArrayLike, shape: tuple[int, ...], name: str) -> Array:
    """Return real and finite values of a shape, or of that shape along leading axes."""
    given = np.asarray(value)
    if given.dtype.kind not in "iuf":
        raise ParameterError(f"{name} must hold real numbers; got {given.dtype}.")
    array = given.astype(np.float64)
    if array.shape[max(0, array.ndim - len(shape)) :] != shape:
        raise ParameterError(f"{name} must have shape {shape}; got {array.shape}.")
    if not np.all(np.isfinite(array)):
        raise ParameterError(f"{name} must be finite; got nan or inf.")
    return array


def _one(value: ArrayLike, shape: tuple[int, ...], name: str) -> Array:
    array = as_trace(value, shape, name)
    if array.shape != shape:
        raise ParameterError(f"{name} must be one trace of shape {shape}; got {array.shape}.")
    return array.reshape(-1)


def on_grid(values: Array, grid: float) -> Array:
    """Return values rounded to multiples of a power of two."""
    if grid == 0:
        return values
    # Beyond 2^52 grid steps float64 is no finer than the grid: such values lie on it already.
    fine = np.abs(values) < 2.0**52 * grid
    return np.where(fine, np.round(np.where(fine, values, 0.0) / grid) * grid, values)
