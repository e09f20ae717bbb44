"""Plugins that are wrong on purpose, by kind: what a law must reject."""

from __future__ import annotations

from mutants import (
    adversaries,
    claims,
    class_suprema,
    contracts,
    doors,
    gaussian_measures,
    markov_measures,
    mechanisms,
    priors,
    relations,
    samplers,
    secrets,
    unverified,
    worlds,
)
from mutants.mutant import Mutant

KINDS = (
    adversaries,
    claims,
    class_suprema,
    contracts,
    doors,
    gaussian_measures,
    markov_measures,
    mechanisms,
    priors,
    relations,
    samplers,
    secrets,
    unverified,
    worlds,
)


def all_mutants() -> tuple[Mutant, ...]:
    """Return every mutant, by law and name."""
    found = [mutant for kind in KINDS for mutant in kind.MUTANTS]
    return tuple(sorted(found, key=lambda mutant: (mutant.law, mutant.name)))
