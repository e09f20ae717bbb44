"""Taylor coefficients in parameters that vary over cells, each a ball that holds the true one.

A cell is a box of parameters, θ = centre + halfwidth · t with t in [−1, 1]^m. A formula that takes
these numbers in place of its parameters gives all its coefficients up to some degree in t, for many
cells at once: exactly what `exact` formulas of beliefs do with balls of any precision.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np

from sfumato.matrices.matrix import ROUNDOFF, Array, Indices

# Elementary functions of numpy are right to a few units in the last place.
ELEMENTARY = 8 * ROUNDOFF
# What vanishes below float64's normal numbers.
VANISHING = 1e-300


@functools.cache
def exponents(parameters: int, degree: int) -> tuple[tuple[int, ...], ...]:
    """Return the powers of t of every coefficient, in order of their degree.

    >>> from sfumato.inference.taylor import exponents
    >>> exponents(2, 1)
    ((0, 0), (0, 1), (1, 0))
    """
    every = itertools.product(range(degree + 1), repeat=parameters)
    return tuple(sorted((e for e in every if sum(e) <= degree), key=lambda e: (sum(e), e)))


@functools.cache
def _products(parameters: int, degree: int) -> tuple[tuple[int, int, int], ...]:
    """Return (i, j, k) where the i-th times the j-th power is the k-th."""
    powers = exponents(parameters, degree)
    place = {power: k for k, power in enumerate(powers)}
    sums = (
        (i, j, tuple(a + b for a, b in zip(one, other, strict=True)))
        for (i, one), (j, other) in itertools.product(enumerate(powers), repeat=2)
    )
    return tuple((i, j, place[total]) for i, j, total in sums if total in place)


@attrs.frozen(eq=False)
class Taylor:
    """Coefficients (count, rows, columns, cells) as balls; a single coefficient is a constant.

    >>> import numpy as np
    >>> from sfumato.inference.taylor import TaylorNumbers
    >>> numbers = TaylorNumbers(parameters=1, degree=2)
    >>> x = numbers.parameter(0, np.array([2.0]), np.array([0.5]), over_cell=False)
    >>> (x * x).middle[:, 0, 0, 0]
    array([4.  , 2.  , 0.25])
    """

    middle: Array
    radius: Array
    numbers: TaylorNumbers

    @property
    def is_constant(self) -> bool:
        """Whether it does not depend on the parameters."""
        return len(self.middle) == 1

    def nrows(self) -> int:
        """Return the number of rows of a matrix."""
        return int(self.middle.shape[1])

    def _other(self, value: Any) -> Taylor:
        return value if isinstance(value, Taylor) else self.numbers.number(value)

    def _made(self, middle: Array, radius: Array) -> Taylor:
        return Taylor(middle, radius, self.numbers)

    def __add__(self, value: Any) -> Taylor:
        long, short = self, self._other(value)
        if len(long.middle) < len(short.middle):
            long, short = short, long
        head = slice(0, len(short.middle))
        shape = np.broadcast_shapes(long.middle.shape[1:], short.middle.shape[1:])
        middle = np.array(np.broadcast_to(long.middle, (len(long.middle), *shape)))
        radius = np.array(np.broadcast_to(long.radius, middle.shape))
        middle[head] += short.middle
        radius[head] += short.radius
        return self._made(middle, radius + 2 * ROUNDOFF * np.abs(middle))

    __radd__ = __add__

    def __neg__(self) -> Taylor:
        return self._made(-self.middle, self.radius)

    def __sub__(self, value: Any) -> Taylor:
        return self + -self._other(value)

    def __rsub__(self, value: Any) -> Taylor:
        return self._other(value) + -self

    def __mul__(self, value: Any) -> Taylor:
        other = self._other(value)
        if self.is_constant or other.is_constant:
            middle = self.middle * other.middle
            radius = np.abs(self.middle) * other.radius
            radius += self.radius * (np.abs(other.middle) + other.radius)
            return self._made(middle, radius + 2 * ROUNDOFF * np.abs(middle) + VANISHING)
        shape = np.broadcast_shapes(self.middle.shape, other.middle.shape)
        middle, radius = np.zeros(shape), np.full(shape, VANISHING)
        left, right = np.abs(self.middle), np.abs(other.middle)
        # Each term is rounded, and each sum of that many terms.
        blur = (2 + len(self.middle)) * ROUNDOFF
        reach = (1 + blur) * right + other.radius
        for i, j, k in self.numbers.products:
            middle[k] += self.middle[i] * other.middle[j]
            radius[k] += self.radius[i] * reach[j]
            radius[k] += left[i] * (other.radius[j] + blur * right[j])
        return self._made(middle, radius * (1 + 64 * ROUNDOFF))

    __rmul__ = __mul__

    def __truediv__(self, value: Any) -> Taylor:
        return self * self._other(value).power(-1.0)

    def __rtruediv__(self, value: Any) -> Taylor:
        return self._other(value) * self.power(-1.0)

    def __pow__(self, exponent: int) -> Taylor:
        result = self.numbers.number(1.0)
        for _ in range(exponent):
            result = result * self
        return result

    def __abs__(self) -> Taylor:
        if self.is_constant:
            return self._made(np.abs(self.middle), self.radius)
        if np.all(self.middle[0] >= self.radius[0]):
            return self
        raise ArithmeticError("the absolute value of a number that may change its sign.")

    def __eq__(self, value: object) -> Any:
        """Return 1 where it is surely this constant and 0 elsewhere, by rows and columns."""
        sure = np.all((self.middle[0] == value) & (self.radius[0] == 0), axis=-1)
        return sure * float(self.is_constant)

    __hash__ = None  # type: ignore[assignment]
    __array_ufunc__ = None  # an array of numpy leaves operations to this class

    def _ends(self) -> tuple[Array, Array]:
        """Return the ends of the constant coefficient, rounded outwards."""
        slack = self.radius[0] * (1 + 4 * ROUNDOFF) + 2 * ROUNDOFF * np.abs(self.middle[0])
        return self.middle[0] - slack, self.middle[0] + slack

    def _composed(self, ends: Callable[[int], tuple[Array, Array]]) -> Taylor:
        """Return f of it, from the ends of f⁽ʲ⁾/j! over the constant coefficient."""
        degree = 0 if self.is_constant else self.numbers.degree
        outer = [self._ball(*ends(j)) for j in range(degree + 1)]
        result = outer[degree]
        if degree:
            inner = self._made(np.array(self.middle), np.array(self.radius))
            inner.middle[0] = 0.0
            inner.radius[0] = 0.0
        for j in range(degree - 1, -1, -1):
            result = inner * result + outer[j]
        return result

    def _ball(self, low: Array, high: Array) -> Taylor:
        middle = (low + high) / 2
        radius = (high - low) / 2 + ELEMENTARY * (np.abs(low) + np.abs(high)) + VANISHING
        return self._made(middle[None], radius[None])

    def exp(self) -> Taylor:
        """Return the exponential."""
        low, high = (np.exp(end) for end in self._ends())
        return self._composed(lambda j: (low / math.factorial(j), high / math.factorial(j)))

    def log(self) -> Taylor:
        """Return the logarithm, of infinite radius where it may not exist."""
        low, high = self._ends()

        def ends(j: int) -> tuple[Array, Array]:
            if j == 0:
                return _where(low > 0, np.log(low)), np.log(high)
            sign = (-1) ** (j + 1) / j
            return _ordered(sign * high**-j, _where(low > 0, sign * low**-j))

        return self._composed(ends)

    def power(self, exponent: float) -> Taylor:
        """Return a real power, of infinite radius where the base may not be positive."""
        low, high = self._ends()

        def ends(j: int) -> tuple[Array, Array]:
            factor = math.prod((exponent - i) / (i + 1) for i in range(j))
            at_low = _where(low > 0, factor * low ** (exponent - j))
            return _ordered(at_low, factor * high ** (exponent - j))

        return self._composed(ends)

    def sqrt(self) -> Taylor:
        """Return the square root."""
        return self.power(0.5)

    def sin_pi(self) -> Taylor:
        """Return sin(π x): |derivative| ≤ π."""
        middle, radius = self.middle[0], np.pi * self.radius[0] * (1 + ELEMENTARY)

        def ends(j: int) -> tuple[Array, Array]:
            value = np.sin(np.pi * np.remainder(middle + j / 2, 2.0))
            # The argument, of at most 2π, is rounded before the sine is taken.
            slack = np.minimum(radius + 16 * ROUNDOFF * (1 + np.abs(middle)), 2.0)
            scale = np.pi**j / math.factorial(j)
            return scale * (value - slack), scale * (value + slack)

        return self._composed(ends)


def _where(sound: Any, values: Array) -> Array:
    return np.where(sound, values, np.nan)


def _ordered(one: Array, other: Array) -> tuple[Array, Array]:
    return np.minimum(one, other), np.maximum(one, other)


@attrs.frozen
class TaylorNumbers:
    """The arithmetic of Taylor coefficients, for formulas that take an `Arithmetic`.

    Matrices are numbers of shape (rows, columns, cells).
    """

    parameters: int
    degree: int

    @property
    def products(self) -> tuple[tuple[int, int, int], ...]:
        """Return which coefficients multiply to which."""
        return _products(self.parameters, self.degree)

    @property
    def exponents(self) -> tuple[tuple[int, ...], ...]:
        """Return the powers of every coefficient."""
        return exponents(self.parameters, self.degree)

    def parameter(self, axis: int, centres: Array, halfwidths: Array, *, over_cell: bool) -> Taylor:
        """Return a parameter of every cell, at its centre or as a ball over all of it."""
        middle = np.zeros((len(self.exponents), 1, 1, centres.size))
        radius = np.zeros_like(middle)
        unit = tuple(int(other == axis) for other in range(self.parameters))
        middle[0], middle[self.exponents.index(unit)] = centres, halfwidths
        if over_cell:
            radius[0] = halfwidths * (1 + 4 * ROUNDOFF)
        return Taylor(middle, radius, self)

    def number(self, value: Any) -> Taylor:
        """Return a constant, or constants of shape (rows, columns)."""
        array = np.asarray(value, dtype=np.float64)
        middle = array.reshape(1, *(1,) * (2 - array.ndim), *array.shape, 1)
        return Taylor(middle, np.zeros_like(middle), self)

    def matrix(self, rows: Any) -> Taylor:
        """Return a matrix of constants."""
        return self.number(rows)

    def entrywise(self, one: Taylor, other: Taylor) -> Taylor:
        """Return the entrywise product."""
        return one * other

    def block(self, matrix: Taylor, rows: Indices, columns: Indices) -> Taylor:
        """Return the entries at `rows` and `columns`."""
        place = (slice(None), np.asarray(rows)[:, None], np.asarray(columns)[None, :])
        return Taylor(matrix.middle[place], matrix.radius[place], self)

    def of_times(
        self, covariance: Callable[[Any, Any], Taylor], times: Sequence[float], *, by_lag: bool
    ) -> Taylor:
        """Return the covariances of all pairs of times; `by_lag`, from those of the first."""
        stamps = np.asarray(times, dtype=np.float64)
        if not by_lag:
            return covariance(self.number(stamps[:, None]), self.number(stamps[None, :]))
        column = covariance(self.number(stamps[:, None]), self.number(stamps[0]))
        lags = np.abs(np.arange(stamps.size)[:, None] - np.arange(stamps.size))
        return Taylor(column.middle[:, lags, 0], column.radius[:, lags, 0], self)
