"""The matrix: every law with the classes it is tried on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from sfumato import compatibility
from sfumato.laws.law import ORDER, Law
from sfumato.plugin_registry import Entry, Registry

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

Classes = Mapping[str, Any]


@attrs.frozen
class Case:
    """A law and the classes that are fixed in it; what else the law needs is drawn."""

    law: Law
    classes: Classes

    @property
    def label(self) -> str:
        """The names of the fixed classes, such as ``"rbf-basic-gaussian_uniform"``."""
        if "plugin" in self.classes:
            return f"{self.classes['plugin'].kind}:{self.classes['plugin'].name}"
        return "-".join(self.classes[kind].name for kind in ORDER if kind in self.classes)

    def __str__(self) -> str:
        return f"{self.law.name}[{self.label}]"

    def strategy(self, registry: Registry, draws: int) -> SearchStrategy[dict[str, Any]]:
        """Draw the arguments of the law's function."""
        from hypothesis import strategies as st

        from sfumato.laws.strategies import instances, scenarios

        def with_extras(nouns: dict[str, Any]) -> SearchStrategy[dict[str, Any]]:
            sizes = _sizes(nouns)
            extras = {name: domain.strategy(sizes) for name, domain in self.law.extras.items()}
            if "draws" in self.law.taken:
                extras["draws"] = st.just(draws)
            return st.fixed_dictionaries(extras).map(lambda drawn: {**nouns, **drawn})

        if "plugin" in self.law.nouns:
            return instances(self.classes["plugin"]).map(lambda made: {"plugin": made})
        nouns = scenarios(registry, self.law.nouns, suits=self.law.applies, **self.classes)
        return nouns.flatmap(with_extras)


def _sizes(nouns: Mapping[str, Any]) -> Mapping[str, int]:
    prior = nouns.get("prior", nouns.get("prior_class"))
    return next(prior.members()).sizes if prior is not None else {}


def cases_of(law: Law, registry: Registry, focus: Sequence[Entry] = ()) -> Iterator[Case]:
    """Yield the cases of a law: every fitting combination of the nouns it is over.

    With a focus, only cases that use one of those plugins, which is then fixed.
    """
    if "plugin" in law.nouns:
        for entry in focus or registry.entries:
            if entry.kind in ORDER:
                yield Case(law, {"plugin": entry.value})
    elif not focus:
        yield from _distinct(law, registry, law.over, {})
    else:
        for entry in focus:
            if entry.kind in law.kinds:
                # A plugin that the law is not over is still tried with every mechanism, if it is.
                beside = tuple(kind for kind in law.over if kind == "mechanism")
                over = law.over if entry.kind in law.over else (entry.kind, *beside)
                yield from _distinct(law, registry, over, {entry.kind: entry.value})


def _distinct(
    law: Law, registry: Registry, over: tuple[str, ...], fixed: Classes
) -> Iterator[Case]:
    seen = set()
    needed = [kind for kind in law.kinds if not (kind == "measure" and "measures" in law.nouns)]
    for row in fitting(registry, needed, fixed):
        classes = {kind: row[kind] for kind in ORDER if kind in over and kind in row}
        key = tuple(classes.values())
        if key not in seen and law.applies(row):
            seen.add(key)
            yield Case(law, classes)


# Which classes fit together -----------------------------------------------------------------------


def fitting(
    registry: Registry, kinds: Sequence[str], fixed: Classes | None = None
) -> Iterator[dict[str, Any]]:
    """Yield every combination of classes of the nouns `kinds` that fits; `fixed` ones stay."""
    given = dict(fixed or {})
    rows: list[dict[str, Any]] = [{}]
    for kind in ORDER:
        if kind in kinds or kind in given:
            options = [given[kind]] if kind in given else every(registry, kind)
            rows = [{**row, kind: cls} for row in rows for cls in options if _fits(row, kind, cls)]
    yield from rows


def every(registry: Registry, kind: str) -> list[Any]:
    """Return every registered class of a noun."""
    return [registry.get(kind, name) for name in registry.names(kind)]


def _fits(chosen: Classes, kind: str, cls: Any) -> bool:
    """Whether a class fits the ones chosen before it, as far as they are known."""
    prior, secret, mechanism = map(chosen.get, ("prior", "secret", "mechanism"))
    if kind == "secret" and prior is not None:
        return not compatibility.why_no_question(cls, prior)
    if kind == "mechanism" and None not in (prior, secret):
        return not compatibility.why_no_release(cls, prior, secret)
    if kind == "measure" and None not in (prior, secret, mechanism):
        channel, giver = mechanism.yields, mechanism.name  # type: ignore[union-attr]  # not None
        return not compatibility.why_no_loss(cls, prior, secret, channel, giver)
    if kind == "adversary" and None not in (prior, mechanism):
        slots = tuple((chosen[noun].yields, chosen[noun].name) for noun in ("prior", "mechanism"))
        return not compatibility.why_not(cls, slots, cls.reads)
    return True
