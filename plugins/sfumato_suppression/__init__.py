"""Mechanisms that release a state or suppress it."""

from __future__ import annotations

from sfumato.hookspecs import hookimpl
from sfumato.protocols import DeclaredMechanism


@hookimpl
def sfumato_mechanisms() -> list[type[DeclaredMechanism]]:
    """Register the mechanisms."""
    from sfumato_suppression.given import Given

    return [Given]
