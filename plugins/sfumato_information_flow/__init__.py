"""Quantitative information flow: capacities, what is left to guess, and which channel is safer."""

from __future__ import annotations

from sfumato.hookspecs import hookimpl
from sfumato.protocols import LossMeasure


@hookimpl
def sfumato_measures() -> list[type[LossMeasure]]:
    """Register the measures."""
    from sfumato_information_flow import capacities, entropies

    return [
        capacities.BayesCapacity,
        capacities.ShannonCapacity,
        entropies.GuessingEntropy,
        entropies.RemainingEntropy,
    ]
