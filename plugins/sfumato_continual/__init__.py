"""Noise of differentially private continual release, to be judged under correlated priors."""

from __future__ import annotations

from sfumato.hookspecs import hookimpl
from sfumato.protocols import Mechanism


@hookimpl
def sfumato_mechanisms() -> list[type[Mechanism]]:
    """Register the mechanism."""
    from sfumato_continual.matrix_factorisation import MatrixFactorisation

    return [MatrixFactorisation]
