"""Any scikit-learn kernel as a prior."""

from __future__ import annotations

import functools
import math
import numbers
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from sfumato.beliefs import Gaussian
from sfumato.domains import Domain, Rejected, Sizes
from sfumato.matrices import Dense, Matrix, Toeplitz
from sfumato.matrices.matrix import ROUNDOFF, Array, refuse_dense
from sfumato.parameters import declare, parameter, stamps
from sfumato_gaussian_process.stationary import (
    RBF,
    GaussianProcess,
    Matern,
    Periodic,
    across_parameter,
    dimensions_parameter,
    formula_of,
    times_parameter,
)

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from sfumato_gaussian_process.fitting import FittedKernels

# The numeric parameters of every kernel that is taken.
NUMBERS: Mapping[str, tuple[str, ...]] = {
    "RBF": ("length_scale",),
    "Matern": ("length_scale", "nu"),
    "RationalQuadratic": ("length_scale", "alpha"),
    "ExpSineSquared": ("length_scale", "periodicity"),
    "ConstantKernel": ("constant_value",),
    "WhiteKernel": ("noise_level",),
    "DotProduct": ("sigma_0",),
    "Exponentiation": ("exponent",),
}
# The kernels inside another.
PARTS: Mapping[str, tuple[str, ...]] = {
    "Sum": ("k1", "k2"),
    "Product": ("k1", "k2"),
    "Exponentiation": ("kernel",),
}
NAMES = tuple(dict.fromkeys((*NUMBERS, *PARTS)))
ZERO_ALLOWED = frozenset({"sigma_0", "noise_level"})
SMOOTHNESS = (0.5, 1.5, 2.5, math.inf)


# The expression -----------------------------------------------------------------------------------


@attrs.frozen(repr=False)
class KernelExpression:
    """A kernel's class name, its numbers and the kernels inside it.

    >>> from sfumato_gaussian_process.kernel import KernelExpression
    >>> table = {"name": "RBF", "length_scale": 2.0}
    >>> KernelExpression.read(table).plain() == table
    True
    """

    name: str
    numbers: tuple[tuple[str, float], ...]
    parts: tuple[KernelExpression, ...]

    @classmethod
    def read(cls, value: Any) -> KernelExpression:
        """Read a table such as ``{"name": "RBF", "length_scale": 2.0}``, or a kernel object.

        Raises ValueError with words that complete "must be ...".
        """
        if isinstance(value, KernelExpression):
            return value
        table = value if isinstance(value, Mapping) else _table(value)
        name = table.get("name")
        if name not in NAMES:
            raise ValueError(f"one of the kernels {', '.join(NAMES)}, not {name!r}")
        inner, known = PARTS.get(name, ()), NUMBERS.get(name, ())
        for key in table:
            if key not in ("name", *inner, *known):
                raise ValueError(f"without the unknown parameter {key!r} of {name}")
        for key in (*inner, *known):
            if key not in table:
                raise ValueError(f"a {name} with the parameter {key!r}")
        return cls(
            name,
            tuple((key, _number(name, key, table[key])) for key in known),
            tuple(cls.read(table[key]) for key in inner),
        )

    @staticmethod
    def open_parts(value: Any) -> Any:
        """Return the tables of a kernel and of those inside it, unchecked; the rest as it is."""
        if isinstance(value, KernelExpression):
            return value.plain()
        if not isinstance(value, Mapping) and not _is_kernel(value):
            return value
        table = value if isinstance(value, Mapping) else _table(value)
        return {key: KernelExpression.open_parts(inner) for key, inner in table.items()}

    def plain(self) -> dict[str, Any]:
        """Return the table that `read` reads."""
        parts = {key: part.plain() for key, part in self._inner().items()}
        return {"name": self.name, **parts, **dict(self.numbers)}

    def _inner(self) -> dict[str, KernelExpression]:
        return dict(zip(PARTS.get(self.name, ()), self.parts, strict=True))

    def __repr__(self) -> str:
        return repr(self.plain()).replace("inf", "float('inf')")

    def number(self, key: str) -> float:
        """Return one of the numbers."""
        return dict(self.numbers)[key]

    def with_number(self, place: str, value: Any) -> KernelExpression:
        """Return the expression with another number, of any kind, at a place such as k1.alpha."""
        key, _, rest = place.partition(".")
        if rest:
            inner = {**self._inner(), key: self._inner()[key].with_number(rest, value)}
            return attrs.evolve(self, parts=tuple(inner.values()))
        return attrs.evolve(self, numbers=tuple({**dict(self.numbers), key: value}.items()))

    def scikit_learn(self) -> Any:
        """Return the scikit-learn kernel."""
        from sklearn.gaussian_process import kernels

        made = {key: part.scikit_learn() for key, part in self._inner().items()}
        return getattr(kernels, self.name)(**made, **dict(self.numbers))


