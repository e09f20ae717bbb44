"""Measures of what suppression gives away, and the adversaries that realise them."""

from __future__ import annotations

from sfumato.hookspecs import hookimpl
from sfumato.protocols import DeclaredAdversary, DeclaredMeasure


@hookimpl
def sfumato_measures() -> list[type[DeclaredMeasure]]:
    """Register the measures."""
    from sfumato_posterior_gap.breach_rate import BreachRate
    from sfumato_posterior_gap.posterior_gap import PosteriorGap
    from sfumato_posterior_gap.released_fraction import ReleasedFraction

    return [PosteriorGap, ReleasedFraction, BreachRate]


@hookimpl
def sfumato_adversaries() -> list[type[DeclaredAdversary]]:
    """Register the adversaries."""
    from sfumato_posterior_gap.frequency_only import FrequencyOnly
    from sfumato_posterior_gap.hidden_markov_posterior import HiddenMarkovPosterior

    return [HiddenMarkovPosterior, FrequencyOnly]
