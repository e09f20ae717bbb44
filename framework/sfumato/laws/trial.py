"""Trying one law on one case: draw, check, shrink, report, excuse what is expected to fail."""

from __future__ import annotations

import functools
import hashlib
import importlib
import math
import pkgutil
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import entry_points
from typing import Any, Literal
from unittest import SkipTest

import attrs

from sfumato.errors import REFUSALS, ImpossibleObservation, SolverFailed, did_you_mean
from sfumato.laws.counterexamples import Counterexamples, classes_in, script_of
from sfumato.laws.law import Case, NotHere, OutOfReach, Unverified, Violation, law_named
from sfumato.parameters import Declared
from sfumato.plugin_registry import (
    Registry,
    TookTooLong,
    default_registry,
    use_registry,
    within,
)


@attrs.frozen
class Profile:
    """How hard to look: examples of a law of ordinary cost, draws of a statistical one at first."""

    name: str
    examples: int
    draws: int
    shrink: bool = True
    seconds: float = math.inf
    """For all cases of the plugins that are named; each then ends when its share is used up."""
    share: float = math.inf
    """Seconds of one case, after which it is content with the examples it has had."""
    limit: float = 60.0
    """Seconds of one example, after which it is taken to hang."""


PROFILES = {
    "quick": Profile("quick", examples=6, draws=500, seconds=14.0),
    "default": Profile("default", examples=20, draws=4_000, seconds=120.0),
    "thorough": Profile("thorough", examples=200, draws=100_000, limit=1800.0),
}


def profile_named(name: str) -> Profile:
    """Return a profile, or say which was meant."""
    if name not in PROFILES:
        raise LookupError(f"there is no profile '{name}'; {did_you_mean(name, PROFILES)}")
    return PROFILES[name]


Outcome = Literal["holds", "violated", "unverified", "does not apply", "expected failure"]


@attrs.frozen
class Verdict:
    """The outcome of one case, over so many examples.

    The outcome is ``"violated"`` with the smallest counterexample found, also as a program;
    ``"unverified"`` where a value is called exact and nothing checks it; ``"does not apply"`` where
    no example could be tried; ``"expected failure"`` where it is known, and `excused` names the
    plugins that expect it. The message says what went wrong, or why nothing could be tried.
    """

    case: Case
    outcome: Outcome
    examples: int = 0
    message: str = ""
    counterexample: dict[str, Any] | None = None
    script: str = ""
    seconds: float = 0.0
    excused: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.case} {self.outcome}"

    def __repr__(self) -> str:
        return f"<Verdict: {str(self)[:150]}>"

    def _repr_html_(self) -> str:
        from sfumato.report.cards import result_card

        facts = {name: fact for name, fact in self.row().items() if fact not in ("", self.outcome)}
        return result_card("Verdict", self.outcome, **facts)

    @property
    def fails(self) -> bool:
        """Whether the law is broken, or a value unverified, and nobody expects it."""
        return self.outcome in ("violated", "unverified")

    def row(self) -> dict[str, Any]:
        """Return the verdict as plain values."""
        names = ("outcome", "examples", "message", "script")
        plain = {name: getattr(self, name) for name in names}
        where = {"law": self.case.law.name, "case": self.case.label}
        return {**where, **plain, "seconds": round(self.seconds, 3)}


# One case -----------------------------------------------------------------------------------------

NOTHING_TO_SAY = (*REFUSALS, SolverFailed, ImpossibleObservation, NotHere)
"""What lets a law pass over an example: something that does not apply, a solver that says it
failed, or data among the drawn parameters that cannot have been observed."""

FEW = 5
"""Examples to which a law did not apply, after which a case without time gives up."""

HOPELESS = 40
"""After so many examples to which the law does not apply, and no other, no more are drawn."""

PATIENCE = 250
"""Examples that may be spent on making a counterexample small: counted, so that every machine
ends at the same one."""


