"""Mechanisms that release counts of who is where, and what everyone loses at worst."""

from __future__ import annotations

from sfumato.hookspecs import hookimpl
from sfumato.protocols import LossMeasure, Mechanism


@hookimpl
def sfumato_mechanisms() -> list[type[Mechanism]]:
    """Register the mechanism."""
    from sfumato_counts.sensor_counts import SensorCounts

    return [SensorCounts]


@hookimpl
def sfumato_measures() -> list[type[LossMeasure]]:
    """Register the measure."""
    from sfumato_counts.differential_privacy import DifferentialPrivacy

    return [DifferentialPrivacy]
