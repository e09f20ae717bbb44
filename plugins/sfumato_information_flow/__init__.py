"""Quantitative information flow: capacities, what is left to guess, and which channel is safer."""

from __future__ import annotations

from sfumato.hookspecs import hookimpl
from sfumato.protocols import LossMeasure


@hookimpl
def sfumato_measures() -> list[type[LossMeasure]]:
    """Register the measures."""
    from sfumato_information_flow import measures as ours

    return [
        ours.BayesCapacity,
        ours.ShannonCapacity,
        ours.GuessingEntropy,
        ours.RemainingEntropy,
    ]
