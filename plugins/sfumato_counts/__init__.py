"""Mechanisms that release counts of who is where, and what everyone loses at worst."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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


@hookimpl
def sfumato_worlds() -> Mapping[str, Mapping[str, Any]]:
    """Register the worlds of counts that every definition is tried on."""
    chain = {
        "name": "markov_chain",
        "initial": "stationary",
        "transitions": [[0.6, 0.35, 0.05], [0.35, 0.6, 0.05], [0.45, 0.45, 0.1]],
        "steps": 5,
    }
    counts = {"name": "sensor_counts", "sensors": [0, 1, 2, 1, 0]}
    gain = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 5.0]]
    shared = {"prior": chain, "mechanism": counts, "given": {"g_vulnerability": {"gain": gain}}}
    state = {"name": "basic", "index": 2}
    return {
        "a state, counted": {**shared, "secret": state},
        "noisy counts": {**shared, "secret": state, "mechanism": {**counts, "noise": 1.0}},
        "the whole trace, counted": {**shared, "secret": {"name": "trajectory"}},
    }
