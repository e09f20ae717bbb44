"""Mechanisms that add Gaussian noise."""

from __future__ import annotations

from pathlib import Path

from sfumato.hookspecs import hookimpl
from sfumato.protocols import Mechanism


@hookimpl
def sfumato_mechanisms() -> list[type[Mechanism]]:
    """Register the mechanisms."""
    from sfumato_gaussian_noise.baselines import Concentrated, Given, Uniform
    from sfumato_gaussian_noise.optimal import Optimal
    from sfumato_gaussian_noise.published import SDPA, MultipleSecrets

    return [Concentrated, Given, MultipleSecrets, Optimal, SDPA, Uniform]


@hookimpl
def sfumato_studies() -> dict[str, Path]:
    """Register the bundled study."""
    return {"noise_by_length_scale": Path(__file__).parent / "studies/noise_by_length_scale.toml"}
