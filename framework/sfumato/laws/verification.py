"""Trying many laws on many cases: as a function, on several cores, and as pytest's tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import attrs

from sfumato.errors import UnknownName, did_you_mean
from sfumato.laws.cases import Case, cases_of
from sfumato.laws.counterexamples import BY_HAND, KEPT_BELOW, Counterexamples
from sfumato.laws.law import ORDER, all_laws, audit_laws
from sfumato.laws.trial import Verdict, profile_named, try_with_excuses
from sfumato.plugin_registry import Entry, Registry, default_registry


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

    def cases(self, registry: Registry) -> list[Case]:
        """Return the cases, in a fixed order."""
        laws = audit_laws() if self.audit else all_laws()
        law_names = {law.name for law in laws}
        wanted = [law for law in laws if law.name in self.names] or laws
        focus = _focus([name for name in self.names if name not in law_names], registry, law_names)
        return [case for law in wanted for case in cases_of(law, registry, focus)]

    def verdict(self, case: Case, registry: Registry) -> Verdict:
        """Try one case."""
        kept = None if self.kept is None else Counterexamples(Path(self.kept))
        return try_with_excuses(case, registry, profile_named(self.profile), kept)


def _focus(names: Sequence[str], registry: Registry, law_names: Iterable[str]) -> list[Entry]:
    found: list[Entry] = []
    for name in names:
        entries = [entry for entry in registry.find(name) if entry.kind in ORDER]
        if not entries:
            known = {entry.name for entry in registry.entries} | set(law_names)
            raise UnknownName(f"nothing is named '{name}'; {did_you_mean(name, known)}")
        found += entries
    return found


@attrs.frozen
class Verification:
    """All verdicts, and what is wrong with expected failures: most often, that they hold."""

    verdicts: tuple[Verdict, ...]
    unneeded: tuple[str, ...] = ()

    @property
    def violations(self) -> tuple[Verdict, ...]:
        """The verdicts of laws that are broken."""
        return tuple(verdict for verdict in self.verdicts if verdict.outcome == "violated")

    @property
    def failures(self) -> tuple[Verdict, ...]:
        """The verdicts of laws that are broken, and of exact values that nothing checks."""
        return tuple(verdict for verdict in self.verdicts if verdict.fails)

    @property
    def ok(self) -> bool:
        """Whether every law holds, every exact value is checked and every excuse is needed."""
        return not self.failures and not self.unneeded


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
    plan = Plan(names, every.paths, profile, audit, None if kept is None else str(kept))
    cases = plan.cases(every)
    found: dict[int, Verdict] = {}
    for number, verdict in _tried(plan, every, cases, workers):
        found[number] = verdict
        if progress is not None:
            progress(len(found), len(cases), verdict)
    verdicts = tuple(found[number] for number in range(len(cases)))
    return Verification(verdicts, tuple(_unneeded(plan, every, verdicts)))


def _unneeded(plan: Plan, registry: Registry, verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Yield a sentence for every expected failure that is wrong, or that nothing needed.

    One of a class that was not named is needless only if a case fixed the class: one that is only
    drawn may not have been drawn.
    """
    laws = {law.name for law in (*all_laws(), *audit_laws())}
    plugins = set(plan.names) - laws
    tried = laws & set(plan.names) or {
        law.name for law in (audit_laws if plan.audit else all_laws)()
    }
    needed = {(one.case.law.name, name) for one in verdicts for name in one.excused}
    fixed = {(one.case.law.name, cls) for one in verdicts for cls in one.case.classes.values()}
    for entry in registry.entries:
        if entry.kind not in ORDER or (plugins and entry.name not in plugins):
            continue
        for law, reason in entry.value.waivers.items():
            says = f"{entry.name} expects {law} to fail"
            if law not in laws:
                yield f"{says}, which is no law: delete that."
            elif not reason:
                yield f"{says} without a reason: say why, or delete that."
            elif (
                law in tried
                and (plugins or (law, entry.value) in fixed)
                and (law, entry.name) not in needed
            ):
                yield f"{says}, which it does not: delete that."


# On several cores ---------------------------------------------------------------------------------


