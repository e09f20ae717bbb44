"""Laws that a plugin is known to break, each with its reason."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import attrs

from sfumato.laws.case import Case
from sfumato.laws.counterexamples import Counterexamples
from sfumato.laws.law import Verdict
from sfumato.laws.trial import Profile, try_case
from sfumato.parameters import Declared
from sfumato.plugin_registry import Registry

Waivers = Mapping[str, str]


def waivers_of(cls: Any) -> Waivers:
    """Return the waivers a class declares: ``waivers = {"monotone.order": "why"}``."""
    found: Waivers = getattr(cls, "waivers", {})
    return found


def tried_with_waivers(
    case: Case, registry: Registry, profile: Profile, kept: Counterexamples | None = None
) -> Verdict:
    """Return the verdict on a case, as the waivers of its classes and of what it draws have it.

    A drawn class that waives the law must not hide what others do: once it is found to break the
    law, the case is tried again without it.
    """
    verdict = try_case(case, registry, profile, kept)
    if verdict.outcome != "violated":
        return verdict
    fixed = [cls for cls in case.classes.values() if _reason(cls, case)]
    if fixed:
        return _waived(verdict, fixed[0])
    drawn = [cls for cls in _classes_in(verdict.counterexample or {}) if _reason(cls, case)]
    if not drawn:
        return verdict
    others = tuple(entry for entry in registry.entries if entry.value is not drawn[0])
    again = tried_with_waivers(case, attrs.evolve(registry, entries=others), profile, kept)
    if again.outcome == "violated":
        return again
    mine = _waived(verdict, drawn[0])
    return attrs.evolve(mine, waived_for=(*mine.waived_for, *again.waived_for))


def _reason(cls: Any, case: Case) -> str:
    return waivers_of(cls).get(case.law.name, "")


def _waived(verdict: Verdict, cls: Any) -> Verdict:
    message = f"waived: {_reason(cls, verdict.case)} ({verdict.message})"
    return attrs.evolve(verdict, outcome="waived", message=message, waived_for=(cls.name,))


def _classes_in(value: Any) -> Iterator[Any]:
    """Yield the classes of the plugins in drawn arguments, those inside others too."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _classes_in(item)
    elif isinstance(value, Declared):
        yield type(value)
        for item in type(value).parameters():
            yield from _classes_in(getattr(value, item.name))
    elif hasattr(value, "members"):
        yield from _classes_in(list(value.members()))


def unused(
    verdicts: Iterable[Verdict],
    classes: Iterable[Any],
    laws: Mapping[str, bool],
    *,
    in_full: bool = False,
) -> Iterator[str]:
    """Yield a sentence for every waiver of the classes that is wrong, or that nothing needed.

    Parameters
    ----------
    verdicts
        What came of the cases.
    classes
        The classes whose waivers are judged.
    laws
        The name of every law, with whether it was tried.
    in_full
        Whether every case that can use the classes was tried. Otherwise a waiver is needless only
        if a case fixed the class: one that is only drawn may not have been drawn.
    """
    found = list(verdicts)
    needed = {(one.case.law.name, name) for one in found for name in one.waived_for}
    fixed = {(one.case.law.name, cls) for one in found for cls in one.case.classes.values()}
    for cls in classes:
        for name, reason in waivers_of(cls).items():
            judged = laws.get(name, False) and (in_full or (name, cls) in fixed)
            if name not in laws:
                yield f"{cls.name} waives {name}, which is no law: delete the waiver."
            elif not reason:
                yield f"{cls.name} waives {name} without a reason: say why, or delete the waiver."
            elif judged and (name, cls.name) not in needed:
                yield f"{cls.name} waives {name}, which it does not break: delete the waiver."
