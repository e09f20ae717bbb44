"""The kit is tested too: every law rejects its mutants."""

from __future__ import annotations

from collections import Counter

import attrs
import pytest
from mutants import all_mutants
from mutants.mutant import KINDS

from sfumato.laws.law import all_laws, audit_laws, cases_of, law_named
from sfumato.laws.trial import PROFILES, try_case
from sfumato.plugin_registry import Registry

SHIPPED = Registry.load(strict=True)
# A rejection is enough here; making counterexamples small is tested elsewhere.
DEFAULT = attrs.evolve(PROFILES["default"], shrink=False)


def test_laws_and_mutants_pair_up():
    laws = {law.name for law in (*all_laws(), *audit_laws())}
    assert {mutant.law for mutant in all_mutants()} == laws


def test_each_kind_of_mistake_has_two_mutants():
    counts = Counter(mutant.kind for mutant in all_mutants() if mutant.kind)
    assert set(counts) == set(KINDS)
    assert min(counts.values()) >= 2


@pytest.mark.parametrize("law", [*all_laws(), *audit_laws()], ids=lambda law: law.name)
def test_a_law_is_one_sentence_with_a_dotted_name(law):
    assert law.sentence.endswith(".")
    assert law.name.count(".") == 1
    assert set(law.over) <= {*law.nouns, "prior", "measure"}


def verdicts(mutant):
    registry = mutant.registry(SHIPPED)
    focus = [entry for entry in registry.entries if entry.value is mutant.plugin]
    for case in cases_of(law_named(mutant.law), registry, focus):
        yield try_case(case, registry, DEFAULT)


@pytest.mark.parametrize("mutant", all_mutants(), ids=lambda mutant: mutant.name)
def test_the_mutant_is_rejected(mutant):
    assert any(one.outcome == mutant.outcome for one in verdicts(mutant)), mutant.mistake
