"""Every law on everything that ships, each law and combination under its own test id."""

from __future__ import annotations

import pytest

from sfumato.laws.law import all_laws, cases_of
from sfumato.laws.trial import PROFILES, try_with_excuses
from sfumato.plugin_registry import Registry

SHIPPED = Registry.load(strict=True)
CASES = [case for law in all_laws() for case in cases_of(law, SHIPPED)]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_law_holds(case):
    verdict = try_with_excuses(case, SHIPPED, PROFILES["quick"])
    if verdict.outcome == "does not apply":
        pytest.skip(verdict.message)
    if verdict.outcome == "expected failure":
        pytest.xfail(verdict.message)
    assert verdict.outcome == "holds", f"{verdict.message}\n\n{verdict.script}"
