"""Any scikit-learn kernel as a prior."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs import Gaussian
from sfumato.domains import Domain, Rejected, Sizes
from sfumato.matrices import Dense, Matrix, Toeplitz
from sfumato.matrices.matrix import ROUNDOFF
from sfumato.parameters import TIMES, declare, parameter, stamps
from sfumato.protocols import Prior
from sfumato_gaussian_process.stationary import (
    across_coordinates,
    across_parameter,
    dimensions_parameter,
    trace_of,
)

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from sfumato_gaussian_process.fitting import FittedKernels


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
"""The numeric parameters of every kernel that is taken."""

PARTS: Mapping[str, tuple[str, ...]] = {
    "Sum": ("k1", "k2"),
    "Product": ("k1", "k2"),
    "Exponentiation": ("kernel",),
}
"""The kernels inside another."""

NAMES = tuple(dict.fromkeys((*NUMBERS, *PARTS)))
ZERO_ALLOWED = frozenset({"sigma_0", "noise_level"})
SMOOTHNESS = (0.5, 1.5, 2.5, math.inf)


@attrs.frozen(repr=False)
class KernelExpression:
    """A kernel's class name, its numbers and the kernels inside it.

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
    def opened(value: Any) -> Any:
        """Return the tables of a kernel and of those inside it, unchecked; the rest as it is.

        >>> from sklearn.gaussian_process.kernels import RBF
        >>> KernelExpression.opened(RBF(2.0))
        {'name': 'RBF', 'length_scale': 2.0}
        """
        if isinstance(value, KernelExpression):
            return value.plain()
        if isinstance(value, Mapping):
            table = dict(value)
        elif _is_kernel(value):
            table = _table(value)
        else:
            return value
        return {key: KernelExpression.opened(inner) for key, inner in table.items()}

    def plain(self) -> dict[str, Any]:
        """Return the table that `read` reads."""
        inner = zip(PARTS.get(self.name, ()), self.parts, strict=True)
        return {
            "name": self.name,
            **{key: part.plain() for key, part in inner},
            **dict(self.numbers),
        }

    def __repr__(self) -> str:
        return repr(self.plain()).replace("inf", "float('inf')")

    def number(self, key: str) -> float:
        """Return one of the numbers."""
        return dict(self.numbers)[key]

    def scikit_learn(self) -> Any:
        """Return the scikit-learn kernel."""
        from sklearn.gaussian_process import kernels

        inner = zip(PARTS.get(self.name, ()), self.parts, strict=True)
        made = {key: part.scikit_learn() for key, part in inner}
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
    """A scikit-learn kernel: the object itself, or a table of its name and parameters.

    >>> KernelDomain().convert({"name": "RBF", "length_scale": 2.0}, Sizes()).name
    'RBF'
    """

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

    def opened(self, value: Any) -> Any:
        """Return the table of a kernel and of the kernels inside it."""
        return KernelExpression.opened(value)

    def strategy(self, sizes: Mapping[str, int]) -> SearchStrategy[Any]:
        """Draw kernels, sums and products of them."""
        from hypothesis import strategies as st

        del sizes
        scale = st.floats(0.25, 8.0)
        single = st.one_of(
            st.builds(lambda x: {"name": "RBF", "length_scale": x}, scale),
            st.builds(
                lambda x, a: {"name": "RationalQuadratic", "length_scale": x, "alpha": a},
                scale,
                scale,
            ),
            st.builds(
                lambda x, p: {"name": "ExpSineSquared", "length_scale": x, "periodicity": p},
                scale,
                scale,
            ),
            st.builds(lambda x: {"name": "WhiteKernel", "noise_level": x}, scale),
        )
        pair = st.builds(
            lambda name, one, other: {"name": name, "k1": one, "k2": other},
            st.sampled_from(["Sum", "Product"]),
            single,
            single,
        )
        return (single | pair).map(KernelExpression.read)


