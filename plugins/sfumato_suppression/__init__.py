"""Mechanisms that release a state or suppress it."""

from __future__ import annotations

from sfumato.hookspecs import hookimpl
from sfumato.protocols import Mechanism


@hookimpl
def sfumato_mechanisms() -> list[type[Mechanism]]:
    """Register the mechanisms."""
    from sfumato_suppression.baselines import Given, Sensitive
    from sfumato_suppression.published import Hybrid, Probabilistic, Segmented, Simulatable
    from sfumato_suppression.set_labels import SetLabels

    return [Sensitive, Given, Probabilistic, Simulatable, Hybrid, Segmented, SetLabels]
