"""Counts over a chain: noise by Markov quilts, by transport, and exactly as much as needed."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from sfumato.figures import Drawing, Figure, FigureRequest
from sfumato.hookspecs import hookimpl
from sfumato.protocols import LossMeasure, Mechanism


@hookimpl
def sfumato_mechanisms() -> list[type[Mechanism]]:
    """Register the mechanisms."""
    from sfumato_pufferfish import mechanisms as ours

    return [
        ours.LaplaceCount,
        ours.MarkovQuilt,
        ours.OptimalCountNoise,
        ours.WassersteinLaplace,
    ]


@hookimpl
def sfumato_measures() -> list[type[LossMeasure]]:
    """Register the measure."""
    from sfumato_pufferfish.ratio import Pufferfish

    return [Pufferfish]


def _noise(request: FigureRequest) -> Drawing:
    from sfumato_pufferfish.figures import quilt_ratio

    return quilt_ratio(request)


FIGURES: Mapping[str, Figure] = MappingProxyType(
    {
        "song2017_noise": Figure(
            "Song, Wang and Chaudhuri (2017), their noise beside the least that suffices", _noise
        )
    }
)


@hookimpl
def sfumato_figures() -> Mapping[str, Figure]:
    """Register the figure of what an exact calibration saves."""
    return FIGURES


@hookimpl
def sfumato_worlds() -> Mapping[str, Mapping[str, Any]]:
    """Register the world of one count that every definition is tried on."""
    chain = {
        "name": "markov_chain",
        "initial": "stationary",
        "transitions": [[0.6, 0.35, 0.05], [0.35, 0.6, 0.05], [0.45, 0.45, 0.1]],
        "steps": 5,
    }
    gain = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 5.0]]
    return {
        "one noisy count of a trace": {
            "prior": chain,
            "secret": {"name": "basic", "index": 2},
            "mechanism": {"name": "laplace_count", "states": [1], "scale": 1.0},
            "given": {
                "g_vulnerability": {"gain": gain},
                "mutual_information": {"about": "secret"},
            },
        }
    }
