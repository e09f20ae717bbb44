"""Gaussian process priors, and the secrets of real-valued traces."""

from __future__ import annotations

from sfumato.hookspecs import hookimpl
from sfumato.protocols import DeclaredSecret, Prior


@hookimpl
def sfumato_priors() -> list[type[Prior]]:
    """Register the priors."""
    from sfumato_gaussian_process.kernel import Kernel
    from sfumato_gaussian_process.matern import Matern
    from sfumato_gaussian_process.periodic import Periodic
    from sfumato_gaussian_process.rbf import RBF

    return [Kernel, Matern, Periodic, RBF]


@hookimpl
def sfumato_secrets() -> list[type[DeclaredSecret]]:
    """Register the secrets."""
    from sfumato_gaussian_process.basic import Basic
    from sfumato_gaussian_process.compound import Compound
    from sfumato_gaussian_process.every_point import EveryPoint

    return [Basic, Compound, EveryPoint]
