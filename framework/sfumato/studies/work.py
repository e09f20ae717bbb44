"""The unit of work: one scenario and the measures still to be taken of it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import cache
from typing import Any

import attrs

from sfumato.errors import BrokenPluginWarning
from sfumato.finding import Finding
from sfumato.measuring import measure_scenario
from sfumato.plain_json import digest, from_json, to_json
from sfumato.plugin_registry import Registry, use_registry
from sfumato.studies.code_fingerprint import classes_of, fingerprint, framework_fingerprint

FACTORS = ("prior", "secret", "mechanism")


class NotRegistered(ValueError):
    """A noun's class is not in the registry, so that no other process can build it."""


@attrs.frozen(kw_only=True)
class Work:
    """A scenario and its measures; here as objects, elsewhere rebuilt from specifications."""

    prior: Any
    secret: Any
    mechanism: Any
    measures: tuple[Any, ...]

    def run(self) -> Iterator[Finding]:
        """Yield what each measure finds."""
        return measure_scenario(self.prior, self.secret, self.mechanism, self.measures)

    def _nouns(self) -> tuple[Any, ...]:
        return (self.prior, self.secret, self.mechanism, *self.measures)

    def code(self) -> str:
        """Return a hash of all the code the work needs, to be equal wherever it is done."""
        return digest([framework_fingerprint(), *(fingerprint(noun) for noun in self._nouns())])

    def message(self, registry: Registry) -> str:
        """Write the work as text: specifications, plugin files and a hash of the code."""
        for noun in self._nouns():
            for cls in classes_of(noun):
                _require_registered(cls, registry)
        return to_json(
            {
                **{factor: getattr(self, factor).specification() for factor in FACTORS},
                "measures": [measure.specification() for measure in self.measures],
                "plugins": list(registry.paths),
                "code": self.code(),
            }
        )


def answer(message: str) -> str:
    """Do the work that a message describes, in whatever process this is, and write the findings."""
    table = from_json(message)
    registry = _registry(tuple(table["plugins"]))
    work = Work(
        **{factor: registry.build(factor, table[factor]) for factor in FACTORS},
        measures=tuple(registry.build("measure", plain) for plain in table["measures"]),
    )
    if work.code() != table["code"]:
        raise RuntimeError(
            "the worker must run the same sfumato, plugins and numpy as the caller; its code is "
            "different."
        )
    return to_json([finding.plain() for finding in work.run()])


def read_answer(text: str) -> list[Finding]:
    """Read the findings that `answer` wrote."""
    return [Finding.from_plain(plain) for plain in from_json(text)]


def failed(work: Work, reason: str) -> list[Finding]:
    """Return the findings of work that could not be done."""
    return [Finding(outcome="failed", reason=reason) for _ in work.measures]


@cache
def _registry(paths: tuple[str, ...]) -> Registry:
    """Load the plugins once in each process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BrokenPluginWarning)  # the caller has reported them
        registry = Registry.load(paths)
    use_registry(registry)
    one_thread_for_linear_algebra()
    return registry


def one_thread_for_linear_algebra() -> Any:
    """Limit linear algebra to one thread: sums are then added in one order on every machine.

    Returned is a context that restores the earlier limits.
    """
    import scipy.linalg  # noqa: F401 - its libraries must be loaded to be limited
    from threadpoolctl import threadpool_limits

    return threadpool_limits(limits=1)


def _require_registered(cls: type, registry: Registry) -> None:
    kind, name = str(getattr(cls, "kind", "")), str(getattr(cls, "name", cls.__name__))
    known = [entry.value for entry in registry.find(name) if entry.kind == kind]
    if cls not in known:
        raise NotRegistered(
            f"{name} must be registered to be measured in another process; put its class into a "
            "plugin file, or run the study in this process."
        )
