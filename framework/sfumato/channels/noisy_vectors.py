"""Real outputs: a vector that depends on the present state, plus Gaussian noise."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.channels.emission import MemorylessEmission, Symbols
from sfumato.errors import OutsideHypotheses, ParameterError, Undecidable
from sfumato.randomness import generator_or_secure
from sfumato.values import ByContent, FloatArray, Labels, as_labels, checked_labels, read_only


def _checked_means(means: ArrayLike) -> FloatArray:
    array = read_only(means)
    if array.ndim != 3 or 0 in array.shape or not np.isfinite(array).all():
        raise ParameterError(
            f"means must be a finite (T, M, k) array; got shape {array.shape} with "
            f"{np.count_nonzero(~np.isfinite(array))} entries that are not finite."
        )
    return array


def _checked_scale(scale: object) -> float:
    if isinstance(scale, bool) or not isinstance(scale, Real) or not 0.0 < float(scale) < math.inf:
        raise ParameterError(f"scale must be a positive finite number; got {scale!r}.")
    return float(scale)


@attrs.frozen(eq=False, repr=False)
class NoisyVectors(ByContent, MemorylessEmission):
    """Vectors with noise: $o_t = means[t, X_t] + N(0, scale² I_k)$, independently over time.

    What is released is rounded to `grid`, far below the noise and far above the spacing of
    floating-point numbers, so that the noise's own grid does not show; rounding is
    post-processing and can only hide more. `evidence` is the density before rounding.
    `means` is a (T, M, k) array.

    >>> from sfumato.channels import NoisyVectors
    >>> counts = NoisyVectors(("away", "here"), [[[0.0], [1.0]]], scale=2.0)
    >>> (counts.evidence([1.0])[0] - counts.evidence([1.0])[0, 1]).tolist()
    [-0.125, 0.0]
    """

    words: ClassVar[str] = "noisy counts"

    states: Labels = attrs.field(converter=as_labels)
    means: FloatArray = attrs.field(converter=_checked_means)
    scale: float = attrs.field(converter=_checked_scale)

    def __attrs_post_init__(self) -> None:
        labels = checked_labels(self.states, self.means.shape[1], "states")
        object.__setattr__(self, "states", labels)
        largest = float(np.abs(self.means).max())
        if np.spacing(largest) > self.scale * 2.0**-10:
            raise ParameterError(
                f"scale must stand out from float64's spacing at the largest mean, {largest:.3g}; "
                f"got {self.scale}."
            )

    @property
    def steps(self) -> int:
        """The length of a trace, T."""
        return int(self.means.shape[0])

    @property
    def grid(self) -> float:
        """The spacing of released values: a power of two about 2⁻³⁰ of the noise."""
        return 2.0 ** (math.frexp(self.scale)[1] - 30)

    def outputs(self) -> tuple[tuple[Any, ...], ...]:
        """Refuse: real outputs cannot be listed."""
        raise OutsideHypotheses("the outputs of noisy_vectors are real vectors: not a finite list.")

    def evidence_batch(self, observed: Sequence[Sequence[Any]]) -> FloatArray:
        """Return the log-densities of B outputs of one length, (B, k, M)."""
        vectors = self._vectors(observed)
        self._check_length(vectors.shape[1])
        return self._log_densities(vectors[:, :, None, :], self.means[: vectors.shape[1]])

    def evidence_at(
        self, observed: Sequence[Sequence[Any]], times: NDArray[np.intp], states: NDArray[np.intp]
    ) -> FloatArray:
        """Return the log-densities of B outputs at N chosen times and states, (B, N)."""
        return self._log_densities(self._vectors(observed)[:, times], self.means[times, states])

    def _log_densities(self, vectors: FloatArray, means: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            squares = np.square((vectors - means) / self.scale).sum(axis=-1)
        if not np.isfinite(squares).all():
            raise Undecidable("observed lies so far from every mean that its density overflows.")
        log_norm = self.means.shape[2] * math.log(self.scale * math.sqrt(2.0 * math.pi))
        return np.asarray(-0.5 * squares - log_norm)

    def without_noise(self) -> Symbols:
        """Return the channel that tells the means themselves, from which noise only takes away."""
        return self._told(1.0)[0]

    def shown_by_chance(self) -> tuple[Symbols, ...]:
        """Return the channel that tells the means by chance; none if a step has more than two.

        N(a, σ²I) and N(b, σ²I) share all but τ = 2Φ(‖a − b‖/2σ) − 1 of their mass, so an output is
        a draw from what they share or, with chance τ, from what is left of the one that is meant:
        a post-processing of the channel that tells which with chance τ and else says nothing.
        """
        width = 0.0
        for means in self.means:
            distinct = np.unique(means, axis=0)
            if len(distinct) > 2:
                return ()
            if len(distinct) == 2:
                width = max(width, float(np.linalg.norm(distinct[0] - distinct[1])))
        chance = math.erf(width / (math.sqrt(8.0) * self.scale)) * (1.0 + 1e-12)
        return self._told(chance) if chance < 1.0 else ()

    def _told(self, chance: float) -> tuple[Symbols]:
        """Return the channel that tells the mean with a chance, and else says nothing."""
        steps, count, _ = self.means.shape
        codes = [np.unique(means, axis=0, return_inverse=True)[1].ravel() for means in self.means]
        laws = np.zeros((steps, count, max(int(code.max()) for code in codes) + 2))
        for time, code in enumerate(codes):
            laws[time, np.arange(count), code] = chance
        laws[:, :, -1] = 1.0 - chance
        kept = laws if chance < 1.0 else laws[:, :, :-1]
        return (Symbols(self.states, tuple(range(kept.shape[2])), kept),)

    def in_cells(self, count: int) -> Symbols:
        """Return the channel that tells which of `count` cells each coordinate lies in.

        With a chance of 1e-30 it says a cell at random: also post-processing, after which no cell
        is taken for impossible because its probability is too small for float64.
        """
        joint = np.ones((*self.means.shape[:2], 1))
        for coordinate in range(self.means.shape[2]):
            means = self.means[:, :, coordinate]
            inner = np.linspace(means.min() - self.scale, means.max() + self.scale, count - 1)
            cuts = np.concatenate([[-np.inf], inner, [np.inf]])
            law = normal_chances((cuts - means[..., None]) / self.scale) + 1e-30
            joint = (joint[..., :, None] * law[..., None, :]).reshape(*joint.shape[:2], -1)
        joint /= joint.sum(axis=2, keepdims=True)
        return Symbols(self.states, tuple(range(joint.shape[2])), joint)

    def sample_many(self, traces: NDArray[np.intp], rng: np.random.Generator | None) -> FloatArray:
        """Draw one output per trace of positions: (B, T, k), or (B, T) where k = 1."""
        traces = np.asarray(traces, dtype=np.intp)
        centres = self.means[np.arange(self.steps), traces]
        noise = self.scale * generator_or_secure(rng).standard_normal(centres.shape)
        released = np.rint((centres + noise) / self.grid) * self.grid
        return released[..., 0] if self.means.shape[2] == 1 else released

    def _vectors(self, observed: Iterable[Any]) -> FloatArray:
        """Return the observed outputs as (B, length, k)."""
        try:
            vectors = np.asarray(observed, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ParameterError(f"observed must hold real numbers; {error}.") from error
        width = self.means.shape[2]
        if vectors.ndim == 2 and width == 1:
            vectors = vectors[..., None]
        if vectors.ndim != 3 or vectors.shape[2] != width:
            raise ParameterError(
                f"observed must hold vectors of {width} numbers; got shape {vectors.shape[1:]}."
            )
        if not np.isfinite(vectors).all():
            raise ParameterError("observed must be finite; got NaN or an infinity.")
        return vectors


def normal_chances(cuts: FloatArray) -> FloatArray:
    """Return Pr[cuts[k] < N(0, 1) < cuts[k + 1]] along the last axis, with all its digits.

    >>> import numpy as np
    >>> from sfumato.channels.noisy_vectors import normal_chances
    >>> normal_chances(np.array([-np.inf, 0.0, np.inf])).tolist()
    [0.5, 0.5]
    """
    from scipy.special import ndtr

    low, high = cuts[..., :-1], cuts[..., 1:]
    return np.asarray(np.where(low > 0, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low)))