def _tried(
    plan: Plan, registry: Registry, cases: Sequence[Case], workers: int
) -> Iterator[tuple[int, Verdict]]:
    """Yield the number and the verdict of every case, as they come."""
    if workers == 1:
        yield from ((n, plan.verdict(case, registry)) for n, case in enumerate(cases))
        return
    context = get_context("spawn")  # each process loads the plugins anew
    with ProcessPoolExecutor(workers, context, _prepare, (plan,)) as pool:
        futures = {pool.submit(_nth, number): number for number in range(len(cases))}
        for future in as_completed(futures):
            yield futures[future], Verdict(cases[futures[future]], **future.result())


_prepared: list[tuple[Plan, Registry, list[Case]]] = []


def _prepare(plan: Plan) -> None:
    registry = Registry.load(plan.paths)
    _prepared[:] = [(plan, registry, plan.cases(registry))]


def _nth(number: int) -> dict[str, Any]:
    """Return what can travel between processes of a verdict: not the objects themselves."""
    plan, registry, cases = _prepared[0]
    plain = attrs.asdict(plan.verdict(cases[number], registry), recurse=False)
    return {name: value for name, value in plain.items() if name not in ("case", "counterexample")}


# In pytest ----------------------------------------------------------------------------------------


def conformance(
    *plugins: Any,
    profile: str = "quick",
    waivers: Mapping[str, str] | None = None,
    examples: str | Path = KEPT_BELOW,
) -> Callable[..., None]:
    """Return a pytest function that tries every law on the given classes, each under its own id.

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
        Laws that are expected to fail, with the reason; one that holds is a failure.
    examples
        Where counterexamples are kept, as by ``sfumato verify``; they are tried first ever after.
    """
    import pytest

    registry = _with(default_registry(), plugins)
    focus = [entry for entry in registry.entries if entry.value in plugins]
    excused = {k: v for cls in plugins for k, v in cls.waivers.items()} | dict(waivers or {})
    cases = [case for law in all_laws() for case in cases_of(law, registry, focus)]
    unknown = set(excused) - {case.law.name for case in cases}
    if unknown:
        raise LookupError(f"'{min(unknown)}' is expected to fail and is no law that applies here.")
    if not all(excused.values()):
        name = min(name for name, reason in excused.items() if not reason)
        raise ValueError(f"that {name} is expected to fail must have a reason; got none.")
    parameters = [
        pytest.param([case], id=str(case)) for case in cases if case.law.name not in excused
    ]
    parameters += [
        pytest.param([c for c in cases if c.law.name == name], id=f"{name}[expected failure]")
        for name in excused
    ]

    @pytest.mark.parametrize("cases", parameters)
    def test_conformance(cases: list[Case]) -> None:
        plan = Plan(profile=profile, kept=str(examples))
        _judge(cases[0].law.name, [plan.verdict(case, registry) for case in cases], excused)

    return test_conformance


def _with(registry: Registry, plugins: tuple[Any, ...]) -> Registry:
    """Return the registry with the classes in it."""
    known = [entry.value for entry in registry.entries]
    new = [Entry(cls.kind, cls.name, cls, BY_HAND) for cls in plugins if cls not in known]
    return attrs.evolve(registry, entries=(*registry.entries, *new))


def _judge(law: str, verdicts: list[Verdict], excused: Mapping[str, str]) -> None:
    """Fail, skip or excuse, as the verdicts have it."""
    import pytest

    broken = [verdict for verdict in verdicts if verdict.fails]
    expected = [verdict for verdict in verdicts if verdict.outcome == "expected failure"]
    if law in excused:
        if not broken and not expected:
            pytest.fail(f"{law} is expected to fail, and holds: delete that", pytrace=False)
        pytest.xfail(excused[law])
    if broken:
        pytest.fail(f"{broken[0].message}\n\n{broken[0].script}", pytrace=False)
    if expected:  # of another plugin, which was drawn
        pytest.xfail(expected[0].message)
    if all(verdict.outcome == "does not apply" for verdict in verdicts):
        pytest.skip(verdicts[0].message)
