"""What a law is: a plain function over nouns, with a name and declared applicability."""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from sfumato.domains.domain import Domain
from sfumato.errors import did_you_mean


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

    >>> require(1 + 1 == 2, "arithmetic must work")
    """
    if not holds:
        raise Violation(otherwise)


ORDER = ("prior", "secret", "mechanism", "measure", "adversary")
"""The nouns in the order in which a situation is built up."""

SINGULAR = {"prior_class": "prior", "measures": "measure"}
"""What a law's function may take in place of a noun: a class of priors, every fitting measure."""

DESIGNED_FOR = ("mechanism", "prior", "secret")
"""What a release is designed by and for."""

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

    def check(self, **arguments: Any) -> None:
        """Try the law on nouns and extras."""
        from sfumato.laws.capabilities import designed

        if self._designs:
            release = designed(*(arguments[noun] for noun in DESIGNED_FOR))
            arguments["release"] = release
            if "at" in self.taken:
                member = next(arguments["prior"].members())
                arguments["at"] = release.situation(member, arguments["secret"])
        self.statement(**{name: arguments[name] for name in self.taken})

    @property
    def taken(self) -> tuple[str, ...]:
        """The names of what the function takes."""
        return tuple(inspect.signature(self.statement).parameters)

    @property
    def _designs(self) -> bool:
        return "release" in self.taken or "at" in self.taken

    @property
    def nouns(self) -> tuple[str, ...]:
        """The nouns that the function is about."""
        taken = (*(DESIGNED_FOR if self._designs else ()), *self.taken)
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
