"""Trying one law on one case: draw, check, shrink, report."""

from __future__ import annotations

import hashlib
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import SkipTest

import attrs

from sfumato.errors import REFUSALS, ImpossibleObservation, SolverFailed
from sfumato.laws.case import Case
from sfumato.laws.counterexamples import Counterexamples, script_of
from sfumato.laws.law import NotHere, Verdict
from sfumato.plugin_registry import Registry, default_registry, did_you_mean, use_registry

_CHOICES: dict[Any, Any] = {}
"""Hypothesis's cache of which constants fit where, as it is without local ones."""


def seed_of(case: object) -> int:
    """Return a seed that depends on the names of the law and its classes alone.

    >>> seed_of("belief.possible[rbf]") == seed_of("belief.possible[matern]")
    False
    """
    return int.from_bytes(hashlib.sha256(str(case).encode()).digest()[:8], "big")


@contextmanager
def local_constants_left_out() -> Iterator[None]:
    """Keep Hypothesis from drawing numbers that stand in the source of loaded modules.

    It collects them from every module outside the installed packages, so that an import anywhere
    changes all examples. No setting turns that off; where a version of Hypothesis has no such
    collection under this name, nothing is done.
    """
    from hypothesis.internal.conjecture import providers

    changes = {"_get_local_constants": _no_constants, "CONSTANTS_CACHE": _CHOICES}
    if any(not hasattr(providers, name) for name in (*changes, "Constants")):
        yield
        return
    before = {name: getattr(providers, name) for name in changes}
    try:
        for name, value in changes.items():
            setattr(providers, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(providers, name, value)


def _no_constants() -> Any:
    from hypothesis.internal.conjecture import providers

    return getattr(providers, "Constants")()  # noqa: B009 - not exported for type checkers


@attrs.frozen
class Profile:
    """How hard to look.

    Attributes
    ----------
    examples
        How many examples a law of ordinary cost gets in each case.
    draws
        How many draws a statistical law takes at first.
    shrink
        Whether a counterexample is made as small as possible before it is reported.
    """

    name: str
    examples: int
    draws: int
    shrink: bool = True


PROFILES = {
    "quick": Profile("quick", examples=6, draws=500),
    "default": Profile("default", examples=20, draws=4_000),
    "thorough": Profile("thorough", examples=200, draws=100_000),
}


def profile_named(name: str) -> Profile:
    """Return a profile, or say which was meant.

    >>> profile_named("quick").name
    'quick'
    """
    if name not in PROFILES:
        raise LookupError(f"there is no profile '{name}'; {did_you_mean(name, PROFILES)}")
    return PROFILES[name]


NOTHING_TO_SAY = (*REFUSALS, SolverFailed, ImpossibleObservation, NotHere)
"""What lets a law pass over an example: a refusal, a solver that says it failed, or data among
the drawn parameters that cannot have been observed."""

HOPELESS = 40
"""After so many refusals and no example, the case is refused."""


PATIENCE = 250
"""Examples that may be spent on making a counterexample small: counted, so that every machine
ends at the same one."""


@attrs.define
class _Record:
    """What happened in the examples so far."""

    tried: int = 0
    reasons: Counter[str] = attrs.field(factory=Counter)
    broken: tuple[dict[str, Any], BaseException] | None = None
    failures: dict[str, BaseException] = attrs.field(factory=dict)
    since: int = 0

    def fails(self, arguments: dict[str, Any], error: BaseException) -> None:
        """Note a failure."""
        self.broken = (arguments, error)
        self.failures[repr(arguments)] = error

    def settled(self, arguments: dict[str, Any]) -> bool:
        """Whether shrinking has taken long enough; a failure known by then is raised again."""
        self.since += bool(self.failures)
        if self.since < PATIENCE:
            return False
        known = self.failures.get(repr(arguments))
        if known is not None:
            self.broken = (arguments, known)
            raise known
        return True

    @property
    def hopeless(self) -> bool:
        """Whether so many examples were refused, and none tried, that more would be too."""
        return not self.tried and self.reasons.total() >= HOPELESS


class _Enough(SkipTest):
    """Every example is refused: stop drawing.

    Hypothesis lets a skip through at once; any other exception it would take for a failure, try to
    shrink, and call flaky when smaller examples are refused as well.
    """


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
    began = time.perf_counter()
    record = _Record()
    if kept is not None:
        kept.plain(case.law)  # a damaged file is nobody's violation: it raises here
    with using(registry):
        try:
            _replay(case, registry, record, kept)
            if record.broken is None:
                _run(case, registry, profile, record)
        except Exception as error:  # noqa: BLE001 - a class that cannot even be drawn is at fault
            message = f"nothing can be drawn: {type(error).__name__}: {error}"
            return Verdict(case, "violated", record.tried, message)
    seconds = time.perf_counter() - began
    if record.broken is not None:
        arguments, failure = record.broken
        message = f"{type(failure).__name__}: {failure}"
        text, trouble = _written(case, arguments, registry, kept)
        message += "".join(f"; its counterexample cannot be {what}" for what in trouble)
        return Verdict(case, "violated", record.tried, message, arguments, text, seconds)
    if not record.tried:
        reason = next(iter(record.reasons.most_common(1)), ("nothing fits", 0))[0]
        return Verdict(case, "refused", 0, reason, seconds=seconds)
    return Verdict(case, "holds", record.tried, seconds=seconds)


def _written(
    case: Case, arguments: dict[str, Any], registry: Registry, kept: Counterexamples | None
) -> tuple[str, list[str]]:
    """Keep a counterexample; return its program, and what a plugin's own errors prevented."""
    text, trouble = "", []
    try:
        text = script_of(case.law, arguments, registry)
    except Exception as error:  # noqa: BLE001 - of the plugin's repr
        trouble.append(f"written as a program ({type(error).__name__}: {error})")
    try:
        if kept is not None:
            kept.keep(case.law, arguments)
    except OSError:
        raise  # of the folder, not of the plugin
    except Exception as error:  # noqa: BLE001 - of the plugin's specification
        trouble.append(f"kept ({type(error).__name__}: {error})")
    return text, trouble


def _replay(case: Case, registry: Registry, record: _Record, kept: Counterexamples | None) -> None:
    for arguments in kept.of(case, registry) if kept is not None else ():
        try:
            case.law.check(**arguments)
        except NOTHING_TO_SAY as refusal:
            record.reasons[str(refusal)] += 1
        except Exception as error:  # noqa: BLE001 - any failure is a counterexample
            record.broken = (arguments, error)
            return


def _run(case: Case, registry: Registry, profile: Profile, record: _Record) -> None:
    from hypothesis import HealthCheck, Phase, given, reject, seed, settings
    from hypothesis.errors import (
        HypothesisDeprecationWarning,
        HypothesisWarning,
        Unsatisfiable,
    )

    @seed(seed_of(case))  # the same examples on every machine
    @settings(
        max_examples=max(2, round(profile.examples / case.law.cost)),
        database=None,  # counterexamples are kept as specifications instead
        deadline=None,
        phases=(Phase.generate, Phase.shrink) if profile.shrink else (Phase.generate,),
        suppress_health_check=list(HealthCheck),
        print_blob=False,
        report_multiple_bugs=False,
    )
    @given(case.strategy(registry, profile))
    def example(arguments: dict[str, Any]) -> None:
        if record.settled(arguments):
            return
        try:
            case.law.check(**arguments)
        except NOTHING_TO_SAY as refusal:
            record.reasons[str(refusal)] += 1
            if record.hopeless:
                raise _Enough("every example is refused") from None
            reject()
        except Exception as error:
            record.fails(arguments, error)
            raise
        record.tried += 1

    with warnings.catch_warnings(), local_constants_left_out():
        # Constructors may import libraries that touch the random module; draws do not use it.
        warnings.simplefilter("ignore", HypothesisDeprecationWarning)
        # A chain of many states is long to write down, and still an example.
        warnings.filterwarnings("ignore", "Generating overly large repr", HypothesisWarning)
        try:
            example()
        except (Unsatisfiable, _Enough):
            return
        except Exception:
            if record.broken is None:  # not the law's doing
                raise


def check(law_name: str, **arguments: Any) -> None:
    """Try a law on given arguments, as a counterexample's script does.

    >>> import sfumato as sf
    >>> check("belief.possible", prior=sf.priors.rbf(length_scale=2.0, times=4))
    """
    from sfumato.laws.catalogue import law_named

    law_named(law_name).check(**arguments)
