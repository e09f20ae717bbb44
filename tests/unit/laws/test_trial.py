"""A law that has nothing to say of any example does not apply, however many are drawn."""

from __future__ import annotations

import attrs
import pytest

import sfumato as sf
from sfumato.laws.law import Case, Law, NotHere, OutOfReach
from sfumato.laws.trial import HOPELESS, PROFILES, try_case


@pytest.mark.parametrize("profile", ["quick", "default"])
def test_a_law_that_never_applies_says_so(profile):
    seen = []

    def check(prior):
        seen.append(prior)
        raise NotHere("nothing here")

    law = Law("test.silent", check, over=("prior",))
    case = Case(law, {"prior": sf.registry.get("prior", "rbf")})
    verdict = try_case(case, sf.registry, PROFILES[profile])
    assert (verdict.outcome, verdict.message) == ("does not apply", "nothing here")
    assert len(seen) == HOPELESS  # no example is tried to be made smaller


def test_a_value_is_not_unverified_for_want_of_time():
    """The tenth example can be checked: there was no more time after the fifth."""
    seen = []

    def check(prior):
        seen.append(prior)
        if len(seen) < 10:
            raise OutOfReach("too large")

    law = Law("test.seldom", check, over=("prior",))
    case = Case(law, {"prior": sf.registry.get("prior", "rbf")})
    verdict = try_case(case, sf.registry, attrs.evolve(PROFILES["quick"], share=0.0))
    assert (verdict.outcome, verdict.examples) == ("holds", 1)
