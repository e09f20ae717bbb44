"""Reconstruction of a trajectory from released counts: measures, bounds and attackers.

The measures are `reconstruction`, the paper's two bounds (`fano`), `mutual_information`
(`information`) and `attack_success` (`attacks`). Bounds come from inequalities (`fano`), from
expected matches (`reconstruction`) and from the `best_guess`; most add up one recursion, over
`sightings`.
"""

from __future__ import annotations

from sfumato.hookspecs import hookimpl
from sfumato.protocols import Adversary, LossMeasure


@hookimpl
def sfumato_measures() -> list[type[LossMeasure]]:
    """Register the measures."""
    from sfumato_fano.attacks import AttackSuccess
    from sfumato_fano.fano import Fano, FanoLoose, FanoTight
    from sfumato_fano.information import MutualInformation
    from sfumato_fano.reconstruction import Reconstruction

    return [AttackSuccess, Fano, FanoLoose, FanoTight, MutualInformation, Reconstruction]


@hookimpl
def sfumato_adversaries() -> list[type[Adversary]]:
    """Register the adversaries."""
    from sfumato_fano.attacks import (
        Constant,
        HammingBall,
        MarginalMode,
        MaximumPosterior,
        PriorMode,
    )

    return [Constant, HammingBall, MarginalMode, MaximumPosterior, PriorMode]
