"""From a covariance that depends on the lag alone to a belief."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs import Gaussian
from sfumato.matrices import Dense, Matrix, Toeplitz
from sfumato.parameters import stamps


class StationaryKernel(Protocol):
    """A covariance as a function of the lag, in float64 and in balls."""

    def covariance_at(self, lag: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the covariance at each lag."""
        ...

    def ball_at(self, lag: Any) -> Any:
        """Return a ball that holds the covariance at a lag that is itself a ball."""
        ...


def stationary_belief(
    kernel: StationaryKernel, times: int | NDArray[np.float64], *, definite: bool
) -> Gaussian:
    """Return the belief: Toeplitz on a regular grid, dense otherwise."""
    return Gaussian(
        covariance=stationary_matrix(kernel, times),
        definite=definite,
        exact=lambda bits: ball_matrix(kernel, times, bits),
    )


def stationary_matrix(kernel: StationaryKernel, times: int | NDArray[np.float64]) -> Matrix:
    """Return the covariance matrix of the kernel at the times."""
    if isinstance(times, int):
        return Toeplitz(kernel.covariance_at(np.arange(times, dtype=np.float64)))
    return Dense(kernel.covariance_at(times[:, None] - times[None, :]))


def ball_matrix(kernel: StationaryKernel, times: int | NDArray[np.float64], bits: int) -> Any:
    """Return the covariance in ball arithmetic, built from the kernel's parameters."""
    from flint import arb, arb_mat, ctx

    before = ctx.prec
    ctx.prec = bits
    try:
        t = [arb(float(stamp)) for stamp in stamps(times)]
        return arb_mat([[kernel.ball_at(abs(a - b)) for b in t] for a in t])
    finally:
        ctx.prec = before
