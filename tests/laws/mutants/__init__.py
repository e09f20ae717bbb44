"""Plugins that are wrong on purpose, by kind: what a law must reject."""

from __future__ import annotations

from mutants import (
    adversaries,
    class_suprema,
    contracts,
    gaussian_measures,
    markov_measures,
    mechanisms,
    priors,
    relations,
    samplers,
    unverified,
)
from mutants.mutant import Mutant

KINDS = (
    adversaries,
    class_suprema,
    contracts,
    gaussian_measures,
    markov_measures,
    mechanisms,
    priors,
    relations,
    samplers,
    unverified,
)


def all_mutants() -> tuple[Mutant, ...]:
    """Return every mutant, by law and name."""
    found = [mutant for kind in KINDS for mutant in kind.MUTANTS]
    return tuple(sorted(found, key=lambda mutant: (mutant.law, mutant.name)))
