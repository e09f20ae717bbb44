"""Measures of reconstruction, and the adversaries that attempt it."""

from __future__ import annotations

from sfumato.hookspecs import hookimpl
from sfumato.protocols import Adversary, LossMeasure


@hookimpl
def sfumato_measures() -> list[type[LossMeasure]]:
    """Register the measures."""
    from sfumato_fano.attack_success import AttackSuccess
    from sfumato_fano.fano import FanoLoose, FanoTight
    from sfumato_fano.information import MutualInformation
    from sfumato_fano.reconstruction import Reconstruction

    return [AttackSuccess, FanoLoose, FanoTight, MutualInformation, Reconstruction]


@hookimpl
def sfumato_adversaries() -> list[type[Adversary]]:
    """Register the adversaries."""
    from sfumato_fano.attackers import Constant, MarginalMode, MaximumPosterior, PriorMode

    return [Constant, MarginalMode, MaximumPosterior, PriorMode]
