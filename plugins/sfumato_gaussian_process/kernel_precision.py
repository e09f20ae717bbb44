"""What is known of a kernel expression beyond its float64 values: definiteness, errors, balls."""

from __future__ import annotations

import math
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
    name, farthest = kernel.name, float(np.max(np.abs(times)))
    if name in ("RBF", "Matern"):
        return 8 * ROUNDOFF * (2 + farthest / kernel.number("length_scale"))
    if name == "RationalQuadratic":
        return 8 * ROUNDOFF * (2 + kernel.number("alpha"))
    if name == "ExpSineSquared":
        turns = 2 * farthest / kernel.number("periodicity") / kernel.number("length_scale")
        return 16 * ROUNDOFF * (1 + turns)
    if name == "Sum":
        return max(rounding_of(part, times) for part in kernel.parts) + 2 * ROUNDOFF
    if name == "Product":
        one, other = (rounding_of(part, times) for part in kernel.parts)
        return one + other + one * other + 2 * ROUNDOFF
    if name == "Exponentiation":
        power = kernel.number("exponent")
        return math.expm1(power * math.log1p(rounding_of(kernel.parts[0], times))) + 4 * (
            power * ROUNDOFF
        )
    return 4 * ROUNDOFF


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

    name = kernel.name
    if name in ("Sum", "Product", "Exponentiation"):
        inner = [_ball(part, s, t, same=same) for part in kernel.parts]
        if name == "Exponentiation":
            return inner[0] ** int(kernel.number("exponent"))
        return inner[0] + inner[1] if name == "Sum" else inner[0] * inner[1]
    first, *rest = (arb(number) for _, number in kernel.numbers)
    if name == "ConstantKernel":
        return first
    if name == "WhiteKernel":
        return first if same else arb(0)
    if name == "DotProduct":
        return first * first + s * t
    lag = abs(s - t) / (arb(1) if name == "ExpSineSquared" else first)
    if name == "RBF" or (name == "Matern" and not rest[0].is_finite()):
        return (-(lag * lag) / 2).exp()
    if name == "RationalQuadratic":
        return (-rest[0] * (1 + lag * lag / (2 * rest[0])).log()).exp()
    if name == "ExpSineSquared":
        sine = (lag / rest[0]).sin_pi() / first
        return (-2 * sine * sine).exp()
    return _matern(kernel.number("nu"), lag)


def _matern(nu: float, lag: Any) -> Any:
    from flint import arb

    u = arb(2 * nu).sqrt() * lag
    polynomial = {0.5: 1 + 0 * u, 1.5: 1 + u, 2.5: 1 + u + u * u / 3}[nu]
    return polynomial * (-u).exp()
