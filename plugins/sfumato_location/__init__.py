"""Places on a map: someone who moves among them, noise that counts distances, spatial events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.hookspecs import hookimpl
from sfumato.protocols import LossMeasure, Mechanism, Prior, Secret


@hookimpl
def sfumato_priors() -> list[type[Prior]]:
    """Register the prior."""
    from sfumato_location.places import LocationWalk

    return [LocationWalk]


@hookimpl
def sfumato_secrets() -> list[type[Secret]]:
    """Register the secret."""
    from sfumato_location.events import PlaceEvent

    return [PlaceEvent]


@hookimpl
def sfumato_mechanisms() -> list[type[Mechanism]]:
    """Register the mechanisms."""
    from sfumato_location.location_sets import DeltaLocationSet
    from sfumato_location.mechanisms import LocationExponential, PlanarLaplace
    from sfumato_location.optimal import GeoOptimal

    return [DeltaLocationSet, GeoOptimal, LocationExponential, PlanarLaplace]


@hookimpl
def sfumato_measures() -> list[type[LossMeasure]]:
    """Register the measures."""
    from sfumato_location.geo_indistinguishability import GeoIndistinguishability, LocationLeakage

    return [GeoIndistinguishability, LocationLeakage]


@hookimpl
def sfumato_worlds() -> Mapping[str, Mapping[str, Any]]:
    """Register the worlds of places that every definition is tried on."""
    places = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    shared = {
        "prior": {"name": "location_walk", "places": places, "reach": 1.0, "steps": 4},
        "mechanism": {"name": "location_exponential", "epsilon": 1.0, "places": places},
    }

    def given(gain: list[list[float]]) -> dict[str, Any]:
        return {
            "geo_indistinguishability": {"places": places},
            "location_leakage": {"places": places},
            "g_vulnerability": {"gain": gain},
        }

    return {
        "a place, blurred": {
            **shared,
            "secret": {"name": "basic", "index": 2},
            "given": given([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 5.0]]),
        },
        "an event of places, blurred": {
            **shared,
            "secret": {"name": "place_event", "expression": "0@1 and not 0@2"},
            "given": given([[1.0, 0.0], [0.0, 5.0]]),
        },
    }
