"""One cell of the matrix: a law and the classes it is tried on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from sfumato.laws.capabilities import ORDER, fitting
from sfumato.laws.law import Law
from sfumato.plugin_registry import Entry, Registry

_SINGULAR = {"prior_class": "prior", "measures": "measure"}

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from sfumato.laws.trial import Profile


@attrs.frozen
class Case:
    """A law and the classes that are fixed in it; what else the law needs is drawn."""

    law: Law
    classes: Mapping[str, Any]

    @property
    def label(self) -> str:
        """The names of the fixed classes, such as ``"rbf-basic-gaussian_uniform"``."""
        if "plugin" in self.classes:
            return f"{self.classes['plugin'].kind}:{self.classes['plugin'].name}"
        return "-".join(self.classes[kind].name for kind in ORDER if kind in self.classes)

    def __str__(self) -> str:
        return f"{self.law.name}[{self.label}]"

    def strategy(self, registry: Registry, profile: Profile) -> SearchStrategy[dict[str, Any]]:
        """Draw the arguments of the law's function."""
        from hypothesis import strategies as st

        from sfumato.laws.strategies import instances, scenarios

        def with_extras(nouns: dict[str, Any]) -> SearchStrategy[dict[str, Any]]:
            sizes = _sizes(nouns)
            extras = {name: domain.strategy(sizes) for name, domain in self.law.extras.items()}
            return st.fixed_dictionaries(extras).map(lambda drawn: {**nouns, **drawn})

        if "plugin" in self.law.nouns:
            nouns = instances(self.classes["plugin"]).map(lambda made: {"plugin": made})
        else:
            suits = self.law.applies
            nouns = scenarios(registry, self.law.nouns, suits=suits, **self.classes)
        strategy = nouns.flatmap(with_extras)
        if self.law.takes_draws:
            return strategy.map(lambda drawn: {**drawn, "draws": profile.draws})
        return strategy


def _sizes(nouns: Mapping[str, Any]) -> Mapping[str, int]:
    prior = nouns.get("prior")
    if prior is None and "prior_class" in nouns:
        prior = next(nouns["prior_class"].members())
    return prior.sizes if prior is not None else {}


def cases_of(law: Law, registry: Registry, focus: Sequence[Entry] = ()) -> Iterator[Case]:
    """Yield the cases of a law: every fitting combination of the nouns it is over.

    With a focus, only cases that use one of those plugins, which is then fixed.
    """
    if "plugin" in law.nouns:
        for entry in focus or registry.entries:
            if entry.kind in ORDER:
                yield Case(law, {"plugin": entry.value})
        return
    kinds = _kinds(law)
    if not focus:
        yield from _distinct(law, registry, law.over, {})
        return
    for entry in focus:
        if entry.kind in kinds:
            # A plugin that the law is not over is still tried with every mechanism, if the law is.
            over = law.over if entry.kind in law.over else (entry.kind, *_mechanism(law))
            yield from _distinct(law, registry, over, {entry.kind: entry.value})


def _mechanism(law: Law) -> tuple[str, ...]:
    return tuple(kind for kind in law.over if kind == "mechanism")


def _kinds(law: Law) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_SINGULAR.get(noun, noun) for noun in law.nouns))


def _distinct(
    law: Law, registry: Registry, over: tuple[str, ...], fixed: Mapping[str, Any]
) -> Iterator[Case]:
    seen = set()
    needed = tuple(
        kind for kind in _kinds(law) if not (kind == "measure" and "measures" in law.nouns)
    )
    for row in fitting(registry, needed, fixed):
        classes = {kind: row[kind] for kind in ORDER if kind in over and kind in row}
        key = tuple(classes.values())
        if key not in seen and law.applies(row):
            seen.add(key)
            yield Case(law, classes)
