"""What is known of a kernel expression beyond its float64 values: definiteness, errors, balls."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.matrices.matrix import ROUNDOFF
from sfumato_gaussian_process.kernel_expression import KernelExpression


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


def ball_matrix(kernel: KernelExpression, times: NDArray[np.float64], bits: int) -> Any:
    """Return the covariance in ball arithmetic, from the expression's numbers."""
    from flint import arb, arb_mat

    from sfumato.inference.ball_arithmetic import precision

    with precision(bits):
        t = [arb(stamp) for stamp in times.tolist()]
        every = range(len(t))
        return arb_mat([[_ball(kernel, t[i], t[j], same=i == j) for j in every] for i in every])


def _ball(kernel: KernelExpression, s: Any, t: Any, *, same: bool) -> Any:
    """Return k(s, t); white noise is seen only where both are the same point."""
    from flint import arb

    inner = [_ball(part, s, t, same=same) for part in kernel.parts]
    if kernel.name == "Exponentiation":
        return inner[0] ** int(kernel.number("exponent"))
    if inner:
        return inner[0] + inner[1] if kernel.name == "Sum" else inner[0] * inner[1]
    if kernel.name == "WhiteKernel":
        return arb(kernel.number("noise_level") if same else 0)
    if kernel.name == "DotProduct":
        return arb(kernel.number("sigma_0")) ** 2 + s * t
    return _STATIONARY[kernel.name](abs(s - t), *(number for _, number in kernel.numbers))


def _rbf(lag: Any, length_scale: float) -> Any:
    from flint import arb

    scaled = lag / arb(length_scale)
    return (-(scaled * scaled) / 2).exp()


def _matern(lag: Any, length_scale: float, nu: float) -> Any:
    from flint import arb

    if math.isinf(nu):
        return _rbf(lag, length_scale)
    u = arb(2 * nu).sqrt() * lag / arb(length_scale)
    polynomial = {0.5: 1 + 0 * u, 1.5: 1 + u, 2.5: 1 + u + u * u / 3}[nu]
    return polynomial * (-u).exp()


def _rational_quadratic(lag: Any, length_scale: float, alpha: float) -> Any:
    from flint import arb

    scaled = lag / arb(length_scale)
    return (-arb(alpha) * (1 + scaled * scaled / (2 * arb(alpha))).log()).exp()


def _exp_sine_squared(lag: Any, length_scale: float, periodicity: float) -> Any:
    from flint import arb

    sine = (lag / arb(periodicity)).sin_pi() / arb(length_scale)
    return (-2 * sine * sine).exp()


def _constant(_: Any, constant_value: float) -> Any:
    from flint import arb

    return arb(constant_value)


_STATIONARY: Mapping[str, Callable[..., Any]] = {
    "RBF": _rbf,
    "Matern": _matern,
    "RationalQuadratic": _rational_quadratic,
    "ExpSineSquared": _exp_sine_squared,
    "ConstantKernel": _constant,
}
