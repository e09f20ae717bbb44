"""Counts over a chain: noise by Markov quilts, by transport, and exactly as much as needed."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

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