def _is_kernel(value: Any) -> bool:
    """Whether a value is of one of scikit-learn's own classes that are taken."""
    name = type(value).__name__
    if name not in NAMES:
        return False
    from sklearn.gaussian_process import kernels

    return type(value) is getattr(kernels, name)


def _table(kernel: Any) -> dict[str, Any]:
    """Read a kernel object of scikit-learn's own classes; bounds of its search do not count."""
    if not _is_kernel(kernel):
        raise ValueError(f"a scikit-learn kernel or a table, one of {', '.join(NAMES)}")
    name = type(kernel).__name__
    wanted = (*PARTS.get(name, ()), *NUMBERS.get(name, ()))
    return {"name": name, **{key: getattr(kernel, key) for key in wanted}}


def _number(name: str, key: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or math.isnan(value):
        raise ValueError(f"a {name} whose {key} is one real number")
    number = float(value)
    if key == "nu":
        if number not in SMOOTHNESS:
            raise ValueError(f"a {name} whose nu is one of {SMOOTHNESS}")
    elif not math.isfinite(number) or number < 0 or (number == 0 and key not in ZERO_ALLOWED):
        raise ValueError(f"a {name} whose {key} is finite and positive")
    if key == "exponent" and number != int(number):
        # Other powers of a covariance need not be a covariance.
        raise ValueError(f"an {name} whose exponent is a whole number")
    return number


@attrs.frozen
class KernelDomain(Domain):
    """A scikit-learn kernel: the object itself, or a table of its name and parameters."""

    @property
    def sentence(self) -> str:
        """Describe both forms."""
        return 'a scikit-learn kernel, or a table such as {name = "RBF", length_scale = 2.0}'

    def convert(self, value: Any, sizes: Sizes) -> KernelExpression:
        """Return the expression."""
        del sizes
        try:
            return KernelExpression.read(value)
        except ValueError as reason:
            raise Rejected(str(reason)) from None

    def plain(self, value: Any) -> Any:
        """Write the table."""
        return KernelExpression.read(value).plain()

    def open_parts(self, value: Any) -> Any:
        """Return the table of a kernel and of the kernels inside it."""
        return KernelExpression.open_parts(value)

    def strategy(self, sizes: Mapping[str, int]) -> SearchStrategy[Any]:
        """Draw kernels, sums and products of them."""
        from hypothesis import strategies as st

        del sizes

        def drawn(name: str, values: SearchStrategy[Any]) -> SearchStrategy[Any]:
            parameters = dict.fromkeys(NUMBERS.get(name, PARTS.get(name, ())), values)
            return st.fixed_dictionaries({"name": st.just(name), **parameters})

        names = ("RBF", "RationalQuadratic", "ExpSineSquared", "WhiteKernel")
        single = st.one_of(*(drawn(name, st.floats(0.25, 8.0)) for name in names))
        pair = drawn("Sum", single) | drawn("Product", single)
        return (single | pair).map(KernelExpression.read)


# What is known of its covariance ------------------------------------------------------------------


def is_definite(kernel: KernelExpression, times: Array) -> bool:
    """Whether the covariance at distinct times is known to be strictly positive definite.

    A sum is if one term is; a product if one factor is and the other's variances are positive
    (Schur's product theorem).
    """
    definite = [is_definite(part, times) for part in kernel.parts]
    if kernel.name == "WhiteKernel":
        return kernel.number("noise_level") > 0
    if kernel.name == "Product":
        positive = [np.all(p.scikit_learn().diag(times[:, None]) > 0) for p in kernel.parts]
        return bool((definite[0] and positive[1]) or (definite[1] and positive[0]))
    return any(definite) or kernel.name in ("RBF", "Matern", "RationalQuadratic")


def is_stationary(kernel: KernelExpression) -> bool:
    """Whether the covariance depends on the lag alone."""
    return kernel.name != "DotProduct" and all(map(is_stationary, kernel.parts))


def rounding_of(kernel: KernelExpression, times: Array) -> float:
    """Bound the rounding of scikit-learn's float64 values, in units of the deviations.

    Times are divided by the length scale before they are subtracted, so errors grow with the
    largest time; the sine's argument is not reduced, so they grow with the number of periods.
    """
    inner = [rounding_of(part, times) for part in kernel.parts]
    if kernel.name == "Sum":
        return max(inner) + 2 * ROUNDOFF
    if kernel.name == "Product":
        return math.prod(1 + error for error in inner) - 1 + 4 * ROUNDOFF
    if kernel.name == "Exponentiation":
        power = kernel.number("exponent")
        return math.expm1(power * math.log1p(inner[0])) + 4 * power * ROUNDOFF
    farthest, amplified = float(np.max(np.abs(times))), 0.0
    if kernel.name in ("RBF", "Matern"):
        amplified = 0.5 * farthest / kernel.number("length_scale")
    if kernel.name == "RationalQuadratic":
        amplified = 0.5 * kernel.number("alpha")
    if kernel.name == "ExpSineSquared":
        amplified = 2 * farthest / kernel.number("periodicity") / kernel.number("length_scale")
    return 16 * ROUNDOFF * (1 + amplified)


def exact_covariance(kernel: KernelExpression, s: Any, t: Any) -> Any:
    """Return k(s, t) for two exact times; white noise is seen where both are the same."""
    parts = [exact_covariance(part, s, t) for part in kernel.parts]
    given, lag = [number for _, number in kernel.numbers], abs(s - t)
    formulas: Mapping[str, Callable[[], Any]] = {
        "Sum": lambda: parts[0] + parts[1],
        "Product": lambda: parts[0] * parts[1],
        "Exponentiation": lambda: parts[0] ** int(given[0]),
        "WhiteKernel": lambda: 0 * lag + given[0] * (lag == 0),
        "ConstantKernel": lambda: 0 * lag + given[0],
        "DotProduct": lambda: (0 * lag + given[0]) ** 2 + s * t,
        "RBF": lambda: RBF.exact_correlation(lag, *given),
        "Matern": lambda: (
            RBF.exact_correlation(lag, given[0])
            if math.isinf(given[1])
            else Matern.exact_correlation(lag, *given)
        ),
        "ExpSineSquared": lambda: Periodic.exact_correlation(lag, *given),
        "RationalQuadratic": lambda: _exact_rational_quadratic(lag / given[0], given[1]),
    }
    return formulas[kernel.name]()


def _exact_rational_quadratic(scaled: Any, alpha: float) -> Any:
    return (-(1 + scaled * scaled / alpha / 2).log() * alpha).exp()


def _smoothest(kernel: KernelExpression, span: float) -> float:
    """Return the largest length scale, in units of the trace or of a shorter period."""
    scales = dict(kernel.numbers)
    own = scales.get("length_scale", 0.0)
    own *= max(1.0, scales["periodicity"] / span) if "periodicity" in scales else 1 / span
    return max([own, *(_smoothest(part, span) for part in kernel.parts)])


# The prior ----------------------------------------------------------------------------------------


@declare
class Kernel(GaussianProcess):
    """The covariance of a scikit-learn kernel, with its sums, products and whole powers.

    Given as a kernel object, or as a table with its class name, its parameters and, for
    ``Sum``, ``Product`` and ``Exponentiation``, the tables of the kernels inside it.
    Taken are RBF, Matern (ν = 1/2, 3/2, 5/2, ∞), RationalQuadratic, ExpSineSquared,
    ConstantKernel, WhiteKernel and DotProduct; for another kernel write a prior plugin.

    `sf.Interval` and `sf.AnyOf` on any number, or in place of any kernel inside it, make a class.

    Reference: Rasmussen and Williams (2006), Gaussian Processes for Machine Learning, section 4.2.

    >>> from sklearn.gaussian_process.kernels import RBF, WhiteKernel
    >>> import sfumato as sf
    >>> prior = sf.priors.kernel(RBF(2.0) + WhiteKernel(0.5), times=3)
    >>> prior.belief().covariance.dense().round(4)[0]
    array([1.5   , 0.8825, 0.6065])
    >>> prior = sf.priors.kernel({"name": "DotProduct", "sigma_0": 1.0}, times=3)
    >>> prior.belief().covariance.dense()[2]
    array([1., 3., 5.])

    >>> import sfumato as sf
    >>> bumpy = {"name": "RationalQuadratic", "length_scale": 2.0, "alpha": sf.Interval(0.5, 4.0)}
    >>> noisy = {"name": "Sum", "k1": bumpy, "k2": WhiteKernel(sf.AnyOf(0.1, 0.2))}
    >>> sf.priors.kernel(noisy, times=9).finite
    False
    """

    name = "kernel"
    smoothed_by = "kernel"

    kernel: KernelExpression = parameter(KernelDomain(), doc="the kernel, or its table")
    times: int | Array = times_parameter()
    dimensions: int | None = dimensions_parameter()
    across: Array | None = across_parameter()

    @classmethod
    def fit(
        cls,
        traces: Any,
        kernel: Any,
        *,
        times: Any = None,
        noise: float = 0.0025,
        normalise: bool = True,
    ) -> FittedKernels:
        """Fit the kernel's parameters to every trace by maximum likelihood.

        `kernel` says where to start, with the bounds of the search, as a scikit-learn kernel or
        its table; the rest is as for the other priors. Times are counted in sampling periods.
        """
        from sfumato_gaussian_process.fitting import fit_kernels

        return fit_kernels(cls, traces, kernel, times, noise=noise, normalise=normalise)

    def smoothest(self, span: float) -> float:
        """Return the largest length scale of the kernels inside, in units of the trace."""
        return _smoothest(self.kernel, span)

    def over_time(self) -> Gaussian:
        """Return a Toeplitz covariance for a stationary kernel on a regular grid, else dense."""
        made, points = self.kernel.scikit_learn(), stamps(self.times)
        stationary = is_stationary(self.kernel)
        if stationary:  # counted from the first, as only lags are seen
            points = points - points[0]
        column = points[:, None]
        stored: Matrix
        if stationary and isinstance(self.times, int):
            first = made(column, column[:1])[:, 0]
            first[0] = made.diag(column[:1])[0]  # white noise, which a pair of sets does not show
            stored = Toeplitz(first)
        else:
            refuse_dense(points.size)
            stored = Dense(made(column))
        return Gaussian(
            stored,
            definite=is_definite(self.kernel, points),
            rounding=rounding_of(self.kernel, points),
            exact=self.formula_over_time,
        )

    def formula_over_time(self, numbers: Any) -> Any:
        """Return the covariance of one coordinate in exact numbers."""
        covariance = functools.partial(exact_covariance, self.kernel)
        stationary, times = is_stationary(self.kernel), self.times
        if stationary and not isinstance(times, int):
            times = times - times[0]
        return formula_of(covariance, times, numbers, stationary=stationary)
