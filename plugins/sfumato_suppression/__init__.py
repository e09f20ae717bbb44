"""Mechanisms that release a state, suppress it or blur it."""

from __future__ import annotations

from sfumato.hookspecs import hookimpl
from sfumato.protocols import LossMeasure, Mechanism


@hookimpl
def sfumato_mechanisms() -> list[type[Mechanism]]:
    """Register the mechanisms."""
    from sfumato_suppression import mechanisms as ours
    from sfumato_suppression.blurring import EmissionGiven, Generalise, RandomisedResponse
    from sfumato_suppression.optimal import Optimal
    from sfumato_suppression.set_labels import SetLabels

    return [
        ours.Sensitive,
        ours.Given,
        ours.Probabilistic,
        ours.Simulatable,
        ours.Hybrid,
        ours.Segmented,
        Optimal,
        SetLabels,
        RandomisedResponse,
        Generalise,
        EmissionGiven,
    ]


@hookimpl
def sfumato_measures() -> list[type[LossMeasure]]:
    """Register the measure."""
    from sfumato_suppression.limits import ReleasableFraction

    return [ReleasableFraction]
