"""A belief that the trace is Gaussian."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeAlias

import attrs
import numpy as np
from numpy.typing import ArrayLike

from sfumato.errors import ParameterError
from sfumato.matrices.combinations import Kronecker, Sum
from sfumato.matrices.matrix import (
    ROUNDOFF,
    Arithmetic,
    Array,
    Indices,
    Matrix,
    as_permutation,
    finite_array,
    is_matrix,
)
from sfumato.matrices.structured import Dense, Toeplitz
from sfumato.randomness import generator_or_secure
from sfumato.values import ByContent

Formula: TypeAlias = Callable[[Arithmetic], Any]


@attrs.frozen(eq=False)
class ExactBlock:
    """Some entries of a formula, of which `definite` says that no two different ones are copies."""

    whole: Formula
    entries: list[int]
    definite: bool

    def __call__(self, numbers: Arithmetic) -> Any:
        """Return the entries' covariance."""
        return numbers.block(self.whole(numbers), self.entries, self.entries)


def _dimensions(_: object, __: object, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ParameterError(
            f"gaussian.dimensions must be an integer of at least 1; got {value!r}."
        )


def _rounding(_: object, __: object, value: float) -> None:
    if not 0 <= value <= 1e-3:
        raise ParameterError(f"gaussian.rounding must lie in [0, 1e-3]; got {value}.")


def _mean(value: ArrayLike | None) -> Array | None:
    if value is None:
        return None
    array = np.asarray(value)
    return finite_array(array.reshape(-1) if array.ndim == 2 else array, "gaussian.mean", 1)


@attrs.frozen(eq=False)
class Gaussian(ByContent):
    """X ~ N(mean, covariance), with N times of d coordinates: entry = time · d + coordinate.

    Parameters
    ----------
    covariance : Matrix
        Covariance Σ of the n = N · d entries.
    dimensions : int
        Coordinates d per time.
    mean : array of n entries, optional
        Read by posteriors and samplers; no loss depends on it. Missing means zero.
    definite : bool
        Whether Σ is strictly positive definite as mathematics, however singular in float64.
    rounding : float
        Bound ε of the rounding of the stored entries: $|stored − true| ≤ ε √(Σ_ii Σ_jj)$.
        Zero says that the stored numbers are the belief itself.
    exact : callable, optional
        The true covariance as a formula: given an `Arithmetic`, such as real balls of some
        precision, it returns a matrix of its numbers.

    Examples
    --------
    >>> from sfumato.beliefs import Gaussian
    >>> from sfumato.matrices import Dense
    >>> belief = Gaussian(Dense([[1.0, 0.5], [0.5, 1.0]]))
    >>> belief.entries, belief.shape
    (2, (2,))
    """

    words: ClassVar[str] = "Gaussian traces"

    covariance: Matrix = attrs.field(validator=is_matrix)
    dimensions: int = attrs.field(default=1, validator=_dimensions, kw_only=True)
    mean: Array | None = attrs.field(default=None, converter=_mean, kw_only=True)
    definite: bool = attrs.field(
        default=False, validator=attrs.validators.instance_of(bool), kw_only=True
    )
    rounding: float = attrs.field(
        default=16 * ROUNDOFF, converter=float, validator=_rounding, kw_only=True
    )
    exact: Formula | None = attrs.field(default=None, eq=False, repr=False, kw_only=True)

    def __attrs_post_init__(self) -> None:
        if self.entries % self.dimensions:
            raise ParameterError(
                f"gaussian.covariance must have a multiple of {self.dimensions} rows, one per "
                f"coordinate; got {self.entries}."
            )
        if self.mean is not None and self.mean.size != self.entries:
            raise ParameterError(
                f"gaussian.mean must have {self.entries} entries; got {self.mean.size}."
            )

    @property
    def entries(self) -> int:
        """Number n of real-valued entries."""
        return self.covariance.size

    @property
    def times(self) -> int:
        """Number N of times."""
        return self.entries // self.dimensions

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of a trace: (N,) for one coordinate, else (N, d)."""
        return (self.times,) if self.dimensions == 1 else (self.times, self.dimensions)

    @property
    def trace_form(self) -> tuple[int, ...]:
        """What traces look like here: their shape."""
        return self.shape

    def entries_at(self, time: int) -> tuple[int, ...]:
        """Return the entries that belong to the time with index `time`."""
        if not isinstance(time, (int, np.integer)) or not 0 <= time < self.times:
            raise ParameterError(f"time must lie in 0..{self.times - 1}; got {time!r}.")
        return tuple(range(int(time) * self.dimensions, (int(time) + 1) * self.dimensions))

    def sample(self, rng: np.random.Generator | None = None, size: int | None = None) -> Array:
        """Draw a trace, or `size` traces along a leading axis."""
        draws = self.covariance.sample(generator_or_secure(rng), size)
        if self.mean is not None:
            draws = draws + self.mean
        return draws.reshape(self.shape if size is None else (size, *self.shape))

    def permuted(self, order: Indices) -> Gaussian:
        """Return the belief about the trace whose time i is this trace's time order[i]."""
        by_time = np.arange(self.entries).reshape(self.times, self.dimensions)
        entries = by_time[as_permutation(order, self.times)].reshape(-1)
        return attrs.evolve(
            self,
            covariance=self.covariance.permuted(entries),
            mean=None if self.mean is None else self.mean[entries],
            exact=self.exact_block(entries),
        )

    def scaled(self, factor: float) -> Gaussian:
        """Return the belief about $√factor · X$: covariance and mean in other units."""
        if not (math.isfinite(factor) and factor > 0):
            raise ParameterError(f"factor must be finite and positive; got {factor}.")
        exact = self.exact
        return attrs.evolve(
            self,
            covariance=self.covariance.scaled(factor),
            mean=None if self.mean is None else math.sqrt(factor) * self.mean,
            rounding=0.0 if self.rounding == 0 else self.rounding + 2 * ROUNDOFF,
            exact=None
            if exact is None
            else lambda numbers: exact(numbers) * numbers.number(factor),
        )

    @property
    def is_known_exactly(self) -> bool:
        """Whether the true covariance is known to any precision."""
        return self.exact is not None or self.rounding == 0

    def formula(self, numbers: Arithmetic) -> Any:
        """Return the true covariance in exact numbers, where it is known."""
        return self.covariance.formula(numbers) if self.exact is None else self.exact(numbers)

    def exact_block(self, entries: Indices) -> Formula | None:
        """Return the exact form of the entries' covariance, in any order and with repetitions."""
        if self.exact is None:
            return None
        return ExactBlock(self.exact, np.asarray(entries).tolist(), self.definite)


def gaussian_sum(terms: Sequence[Gaussian]) -> Gaussian:
    """Return the belief about the sum of independent traces: covariance Σ₁ + Σ₂ + ….

    It is definite if one term is. Errors |E_k| ≤ ε_k σ_k σ_kᵀ add up to at most max ε_k times the
    deviations of the sum, by the inequality of Cauchy and Schwarz.
    """
    _check_shapes(terms)
    means = [term.mean for term in terms if term.mean is not None]
    return Gaussian(
        functools.reduce(_added, [term.covariance for term in terms]),
        dimensions=terms[0].dimensions,
        mean=functools.reduce(np.add, means) if means else None,
        definite=any(term.definite for term in terms),
        rounding=max(term.rounding for term in terms) + len(terms) * ROUNDOFF,
        exact=_folded(terms, lambda _, one, other: one + other),
    )


def gaussian_product(factors: Sequence[Gaussian]) -> Gaussian:
    """Return the belief whose covariance is the entrywise product Σ₁ ∘ Σ₂ ∘ ….

    It is semidefinite, and definite if one factor is and the variances of the others are positive
    (Schur's product theorem). Means must be zero.
    """
    _check_shapes(factors)
    if any(factor.mean is not None and np.any(factor.mean) for factor in factors):
        raise ParameterError("a product of beliefs must be of zero means; got another mean.")
    positive = all(bool(np.all(factor.covariance.diagonal() > 0)) for factor in factors)
    rounding = np.prod([1 + factor.rounding for factor in factors]) - 1
    return Gaussian(
        functools.reduce(_multiplied, [factor.covariance for factor in factors]),
        dimensions=factors[0].dimensions,
        definite=positive and any(factor.definite for factor in factors),
        rounding=float(rounding) + 2 * len(factors) * ROUNDOFF,
        exact=_folded(factors, lambda numbers, one, other: numbers.entrywise(one, other)),
    )


def _check_shapes(beliefs: Sequence[Gaussian]) -> None:
    shapes = {belief.shape for belief in beliefs}
    if len(shapes) != 1:
        raise ParameterError(f"beliefs must speak of one trace; got shapes {sorted(shapes)}.")


def _added(one: Matrix, other: Matrix) -> Matrix:
    if isinstance(one, Toeplitz) and isinstance(other, Toeplitz):
        return Toeplitz(one.first_column + other.first_column)
    if isinstance(one, Kronecker) and isinstance(other, Kronecker) and one.across == other.across:
        return Kronecker(_added(one.time, other.time), one.across)
    return Sum((one, other))


def _multiplied(one: Matrix, other: Matrix) -> Matrix:
    if isinstance(one, Toeplitz) and isinstance(other, Toeplitz):
        return Toeplitz(one.first_column * other.first_column)
    return Dense(one.dense() * other.dense())


def _folded(
    beliefs: Sequence[Gaussian], operation: Callable[[Arithmetic, Any, Any], Any]
) -> Formula | None:
    """Return the combination in exact numbers, if every belief is known exactly."""
    if not all(belief.is_known_exactly for belief in beliefs):
        return None

    def combined(numbers: Arithmetic) -> Any:
        known = [belief.formula(numbers) for belief in beliefs]
        return functools.reduce(functools.partial(operation, numbers), known)

    return combined
