"""Mechanisms that release counts of who is where."""

from __future__ import annotations

from sfumato.hookspecs import hookimpl
from sfumato.protocols import DeclaredMechanism


@hookimpl
def sfumato_mechanisms() -> list[type[DeclaredMechanism]]:
    """Register the mechanism."""
    from sfumato_counts.sensor_counts import SensorCounts

    return [SensorCounts]
