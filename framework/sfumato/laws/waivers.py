"""Laws that a plugin is known to break, each with its reason."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from sfumato.laws.case import Case
from sfumato.laws.verdict import Verdict

Waivers = Mapping[str, str]


def waivers_of(cls: Any) -> Waivers:
    """Return the waivers a class declares: ``waivers = {"monotone.order": "why"}``."""
    found: Waivers = getattr(cls, "waivers", {})
    return found


def reason_for(case: Case) -> str:
    """Return why the case's law is waived for one of its classes, or ""."""
    reasons = (waivers_of(cls).get(case.law.name, "") for cls in case.classes.values())
    return next((reason for reason in reasons if reason), "")


def unused(
    verdicts: Iterable[Verdict], classes: Iterable[Any], laws: Collection[str] | None = None
) -> Iterator[str]:
    """Yield a sentence for every waiver of the classes that no violation needed.

    With `laws`, only waivers of those laws are judged: the others were not tried.
    """
    needed = {
        (verdict.case.law.name, cls.name)
        for verdict in verdicts
        if verdict.outcome == "waived"
        for cls in verdict.case.classes.values()
    }
    for cls in classes:
        for name in waivers_of(cls):
            if (name, cls.name) not in needed and (laws is None or name in laws):
                yield f"{cls.name} waives {name}, which it does not break: delete the waiver."
