"""Temporal privacy leakage: what ε at every step becomes where states are correlated."""

from __future__ import annotations

from sfumato.hookspecs import hookimpl
from sfumato.protocols import LossMeasure, Mechanism


@hookimpl
def sfumato_mechanisms() -> list[type[Mechanism]]:
    """Register the mechanism."""
    from sfumato_temporal.allocation import TemporalResponse

    return [TemporalResponse]


@hookimpl
def sfumato_measures() -> list[type[LossMeasure]]:
    """Register the measure."""
    from sfumato_temporal.leakage import TemporalLeakage

    return [TemporalLeakage]
