"""Measures of reconstruction, and the adversaries that attempt it."""

from __future__ import annotations

from sfumato.hookspecs import hookimpl
from sfumato.protocols import DeclaredAdversary, DeclaredMeasure


@hookimpl
def sfumato_measures() -> list[type[DeclaredMeasure]]:
    """Register the measures."""
    from sfumato_fano.reconstruction import Reconstruction

    return [Reconstruction]


@hookimpl
def sfumato_adversaries() -> list[type[DeclaredAdversary]]:
    """Register the adversaries."""
    from sfumato_fano.maximum_posterior import MaximumPosterior

    return [MaximumPosterior]
