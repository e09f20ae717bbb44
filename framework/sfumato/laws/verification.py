"""Trying many laws on many cases: as a function, on several cores, and as pytest's tests."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any

import attrs

from sfumato.comparison.executors import WorkerDied, run
from sfumato.errors import UnknownName, did_you_mean
from sfumato.laws.counterexamples import KEPT_BELOW, Counterexamples
from sfumato.laws.law import ORDER, Case, Law, all_laws, audit_laws, cases_of, law_named
from sfumato.laws.trial import Profile, Verdict, profile_named, try_with_excuses, using
from sfumato.plugin_registry import Entry, Registry, TookTooLong, default_registry
from sfumato.quantities import count_text


@attrs.frozen
class Verification:
    """All verdicts, and what else is wrong: expected failures that hold, what was never tried."""

    verdicts: tuple[Verdict, ...]
    unneeded: tuple[str, ...] = ()

    @property
    def _counts(self) -> dict[str, int]:
        return Counter(str(verdict.outcome) for verdict in self.verdicts)

    def __repr__(self) -> str:
        told = ", ".join(f"{count} {outcome}" for outcome, count in self._counts.items())
        return f"<Verification of {count_text(len(self.verdicts), 'case')}: {told}>"

    def _repr_html_(self) -> str:
        from sfumato.report.cards import result_card

        said = "every law holds" if self.ok else "; ".join(map(str, self.failures))[:500]
        return result_card("Verification", said or "excuses are not needed", **self._counts)

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
    isolated: bool = False,
    progress: Callable[[int, int, Verdict], None] | None = None,
    kept: str | Path | None = None,
    registry: Registry | None = None,
) -> Verification:
    """Try every law (or those named) on every plugin (or those named), the quickest laws first.

    With several workers, or `isolated`, every case runs in a process of its own and has a time
    limit: a plugin that hangs or exits fails, and the others are still tried.
    Where plugins are named, their cases share the time of the profile.

    >>> from sfumato.laws import verify
    >>> verify("belief.possible", "rbf").ok
    True
    """
    every = registry or default_registry()
    laws = audit_laws() if audit else all_laws()
    chosen = [law for law in laws if law.name in names] or laws
    focus = _focus(set(names) - {law.name for law in laws}, every, laws)
    quickest = sorted(chosen, key=lambda law: law.cost)
    cases = [case for law in quickest for case in cases_of(law, every, focus)]
    hard = profile_named(profile)
    if not focus:
        hard = attrs.evolve(hard, seconds=math.inf)
    found: dict[int, Verdict] = {}
    for number, verdict in _try_all(cases, every, hard, kept, workers, isolated=isolated):
        found[number] = verdict
        if progress is not None:
            progress(len(found), len(cases), verdict)
    verdicts = tuple(sorted(found.values(), key=lambda one: str(one.case)))
    plugins = {entry.name for entry in focus}
    wrong = [*_unneeded_excuses(chosen, plugins, every, verdicts)]
    wrong += _untried(focus, cases) if chosen is laws else ()
    return Verification(verdicts, tuple(wrong))


def _untried(focus: Iterable[Entry], cases: Sequence[Case]) -> Iterator[str]:
    """Yield a sentence for every plugin of which no law but those of interfaces speaks."""
    for entry in focus:
        told = [c.law for c in cases if entry.value in c.classes.values() and len(c.law.kinds) > 1]
        if not told and entry.kind != "prior":
            yield f"{entry.name} is unverified: no release of a registered mechanism fits it."


def _focus(names: Iterable[str], registry: Registry, laws: Iterable[Law]) -> list[Entry]:
    """Return the entries of the named plugins, or say which was meant."""
    found: list[Entry] = []
    for name in sorted(names):
        entries = [entry for entry in registry.find(name) if entry.kind in ORDER]
        if not entries:
            known = [*(entry.name for entry in registry.entries), *(law.name for law in laws)]
            raise UnknownName(f"nothing is named '{name}'; {did_you_mean(name, known)}")
        found += entries
    return found


def _unneeded_excuses(
    tried: Iterable[Law], plugins: set[str], registry: Registry, verdicts: Sequence[Verdict]
) -> Iterator[str]:
    """Yield a sentence for every expected failure that is wrong, or that nothing needed.

    One of a class that was not named is needless only if a case fixed the class: one that is only
    drawn may not have been drawn.
    """
    laws = {law.name for law in (*all_laws(), *audit_laws())}
    needed = {(one.case.law.name, name) for one in verdicts for name in one.excused}
    fixed = ((one.case.law.name, one.case.classes.values()) for one in verdicts)
    judged = {(law, cls.name) for law, classes in fixed for cls in classes}
    judged |= {(law.name, plugin) for law in tried for plugin in plugins}
    for entry in registry.entries:
        if entry.kind not in ORDER or (plugins and entry.name not in plugins):
            continue
        for law, reason in entry.value.waivers.items():
            says = f"{entry.name} expects {law} to fail"
            if law not in laws:
                yield f"{says}, which is no law: delete that."
            elif not reason:
                yield f"{says} without a reason: say why, or delete that."
            elif (law, entry.name) in judged - needed:
                yield f"{says}, which it does not: delete that."


STARTING = 180.0
"""Seconds that a process may need beside its longest example, before it is stopped."""

HUNG = 3
"""Cases that hang or end their process, after which the others of a named plugin are not tried."""


def _try_all(
    cases: Sequence[Case],
    registry: Registry,
    profile: Profile,
    kept: str | Path | None,
    workers: int,
    *,
    isolated: bool,
) -> Iterator[tuple[int, Verdict]]:
    """Yield the number and the verdict of every case, as they come."""
    here = workers == 1 and not isolated
    folder = None if kept is None else Counterexamples(Path(kept))
    work: Any = partial(_try_here if here else _try_named, folder)
    limit = None if here else profile.limit + STARTING
    hung: list[Case] = []
    tasks = _with_shares(cases, profile, workers, hung)
    named = (task if here else (task[0], _names_in(task[1])) for task in tasks)
    with using(registry), closing(run(work, named, jobs=workers, limit=limit)) as finished:
        for number, future in finished:
            try:
                verdict = attrs.evolve(future.result(), case=cases[number])
            except WorkerDied as death:
                verdict = Verdict(cases[number], "violated", message=str(death))
                hung.append(cases[number])
            if verdict.message.startswith(TookTooLong.__name__):
                hung.append(cases[number])
            yield number, verdict


def _with_shares(
    cases: Sequence[Case], profile: Profile, workers: int, hung: Sequence[Case]
) -> Iterator[tuple[Profile | None, Case]]:
    """Yield what is to be tried, each with its share of the time that is left by then.

    Every law has the same share, whether it has one case or many: most are about one plugin alone.
    """
    end = time.monotonic() + profile.seconds
    often = Counter(case.law.name for case in cases)
    weights = [1.0 / often[case.law.name] for case in cases]
    left = list(accumulate(reversed(weights)))[::-1]
    for case, weight, rest in zip(cases, weights, left, strict=True):
        share = max(0.0, end - time.monotonic()) * workers * weight / rest
        given_up = profile.seconds < math.inf and len(hung) >= HUNG
        yield None if given_up else attrs.evolve(profile, share=share), case


def _try_here(kept: Counterexamples | None, task: tuple[Profile | None, Case]) -> Verdict:
    profile, case = task
    if profile is None:
        return Verdict(case, "does not apply", message=f"not tried: {HUNG} cases did not end")
    return try_with_excuses(case, default_registry(), profile, kept)


Names = tuple[str, dict[str, tuple[str, str]]]
"""A case in plain values: its law, and kind and name of every class. Classes cannot travel."""


def _names_in(case: Case) -> Names:
    return case.law.name, {noun: (cls.kind, cls.name) for noun, cls in case.classes.items()}


def _try_named(kept: Counterexamples | None, task: tuple[Profile | None, Names]) -> Verdict:
    """Try a case in another process, and leave out of its verdict what cannot travel."""
    profile, (law, plugins) = task
    classes = {noun: default_registry().get(*plugin) for noun, plugin in plugins.items()}
    verdict = _try_here(kept, (profile, Case(law_named(law), classes)))
    return attrs.evolve(verdict, case=None, counterexample=None)  # type: ignore[arg-type]


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

    registry = default_registry().with_classes(*plugins)
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
        kept, hard = Counterexamples(Path(examples)), profile_named(profile)
        verdicts = [try_with_excuses(case, registry, hard, kept) for case in cases]
        _judge(cases[0].law.name, verdicts, excused)

    return test_conformance


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
