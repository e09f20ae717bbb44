"""Trying one law on one case: draw, check, shrink, report."""

from __future__ import annotations

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
from sfumato.laws.counterexamples import Counterexamples
from sfumato.laws.profiles import Profile
from sfumato.laws.repeatable_draws import local_constants_left_out, seed_of
from sfumato.laws.script import script_of
from sfumato.laws.verdict import Verdict
from sfumato.laws.violation import NotHere
from sfumato.plugin_registry import Registry, default_registry, use_registry

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
