"""Any scikit-learn kernel as a prior."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs import Gaussian
from sfumato.matrices import Dense, Matrix, Toeplitz
from sfumato.parameters import TIMES, declare, parameter, stamps
from sfumato.protocols import Prior
from sfumato_gaussian_process.coordinates import (
    across_coordinates,
    across_parameter,
    dimensions_parameter,
    trace_of,
)
from sfumato_gaussian_process.kernel_domain import KernelDomain
from sfumato_gaussian_process.kernel_expression import KernelExpression
from sfumato_gaussian_process.kernel_precision import ball_matrix, is_definite, rounding_of

if TYPE_CHECKING:
    from sfumato_gaussian_process.fitted_kernels import FittedKernels


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
        from sfumato_gaussian_process.fitted_kernels import fit_kernels

        return fit_kernels(cls, traces, kernel, times, noise=noise, normalise=normalise)

    def belief(self) -> Gaussian:
        """Return the Gaussian belief."""
        points = self._points()
        over_time = Gaussian(
            self._over_time(points),
            definite=is_definite(self.kernel, points),
            rounding=rounding_of(self.kernel, points),
            exact=lambda bits: ball_matrix(self.kernel, points, bits),
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