@attrs.define
class _Record:
    """What happened in the examples so far."""

    case: Case
    end: float = math.inf
    tried: int = 0
    reasons: Counter[str] = attrs.field(factory=Counter)
    out_of_reach: str = ""
    broken: tuple[dict[str, Any], BaseException] | None = None
    failures: dict[str, BaseException] = attrs.field(factory=dict)
    since: int = 0
    last: dict[str, Any] = attrs.field(factory=dict)

    def check(self, arguments: dict[str, Any]) -> bool:
        """Return whether the law has something to say of the example; raise what breaks it."""
        self.last = arguments
        try:
            self.case.law.check(**arguments)
        except NOTHING_TO_SAY as reason:
            self.reasons[str(reason)] += 1
            if isinstance(reason, OutOfReach):
                self.out_of_reach = str(reason)
            return False
        except (Exception, SystemExit) as error:
            self.broken = (arguments, error)
            self.failures[repr(arguments)] = error
            raise
        return True

    @property
    def late(self) -> bool:
        """Whether the case has had its time, and at least one example.

        A value is not called unverified for want of time.
        """
        few = HOPELESS if self.out_of_reach else FEW
        return time.monotonic() > self.end and (self.tried > 0 or self.reasons.total() > few)

    def is_settled(self, arguments: dict[str, Any]) -> bool:
        """Whether shrinking has taken long enough; a failure known by then is raised again."""
        self.since += bool(self.failures)
        if self.since < PATIENCE and not (self.failures and time.monotonic() > self.end):
            return False
        known = self.failures.get(repr(arguments))
        if known is not None:
            self.broken = (arguments, known)
            raise known
        return True


@contextmanager
def using(registry: Registry) -> Iterator[None]:
    """Make `registry` the default one for a while: drawn objects may name other plugins."""
    before = default_registry()
    use_registry(registry)
    try:
        yield
    finally:
        use_registry(before)


def try_case(
    case: Case, registry: Registry, profile: Profile, kept: Counterexamples | None = None
) -> Verdict:
    """Try the law on the counterexamples kept from before, then on drawn examples.

    A counterexample that is found is kept.
    """
    _load_every_module()
    began = time.perf_counter()
    record = _Record(case, time.monotonic() + profile.share)
    if kept is not None:
        kept.plain(case.law)  # a damaged file is nobody's violation: it raises here
    with using(registry), within(profile.limit, "an example") as start_anew:
        try:
            for arguments in kept.of(case, registry) if kept is not None else ():
                start_anew()
                with suppress(Exception, SystemExit):  # which the record has
                    record.check(arguments)
                if record.broken is not None:
                    break
            else:
                _run(case, registry, profile, record, start_anew)
            _require_untouched(case, record)
        except TookTooLong as error:
            record.broken = (record.last, error)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a class that cannot even be drawn
            message = f"nothing can be drawn: {type(error).__name__}: {error}"
            return Verdict(case, "violated", record.tried, message)
    verdict = _verdict(record, registry, kept)
    return attrs.evolve(verdict, seconds=time.perf_counter() - began)


def _verdict(record: _Record, registry: Registry, kept: Counterexamples | None) -> Verdict:
    case = record.case
    if record.broken is not None:
        arguments, failure = record.broken
        outcome: Outcome = "unverified" if isinstance(failure, Unverified) else "violated"
        message, text = f"{type(failure).__name__}: {failure}", ""
        try:
            text = script_of(case.law, arguments, registry) if arguments else ""
            if kept is not None and arguments:
                kept.keep(case.law, arguments)
        except OSError:
            raise  # of the folder, not of the plugin
        except Exception as error:  # noqa: BLE001 - of the plugin's repr or specification
            what = "kept" if text else "written as a program"
            message += f"; its counterexample cannot be {what} ({type(error).__name__}: {error})"
        return Verdict(case, outcome, record.tried, message, arguments, text)
    if record.tried:
        return Verdict(case, "holds", record.tried)
    if record.out_of_reach:
        return Verdict(case, "unverified", 0, f"no example can be checked: {record.out_of_reach}")
    reason = next(iter(record.reasons.most_common(1)), ("nothing fits", 0))[0]
    return Verdict(case, "does not apply", 0, reason)


def _require_untouched(case: Case, record: _Record) -> None:
    """Take a plugin that has replaced a function of the framework for broken."""
    classes = [*case.classes.values(), *classes_in(record.last)]
    homes = {cls.__module__ for cls in classes if cls.__module__.partition(".")[0] != "sfumato"}
    files = {getattr(sys.modules.get(home), "__file__", None) for home in homes} - {None}
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] != "sfumato":
            continue
        own = [one for one in vars(module).values() if getattr(one, "__module__", None) == name]
        tables = [vars(module), *(vars(one) for one in own if isinstance(one, type))]
        for key, value in (item for table in tables for item in table.items()):
            code = getattr(value, "__code__", None)
            if code is not None and code.co_filename in files:
                error = Violation(f"a plugin must leave the framework alone; it changed {key}")
                record.broken = (record.last, error)


