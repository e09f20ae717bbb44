"""Attackers on randomised answers and on aggregates."""

from __future__ import annotations

from sfumato.hookspecs import hookimpl
from sfumato.protocols import Adversary, LossMeasure


@hookimpl
def sfumato_adversaries() -> list[type[Adversary]]:
    """Register the adversary."""
    from sfumato_attackers.aggregates import TrajectoryRecovery

    return [TrajectoryRecovery]


@hookimpl
def sfumato_measures() -> list[type[LossMeasure]]:
    """Register the measure."""
    from sfumato_attackers.smoothing import SmoothingSuccess

    return [SmoothingSuccess]
