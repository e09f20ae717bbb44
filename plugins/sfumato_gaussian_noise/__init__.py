"""Mechanisms that add Gaussian noise."""

from __future__ import annotations

from pathlib import Path

from sfumato.hookspecs import hookimpl
from sfumato.protocols import DeclaredMechanism


@hookimpl
def sfumato_mechanisms() -> list[type[DeclaredMechanism]]:
    """Register the mechanisms."""
    from sfumato_gaussian_noise.concentrated import Concentrated
    from sfumato_gaussian_noise.given import Given
    from sfumato_gaussian_noise.multiple_secrets import MultipleSecrets
    from sfumato_gaussian_noise.optimal import Optimal
    from sfumato_gaussian_noise.sdp_a import SDPA
    from sfumato_gaussian_noise.uniform import Uniform

    return [Concentrated, Given, MultipleSecrets, Optimal, SDPA, Uniform]


@hookimpl
def sfumato_studies() -> dict[str, Path]:
    """Register the bundled study."""
    return {"noise_by_length_scale": Path(__file__).parent / "studies/noise_by_length_scale.toml"}
