"""Mechanisms that release a state, suppress it or blur it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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


@hookimpl
def sfumato_worlds() -> Mapping[str, Mapping[str, Any]]:
    """Register the world of contexts that every definition is tried on."""
    chain = {
        "name": "markov_chain",
        "initial": "stationary",
        "transitions": [[0.6, 0.35, 0.05], [0.35, 0.6, 0.05], [0.45, 0.45, 0.1]],
        "steps": 5,
    }
    return {
        "contexts, suppressed": {
            "prior": chain,
            "secret": {"name": "contexts", "states": [2]},
            "mechanism": {"name": "suppress_segmented", "delta": 0.2},
            "given": {"g_vulnerability": {"gain": [[1.0, 0.0], [0.0, 2.0]]}},
        }
    }
