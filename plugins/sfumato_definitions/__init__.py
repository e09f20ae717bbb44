"""Definitions that the field compares: tests of two values, guesses of the secret, leakages."""

from __future__ import annotations

from sfumato.hookspecs import hookimpl
from sfumato.protocols import LossMeasure


@hookimpl
def sfumato_measures() -> list[type[LossMeasure]]:
    """Register the measures."""
    from sfumato_definitions import guesses, tests_of_pairs

    return [
        tests_of_pairs.Advantage,
        tests_of_pairs.HockeyStick,
        tests_of_pairs.Power,
        guesses.BayesLeakage,
        guesses.BayesSuccess,
        guesses.ExpectedError,
        guesses.GVulnerability,
        guesses.MaximalLeakage,
        guesses.PointwiseLeakage,
    ]