def _run(
    case: Case,
    registry: Registry,
    profile: Profile,
    record: _Record,
    start_anew: Callable[[], None],
) -> None:
    from hypothesis import HealthCheck, Phase, given, reject, seed, settings
    from hypothesis.errors import HypothesisDeprecationWarning, HypothesisWarning, Unsatisfiable

    # Depends on the names of the law and its classes alone.
    @seed(int.from_bytes(hashlib.sha256(str(case).encode()).digest()[:8], "big"))
    @settings(
        max_examples=max(2, round(profile.examples / case.law.cost)),
        database=None,  # counterexamples are kept as specifications instead
        deadline=None,
        phases=(Phase.generate, Phase.shrink) if profile.shrink else (Phase.generate,),
        suppress_health_check=list(HealthCheck),
        print_blob=False,
        report_multiple_bugs=False,
    )
    @given(case.strategy(registry, profile.draws))
    def example(arguments: dict[str, Any]) -> None:
        start_anew()
        if record.is_settled(arguments):
            return
        if record.late and record.broken is None:
            raise SkipTest("the case has had its time")
        if record.check(arguments):
            record.tried += 1
            return
        if not record.tried and record.reasons.total() >= HOPELESS:
            # Hypothesis lets a skip through at once; any other exception it would take for a
            # failure, try to shrink, and call flaky when no smaller example raises it either.
            raise SkipTest("the law applies to no example")
        reject()

    with warnings.catch_warnings():
        # Constructors may import libraries that touch the random module; draws do not use it.
        warnings.simplefilter("ignore", HypothesisDeprecationWarning)
        # A chain of many states is long to write down, and still an example.
        warnings.filterwarnings("ignore", "Generating overly large repr", HypothesisWarning)
        try:
            example()
        except (Unsatisfiable, SkipTest):
            return
        except Exception:
            if record.broken is None:  # not the law's doing
                raise


@functools.cache
def _load_every_module() -> None:
    """Import every module of the framework and of installed plugins: then examples stay the same.

    Hypothesis also draws numbers that stand in the source of loaded modules, unless these lie
    among the installed packages: one that is loaded on the way would change all later examples.
    """
    plugins = {entry.module.partition(".")[0] for entry in entry_points(group="sfumato")}
    for package in sorted({"sfumato", *plugins}):
        with suppress(ImportError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            root = importlib.import_module(package)
            for info in pkgutil.walk_packages(root.__path__, f"{package}."):
                with suppress(ImportError):
                    importlib.import_module(info.name)


def check(law_name: str, **arguments: Any) -> None:
    """Try a law on given arguments, as a counterexample's script does.

    >>> import sfumato as sf
    >>> from sfumato.laws import check
    >>> check("belief.possible", prior=sf.priors.rbf(length_scale=2.0, times=4))
    """
    law_named(law_name).check(**arguments)


# Expected failures --------------------------------------------------------------------------------


def try_with_excuses(
    case: Case, registry: Registry, profile: Profile, kept: Counterexamples | None = None
) -> Verdict:
    """Return the verdict on a case, a failure that its classes expect being one of its own kind.

    A drawn class that expects the failure must not hide what others do: once it is found to break
    the law, the case is tried again without it.
    """
    verdict = try_case(case, registry, profile, kept)
    if not verdict.fails:
        return verdict
    fixed, drawn = (
        [cls for cls in classes if cls.waivers.get(case.law.name)]
        for classes in (case.classes.values(), classes_in(verdict.counterexample or {}))
    )
    if fixed or not drawn:
        return _excuse(verdict, fixed[0]) if fixed else verdict
    others = tuple(entry for entry in registry.entries if entry.value is not drawn[0])
    again = try_with_excuses(case, attrs.evolve(registry, entries=others), profile, kept)
    if again.fails:
        return again
    mine = _excuse(verdict, drawn[0])
    return attrs.evolve(mine, excused=(*mine.excused, *again.excused))


def _excuse(verdict: Verdict, cls: type[Declared]) -> Verdict:
    message = f"expected: {cls.waivers[verdict.case.law.name]} ({verdict.message})"
    return attrs.evolve(verdict, outcome="expected failure", message=message, excused=(cls.name,))
