"""Measures of reconstruction, and the adversaries that attempt it."""

from __future__ import annotations

from sfumato.hookspecs import hookimpl
from sfumato.protocols import DeclaredAdversary, DeclaredMeasure


@hookimpl
def sfumato_measures() -> list[type[DeclaredMeasure]]:
    """Register the measures."""
    from sfumato_fano.attack_success import AttackSuccess
    from sfumato_fano.fano_loose import FanoLoose
    from sfumato_fano.fano_tight import FanoTight
    from sfumato_fano.mutual_information import MutualInformation
    from sfumato_fano.reconstruction import Reconstruction

    return [AttackSuccess, FanoLoose, FanoTight, MutualInformation, Reconstruction]


@hookimpl
def sfumato_adversaries() -> list[type[DeclaredAdversary]]:
    """Register the adversaries."""
    from sfumato_fano.constant import Constant
    from sfumato_fano.marginal_mode import MarginalMode
    from sfumato_fano.maximum_posterior import MaximumPosterior
    from sfumato_fano.prior_mode import PriorMode

    return [Constant, MarginalMode, MaximumPosterior, PriorMode]
