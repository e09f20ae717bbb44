"""Measures of Gaussian releases, and the adversary that realises them."""

from __future__ import annotations

from sfumato.hookspecs import hookimpl
from sfumato.protocols import DeclaredAdversary, DeclaredMeasure


@hookimpl
def sfumato_measures() -> list[type[DeclaredMeasure]]:
    """Register the measures."""
    from sfumato_renyi.mean_squared_error import MeanSquaredError
    from sfumato_renyi.misspecification import Misspecification
    from sfumato_renyi.odds_gap import OddsGap
    from sfumato_renyi.posterior_interval import PosteriorInterval
    from sfumato_renyi.renyi import Renyi
    from sfumato_renyi.renyi_paper_bound import RenyiPaperBound

    return [MeanSquaredError, Misspecification, OddsGap, PosteriorInterval, Renyi, RenyiPaperBound]


@hookimpl
def sfumato_adversaries() -> list[type[DeclaredAdversary]]:
    """Register the adversary."""
    from sfumato_renyi.gaussian_posterior import GaussianPosterior

    return [GaussianPosterior]
