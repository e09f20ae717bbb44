"""Noise of differentially private continual release, to be judged under correlated priors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.hookspecs import hookimpl
from sfumato.protocols import Mechanism


@hookimpl
def sfumato_mechanisms() -> list[type[Mechanism]]:
    """Register the mechanism."""
    from sfumato_continual.matrix_factorisation import MatrixFactorisation

    return [MatrixFactorisation]


@hookimpl
def sfumato_worlds() -> Mapping[str, Mapping[str, Any]]:
    """Register the world of running sums that every definition is tried on."""
    return {
        "a real value, noise of running sums": {
            "prior": {"name": "rbf", "length_scale": 3.0, "times": 10},
            "secret": {"name": "basic", "index": 4},
            "mechanism": {"name": "matrix_factorisation", "mse": 1.0},
            "given": {"g_vulnerability": {"gain": [[1.0, 0.0], [0.0, 2.0]]}},
        }
    }
