"""Gaussian process priors, and the secrets of real-valued traces."""

from __future__ import annotations

from sfumato.hookspecs import hookimpl
from sfumato.protocols import Prior, Secret


@hookimpl
def sfumato_priors() -> list[type[Prior]]:
    """Register the priors."""
    from sfumato_gaussian_process.kernel import Kernel
    from sfumato_gaussian_process.stationary import RBF, Matern, Periodic

    return [Kernel, Matern, Periodic, RBF]


@hookimpl
def sfumato_secrets() -> list[type[Secret]]:
    """Register the secrets."""
    from sfumato_gaussian_process.secrets import Basic, Compound, EveryPoint, Near

    return [Basic, Compound, EveryPoint, Near]
