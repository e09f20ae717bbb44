"""Places on a map: someone who moves among them, noise that counts distances, spatial events."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
def sfumato_strategies() -> Mapping[str, Callable[[Mapping[str, int]], Any]]:
    """Draw events: an expression is a sentence, which no domain of numbers describes."""
    from sfumato_location.events import draw_events

    return {"place_event": draw_events}
