"""Measures of what suppression gives away, and the adversaries that realise them."""

from __future__ import annotations

from sfumato.hookspecs import hookimpl
from sfumato.protocols import Adversary, LossMeasure


@hookimpl
def sfumato_measures() -> list[type[LossMeasure]]:
    """Register the measures."""
    from sfumato_posterior_gap.posterior_gap import BreachRate, PosteriorGap, ReleasedFraction

    return [PosteriorGap, ReleasedFraction, BreachRate]


@hookimpl
def sfumato_adversaries() -> list[type[Adversary]]:
    """Register the adversaries."""
    from sfumato_posterior_gap.adversaries import FrequencyOnly, HiddenMarkovPosterior

    return [HiddenMarkovPosterior, FrequencyOnly]
