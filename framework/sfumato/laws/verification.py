"""Trying many laws on many cases, on one core or several."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import attrs

from sfumato.laws import waivers
from sfumato.laws.capabilities import ORDER
from sfumato.laws.case import Case, cases_of
from sfumato.laws.catalogue import all_laws, audit_laws
from sfumato.laws.counterexamples import Counterexamples
from sfumato.laws.law import Verdict
from sfumato.laws.trial import profile_named
from sfumato.plugin_registry import Entry, Registry, default_registry, did_you_mean


@attrs.frozen
class Plan:
    """What to verify; plain values, so that every process makes the same list of cases of it.

    Attributes
    ----------
    names
        Plugins to verify, and laws to try; all where none are named.
    paths
        One-file plugins.
    profile
        How hard to look.
    audit
        Whether to sample releases instead of trying the laws.
    kept
        The folder of counterexamples kept from before, if any.
    """

    names: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    profile: str = "default"
    audit: bool = False
    kept: str | None = None


@attrs.frozen
class Verification:
    """All verdicts, and what is wrong with waivers: most often, that nothing needed one."""

    verdicts: tuple[Verdict, ...]
    unused_waivers: tuple[str, ...] = ()

    @property
    def violations(self) -> tuple[Verdict, ...]:
        """The verdicts with a counterexample."""
        return tuple(verdict for verdict in self.verdicts if verdict.outcome == "violated")

    @property
    def ok(self) -> bool:
        """Whether every law holds and every waiver is needed."""
        return not self.violations and not self.unused_waivers


def planned(plan: Plan, registry: Registry) -> list[Case]:
    """Return the cases of a plan, in a fixed order."""
    laws = audit_laws() if plan.audit else all_laws()
    law_names = {law.name for law in laws}
    wanted = [law for law in laws if law.name in plan.names]
    focus = _focus([name for name in plan.names if name not in law_names], registry, law_names)
    return [case for law in wanted or laws for case in cases_of(law, registry, focus)]


def _focus(names: Sequence[str], registry: Registry, law_names: Iterable[str]) -> list[Entry]:
    found: list[Entry] = []
    for name in names:
        entries = [entry for entry in registry.find(name) if entry.kind in ORDER]
        if not entries:
            known = {entry.name for entry in registry.entries} | set(law_names)
            raise LookupError(f"nothing is named '{name}'; {did_you_mean(name, known)}")
        found += entries
    return found


def verify(
    *names: str,
    profile: str = "quick",
    audit: bool = False,
    workers: int = 1,
    progress: Callable[[int, int, Verdict], None] | None = None,
    kept: str | Path | None = None,
    registry: Registry | None = None,
) -> Verification:
    """Try every law (or those named) on every plugin (or those named).

    >>> verify("belief.possible", "rbf").ok
    True
    """
    every = registry or default_registry()
    folder = None if kept is None else str(kept)
    plan = Plan(names, every.paths, profile, audit, folder)
    cases = planned(plan, every)
    found: dict[int, Verdict] = {}
    tried = _alone(plan, every, cases) if workers == 1 else _together(plan, cases, workers)
    for number, verdict in tried:
        found[number] = verdict
        if progress is not None:
            progress(len(found), len(cases), verdict)
    verdicts = tuple(found[number] for number in range(len(cases)))
    return Verification(verdicts, tuple(_unused(plan, every, verdicts)))


def _unused(plan: Plan, registry: Registry, verdicts: Iterable[Verdict]) -> Iterator[str]:
    """Yield what is wrong with the waivers of the plugins that are named, or of all."""
    every = {law.name for law in (*all_laws(), *audit_laws())}
    wanted = {law.name for law in (audit_laws() if plan.audit else all_laws())}
    tried_laws = (every & set(plan.names)) or wanted
    plugins = set(plan.names) - every
    nouns = [entry for entry in registry.entries if entry.kind in ORDER]
    judged = [entry.value for entry in nouns if not plugins or entry.name in plugins]
    laws = {name: name in tried_laws for name in every}
    return waivers.unused(verdicts, judged, laws, in_full=bool(plugins))


def _alone(plan: Plan, registry: Registry, cases: Sequence[Case]) -> Iterator[tuple[int, Verdict]]:
    for number, case in enumerate(cases):
        yield number, tried(plan, case, registry)


def tried(plan: Plan, case: Case, registry: Registry) -> Verdict:
    """Return the verdict on one case, as its waivers have it."""
    kept = None if plan.kept is None else Counterexamples(Path(plan.kept))
    return waivers.tried_with_waivers(case, registry, profile_named(plan.profile), kept)


def _together(plan: Plan, cases: Sequence[Case], workers: int) -> Iterator[tuple[int, Verdict]]:
    """Share the cases among processes, each of which loads the plugins anew."""
    with ProcessPoolExecutor(
        workers, mp_context=get_context("spawn"), initializer=_prepare, initargs=(plan,)
    ) as pool:
        futures = {pool.submit(_nth, number): number for number in range(len(cases))}
        for future in as_completed(futures):
            number = futures[future]
            plain = future.result()
            yield number, Verdict(cases[number], **plain)


_prepared: list[tuple[Plan, Registry, list[Case]]] = []


def _prepare(plan: Plan) -> None:
    registry = Registry.load(plan.paths)
    _prepared[:] = [(plan, registry, planned(plan, registry))]


def _nth(number: int) -> dict[str, Any]:
    plan, registry, cases = _prepared[0]
    verdict = tried(plan, cases[number], registry)
    return {
        "outcome": verdict.outcome,
        "examples": verdict.examples,
        "message": verdict.message,
        "script": verdict.script,
        "seconds": verdict.seconds,
        "waived_for": verdict.waived_for,
    }