def is_definite(kernel: KernelExpression, times: NDArray[np.float64]) -> bool:
    """Whether the covariance at distinct times is known to be strictly positive definite.

    A sum is if one term is; a product if one factor is and the other's variances are positive
    (Schur's product theorem).

    >>> is_definite(KernelExpression.read({"name": "RBF", "length_scale": 1.0}), np.arange(2.0))
    True
    """
    name = kernel.name
    if name in ("RBF", "Matern", "RationalQuadratic"):
        return True
    if name == "WhiteKernel":
        return kernel.number("noise_level") > 0
    if name == "Sum":
        return any(is_definite(part, times) for part in kernel.parts)
    if name == "Product":
        one, other = kernel.parts
        return (is_definite(one, times) and _has_positive_variances(other, times)) or (
            is_definite(other, times) and _has_positive_variances(one, times)
        )
    return name == "Exponentiation" and is_definite(kernel.parts[0], times)


def _has_positive_variances(kernel: KernelExpression, times: NDArray[np.float64]) -> bool:
    return bool(np.all(kernel.scikit_learn().diag(times[:, None]) > 0))


def rounding_of(kernel: KernelExpression, times: NDArray[np.float64]) -> float:
    """Bound the rounding of scikit-learn's float64 values, in units of the deviations.

    Times are divided by the length scale before they are subtracted, so errors grow with the
    largest time; the sine's argument is not reduced, so they grow with the number of periods.

    >>> rounding_of(KernelExpression.read({"name": "RBF", "length_scale": 1.0}), np.arange(2.0))
    2.6645352591003757e-15
    """
    inner = [rounding_of(part, times) for part in kernel.parts]
    if kernel.name == "Sum":
        return max(inner) + 2 * ROUNDOFF
    if kernel.name == "Product":
        return math.prod(1 + error for error in inner) - 1 + 4 * ROUNDOFF
    if kernel.name == "Exponentiation":
        power = kernel.number("exponent")
        return math.expm1(power * math.log1p(inner[0])) + 4 * power * ROUNDOFF
    return 16 * ROUNDOFF * (1 + _amplified(kernel, float(np.max(np.abs(times)))))


def _amplified(kernel: KernelExpression, farthest: float) -> float:
    """Return by how much a kernel's parameters enlarge the rounding of its argument."""
    if kernel.name in ("RBF", "Matern"):
        return 0.5 * farthest / kernel.number("length_scale")
    if kernel.name == "RationalQuadratic":
        return 0.5 * kernel.number("alpha")
    if kernel.name == "ExpSineSquared":
        return 2 * farthest / kernel.number("periodicity") / kernel.number("length_scale")
    return 0.0


def kernel_formula(kernel: KernelExpression, times: NDArray[np.float64], numbers: Any) -> Any:
    """Return the covariance in exact numbers, from the expression's own."""
    t = [numbers.number(stamp) for stamp in times.tolist()]
    every = range(len(t))
    return numbers.matrix([[_ball(kernel, t[i], t[j], same=i == j) for j in every] for i in every])


def _ball(kernel: KernelExpression, s: Any, t: Any, *, same: bool) -> Any:
    """Return k(s, t); white noise is seen only where both are the same point."""
    inner = [_ball(part, s, t, same=same) for part in kernel.parts]
    if kernel.name == "Exponentiation":
        return inner[0] ** int(kernel.number("exponent"))
    if inner:
        return inner[0] + inner[1] if kernel.name == "Sum" else inner[0] * inner[1]
    if kernel.name == "WhiteKernel":
        return 0 * t + (kernel.number("noise_level") if same else 0)
    if kernel.name == "DotProduct":
        return (0 * t + kernel.number("sigma_0")) ** 2 + s * t
    return _STATIONARY[kernel.name](abs(s - t), *(number for _, number in kernel.numbers))


def _rbf(lag: Any, length_scale: float) -> Any:
    scaled = lag / length_scale
    return (-(scaled * scaled) / 2).exp()


def _matern(lag: Any, length_scale: float, nu: float) -> Any:
    if math.isinf(nu):
        return _rbf(lag, length_scale)
    scaled = lag / length_scale
    u = (scaled * scaled * (2 * nu)).sqrt()
    polynomial = {0.5: 1 + 0 * u, 1.5: 1 + u, 2.5: 1 + u + u * u / 3}[nu]
    return polynomial * (-u).exp()


def _rational_quadratic(lag: Any, length_scale: float, alpha: float) -> Any:
    scaled = lag / length_scale
    return (-(1 + scaled * scaled / (2 * alpha)).log() * alpha).exp()


def _exp_sine_squared(lag: Any, length_scale: float, periodicity: float) -> Any:
    sine = (lag / periodicity).sin_pi() / length_scale
    return (-2 * sine * sine).exp()


