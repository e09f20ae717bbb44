"""Mechanisms that release a state or suppress it."""

from __future__ import annotations

from sfumato.hookspecs import hookimpl
from sfumato.protocols import DeclaredMechanism


@hookimpl
def sfumato_mechanisms() -> list[type[DeclaredMechanism]]:
    """Register the mechanisms."""
    from sfumato_suppression.given import Given
    from sfumato_suppression.hybrid import Hybrid
    from sfumato_suppression.probabilistic import Probabilistic
    from sfumato_suppression.segmented import Segmented
    from sfumato_suppression.sensitive import Sensitive
    from sfumato_suppression.set_labels import SetLabels
    from sfumato_suppression.simulatable import Simulatable

    return [Sensitive, Given, Probabilistic, Simulatable, Hybrid, Segmented, SetLabels]
