"""Mechanisms that add Gaussian noise."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

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


@hookimpl
def sfumato_worlds() -> Mapping[str, Mapping[str, Any]]:
    """Register the worlds of real values that every definition is tried on."""
    shared = {
        "prior": {"name": "rbf", "length_scale": 3.0, "times": 10},
        "mechanism": {"name": "gaussian_uniform", "mse": 0.1},
        "given": {"g_vulnerability": {"gain": [[1.0, 0.0], [0.0, 2.0]]}},
    }
    near = {"name": "near", "place": 0.0, "radius": 0.25, "index": 4}
    design = {"secret": "basic index=4"}
    return {
        "a real value": {**shared, "secret": {"name": "basic", "index": 4}},
        "real values together": {**shared, "secret": {"name": "compound", "indices": [3, 5]}},
        "near a place": {
            **shared,
            "secret": near,
            "mechanism": {"name": "gaussian_uniform", "mse": 0.1, "design": design},
        },
    }