def _constant(lag: Any, constant_value: float) -> Any:
    return 0 * lag + constant_value


_STATIONARY: Mapping[str, Callable[..., Any]] = {
    "RBF": _rbf,
    "Matern": _matern,
    "RationalQuadratic": _rational_quadratic,
    "ExpSineSquared": _exp_sine_squared,
    "ConstantKernel": _constant,
}


@declare
class Kernel(Prior):
    """The covariance of a scikit-learn kernel, with its sums, products and whole powers.

    Given as a kernel object, or as a table with its class name, its parameters and, for
    ``Sum``, ``Product`` and ``Exponentiation``, the tables of the kernels inside it.
    Taken are RBF, Matern (ν = 1/2, 3/2, 5/2, ∞), RationalQuadratic, ExpSineSquared,
    ConstantKernel, WhiteKernel and DotProduct; for another kernel write a prior plugin.

    `sf.Interval` and `sf.AnyOf` on any number, or in place of any kernel inside it, make a class.

    Reference: Rasmussen and Williams (2006), Gaussian Processes for Machine Learning, section 4.2.

    >>> from sklearn.gaussian_process.kernels import RBF, WhiteKernel
    >>> Kernel(RBF(2.0) + WhiteKernel(0.5), times=3).belief().covariance.dense().round(4)[0]
    array([1.5   , 0.8825, 0.6065])
    >>> Kernel({"name": "DotProduct", "sigma_0": 1.0}, times=3).belief().covariance.dense()[2]
    array([1., 3., 5.])

    >>> import sfumato as sf
    >>> bumpy = {"name": "RationalQuadratic", "length_scale": 2.0, "alpha": sf.Interval(0.5, 4.0)}
    >>> noisy = {"name": "Sum", "k1": bumpy, "k2": WhiteKernel(sf.AnyOf(0.1, 0.2))}
    >>> sf.priors.kernel(noisy, times=9).finite
    False
    """

    name = "kernel"
    yields = Gaussian

    kernel: KernelExpression = parameter(KernelDomain(), doc="the kernel, or its table")
    times: int | NDArray[np.float64] = parameter(
        TIMES("n"), doc="number of points 0, 1, ..., or increasing time stamps"
    )
    dimensions: int | None = dimensions_parameter()
    across: NDArray[np.float64] | None = across_parameter()

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

        Parameters
        ----------
        traces
            As for the other priors.
        kernel
            Where to start, with the bounds of the search, as a scikit-learn kernel or its table.
        times
            Time stamps of all traces, or a list with those of each; missing means 0, 1, ….
        noise
            Variance of the measurement error, a parameter of the fitted model.
        normalise
            Subtract each trace's mean and divide by its standard deviation first.

        Times are counted in sampling periods.
        """
        from sfumato_gaussian_process.fitting import fit_kernels

        return fit_kernels(cls, traces, kernel, times, noise=noise, normalise=normalise)

    def belief(self) -> Gaussian:
        """Return the Gaussian belief."""
        points = self._points()
        over_time = Gaussian(
            self._over_time(points),
            definite=is_definite(self.kernel, points),
            rounding=rounding_of(self.kernel, points),
            exact=lambda numbers: kernel_formula(self.kernel, points, numbers),
        )
        return across_coordinates(over_time, self.dimensions, self.across)

    def trace_signature(self) -> Hashable:
        """Return the numbers of times and of coordinates, and stamps other than 0, 1, …."""
        return trace_of(self.times, self.dimensions, self.across)

    def _points(self) -> NDArray[np.float64]:
        """Return the times, counted from the first where the kernel sees lags only."""
        points = stamps(self.times)
        return points - points[0] if self.kernel.scikit_learn().is_stationary() else points

    def _over_time(self, points: NDArray[np.float64]) -> Matrix:
        """Return a Toeplitz matrix for a stationary kernel on a regular grid, else a dense one."""
        made, column = self.kernel.scikit_learn(), points[:, None]
        if not (isinstance(self.times, int) and made.is_stationary()):
            return Dense(made(column))
        first = made(column, column[:1])[:, 0]
        first[0] = made.diag(column[:1])[0]  # with white noise, which a pair of sets does not show
        return Toeplitz(first)
