"""Measures of Gaussian releases, and the adversary that realises them."""

from __future__ import annotations

from sfumato.hookspecs import hookimpl
from sfumato.protocols import Adversary, LossMeasure


@hookimpl
def sfumato_measures() -> list[type[LossMeasure]]:
    """Register the measures."""
    from sfumato_renyi.misspecification import Misspecification
    from sfumato_renyi.odds_gap import OddsGap
    from sfumato_renyi.posterior import MeanSquaredError, PosteriorInterval
    from sfumato_renyi.renyi import Renyi, RenyiPaperBound

    return [MeanSquaredError, Misspecification, OddsGap, PosteriorInterval, Renyi, RenyiPaperBound]


@hookimpl
def sfumato_adversaries() -> list[type[Adversary]]:
    """Register the adversary."""
    from sfumato_renyi.posterior import GaussianPosterior

    return [GaussianPosterior]
