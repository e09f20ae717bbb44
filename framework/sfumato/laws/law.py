"""What a law is, a plain function over nouns, and the classes that it is tried on."""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from sfumato import compatibility
from sfumato.domains.domain import Domain
from sfumato.errors import did_you_mean
from sfumato.plugin_registry import Entry, Registry
from sfumato.protocols import NOUNS

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


class Violation(AssertionError):
    """A law does not hold here; the text says what was found and what should have been."""


class Unverified(Violation):
    """A value is called exact, and nothing independent can check it."""


class NotHere(Exception):
    """The law has nothing to say about this case, for a stated reason."""


class OutOfReach(NotHere):
    """A value is called exact, and this example is too large for the check that there is."""


def require(holds: object, otherwise: str) -> None:
    """Raise `Violation` unless `holds`; unlike ``assert`` it stays under ``python -O``.

    >>> from sfumato.laws.law import require
    >>> require(1 + 1 == 2, "arithmetic must work")
    """
    if not holds:
        raise Violation(otherwise)


ORDER = tuple(NOUNS)
"""The nouns in the order in which a situation is built up."""

SCENARIO = ORDER[:3]
"""Prior, secret and mechanism."""

SINGULAR = {"prior_class": "prior", "measures": "measure"}
"""What a law's function may take in place of a noun: a class of priors, every fitting measure."""

Applies = Callable[[Mapping[str, Any]], bool]


@attrs.frozen
class Law:
    """A statement about every combination of the nouns its function takes.

    Attributes
    ----------
    name
        A stable dotted name, such as ``"soundness.floor_ceiling"``.
    statement
        The function: it takes nouns and extras by name and raises `Violation`. In place of a prior,
        a secret and a mechanism it may take their ``release``, or the situation ``at`` which the
        prior and that release make.
    over
        The nouns of which every fitting combination is a case of its own; the other nouns are
        drawn among those that fit.
    extras
        Domains of the function's other parameters.
    applies
        Whether the law speaks about the given classes, by what they declare.
    cost
        How many times fewer examples than usual it gets; below one, more.
    audit
        Whether it trusts no formula but samples: such laws take long and run when asked for.
    """

    name: str
    statement: Callable[..., None]
    over: tuple[str, ...]
    extras: Mapping[str, Domain] = attrs.field(factory=dict)
    applies: Applies = bool
    cost: float = 1.0
    audit: bool = False

    def __reduce__(self) -> tuple[Any, ...]:
        return law_named, (self.name,)  # its function bears the name of the law itself

    def check(self, **arguments: Any) -> None:
        """Try the law on nouns and extras."""
        from sfumato.laws.capabilities import design

        if self._designs:
            release = design(arguments["mechanism"], arguments["prior"], arguments["secret"])
            arguments["release"] = release
            if "at" in self.argument_names:
                member = next(arguments["prior"].members())
                arguments["at"] = release.situation(member, arguments["secret"])
        self.statement(**{name: arguments[name] for name in self.argument_names})

    @property
    def argument_names(self) -> tuple[str, ...]:
        """The names of what the function takes."""
        return tuple(inspect.signature(self.statement).parameters)

    @property
    def _designs(self) -> bool:
        return "release" in self.argument_names or "at" in self.argument_names

    @property
    def nouns(self) -> tuple[str, ...]:
        """The nouns that the function is about."""
        taken = (*(SCENARIO if self._designs else ()), *self.argument_names)
        known = (*ORDER, *SINGULAR, "plugin")
        return tuple(dict.fromkeys(name for name in taken if name in known))

    @property
    def kinds(self) -> tuple[str, ...]:
        """The nouns of which classes are needed, each once."""
        return tuple(dict.fromkeys(SINGULAR.get(noun, noun) for noun in self.nouns))

    @property
    def sentence(self) -> str:
        """The law in one sentence."""
        return " ".join((inspect.getdoc(self.statement) or "").split("\n\n")[0].split())


def law(
    name: str,
    *,
    over: tuple[str, ...],
    applies: Applies = bool,
    cost: float = 1.0,
    audit: bool = False,
    **extras: Domain,
) -> Callable[[Callable[..., None]], Law]:
    """Make a function a law; see `Law` for the arguments.

    >>> from sfumato.laws.law import law
    >>> @law("example.names", over=("prior",))
    ... def has_a_name(prior):
    ...     "A prior has a name."
    >>> has_a_name.name, has_a_name.nouns, has_a_name.sentence
    ('example.names', ('prior',), 'A prior has a name.')
    """
    return lambda function: Law(name, function, over, extras, applies, cost, audit)


# The catalogue ------------------------------------------------------------------------------------


@functools.cache
def _every_law() -> tuple[Law, ...]:
    from sfumato.laws import statements

    names = [
        f"{statements.__name__}.{info.name}" for info in pkgutil.iter_modules(statements.__path__)
    ]
    found = [item for name in names for item in vars(importlib.import_module(name)).values()]
    return tuple(sorted((x for x in found if isinstance(x, Law)), key=lambda law: law.name))


def all_laws() -> tuple[Law, ...]:
    """Return every law, by name."""
    return tuple(known for known in _every_law() if not known.audit)


def audit_laws() -> tuple[Law, ...]:
    """Return the laws that trust no formula; they take many draws and run when asked for."""
    return tuple(known for known in _every_law() if known.audit)


def law_named(name: str) -> Law:
    """Return one law, or say which was meant."""
    every = {known.name: known for known in _every_law()}
    if name not in every:
        raise LookupError(f"there is no law named '{name}'; {did_you_mean(name, every)}")
    return every[name]


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
            if "draws" in self.law.argument_names:
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
    prior, secret, mechanism = map(chosen.get, SCENARIO)
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
