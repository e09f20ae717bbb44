"""Two lines of test for a plugin author: every law under its own test id."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs

from sfumato.laws.case import Case, cases_of
from sfumato.laws.catalogue import all_laws
from sfumato.laws.counterexamples import BY_HAND, KEPT_BELOW, Counterexamples
from sfumato.laws.trial import profile_named
from sfumato.laws.waivers import tried_with_waivers, waivers_of
from sfumato.plugin_registry import Entry, Registry, default_registry


def conformance(
    *plugins: Any,
    profile: str = "quick",
    waivers: Mapping[str, str] | None = None,
    examples: str | Path = KEPT_BELOW,
) -> Callable[..., None]:
    """Return a pytest function that tries every law on the given classes.

    A whole test file of a plugin::

        from sfumato.laws import conformance
        from my_plugin import MyPrior

        test_laws = conformance(MyPrior)

    Parameters
    ----------
    plugins
        Plugin classes, registered or not.
    profile
        How hard to look.
    waivers
        Laws that may be broken, with the reason; a waiver that is not needed is a failure.
    examples
        Where counterexamples are kept, as by ``sfumato verify``; they are tried first ever after.
    """
    import pytest

    registry = _with(default_registry(), plugins)
    focus = [entry for entry in registry.entries if entry.value in plugins]
    excused = {**{k: v for cls in plugins for k, v in waivers_of(cls).items()}, **(waivers or {})}
    cases = [case for law in all_laws() for case in cases_of(law, registry, focus)]
    unknown = set(excused) - {case.law.name for case in cases}
    if unknown:
        raise LookupError(f"the waiver '{min(unknown)}' names no law that applies here.")
    if not all(excused.values()):
        name = min(name for name, reason in excused.items() if not reason)
        raise ValueError(f"the waiver of {name} must have a reason; got none.")
    parameters = [
        pytest.param([case], id=str(case)) for case in cases if case.law.name not in excused
    ]
    parameters += [
        pytest.param([case for case in cases if case.law.name == name], id=f"{name}[waived]")
        for name in excused
    ]

    @pytest.mark.parametrize("cases", parameters)
    def test_conformance(cases: list[Case]) -> None:
        _judge(cases, registry, profile, excused, Counterexamples(Path(examples)))

    return test_conformance


def _with(registry: Registry, plugins: tuple[Any, ...]) -> Registry:
    """Return the registry with the classes in it."""
    known = [entry.value for entry in registry.entries]
    new = [Entry(cls.kind, cls.name, cls, BY_HAND) for cls in plugins if cls not in known]
    return attrs.evolve(registry, entries=(*registry.entries, *new))


def _judge(
    cases: list[Case],
    registry: Registry,
    profile: str,
    excused: Mapping[str, str],
    kept: Counterexamples,
) -> None:
    """Fail, skip or excuse, as the verdicts have it."""
    import pytest

    how = profile_named(profile)
    name = cases[0].law.name
    verdicts = [tried_with_waivers(case, registry, how, kept) for case in cases]
    broken = [verdict for verdict in verdicts if verdict.outcome == "violated"]
    waived = [verdict for verdict in verdicts if verdict.outcome == "waived"]
    if name in excused:
        if not broken and not waived:
            pytest.fail(f"the waiver of {name} is not needed: delete it", pytrace=False)
        pytest.xfail(excused[name])
    if broken:
        pytest.fail(f"{broken[0].message}\n\n{broken[0].script}", pytrace=False)
    if waived:  # by another plugin, which was drawn
        pytest.xfail(waived[0].message)
    if all(verdict.outcome == "refused" for verdict in verdicts):
        pytest.skip(verdicts[0].message)
