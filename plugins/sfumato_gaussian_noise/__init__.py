"""Mechanisms that add Gaussian noise."""

from __future__ import annotations

from sfumato.hookspecs import hookimpl
from sfumato.protocols import DeclaredMechanism


@hookimpl
def sfumato_mechanisms() -> list[type[DeclaredMechanism]]:
    """Register the mechanisms."""
    from sfumato_gaussian_noise.given import Given
    from sfumato_gaussian_noise.uniform import Uniform

    return [Given, Uniform]
