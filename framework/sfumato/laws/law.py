"""What a law is: a plain function over nouns, with a name and declared applicability."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

import attrs

from sfumato.domains.domain import Domain

if TYPE_CHECKING:
    from sfumato.laws.case import Case


class Violation(AssertionError):
    """A law does not hold here; the text says what was found and what should have been."""


class NotHere(Exception):
    """The law has nothing to say about this case: something was refused for a stated reason."""


def require(holds: object, otherwise: str) -> None:
    """Raise `Violation` unless `holds`; unlike ``assert`` it stays under ``python -O``.

    >>> require(1 + 1 == 2, "arithmetic must work")
    """
    if not holds:
        raise Violation(otherwise)


NOUNS = (
    "prior",
    "prior_class",
    "secret",
    "mechanism",
    "measure",
    "measures",
    "adversary",
    "plugin",
)
Applies = Callable[[Mapping[str, Any]], bool]


def _everywhere(_classes: Mapping[str, Any]) -> bool:
    return True


@attrs.frozen
class Law:
    """A statement about every combination of the nouns its function takes.

    Attributes
    ----------
    name
        A stable dotted name, such as ``"soundness.floor_ceiling"``.
    check
        The function: it takes nouns and extras by keyword and raises `Violation`.
    over
        The nouns of which every fitting combination is a case of its own; the other nouns are
        drawn among those that fit.
    extras
        Domains of the function's other parameters.
    applies
        Whether the law speaks about the given classes, by what they declare.
    cost
        How many times fewer examples than usual it gets; below one, more.
    """

    name: str
    check: Callable[..., None]
    over: tuple[str, ...]
    extras: Mapping[str, Domain] = attrs.field(factory=dict)
    applies: Applies = _everywhere
    cost: float = 1.0

    @property
    def nouns(self) -> tuple[str, ...]:
        """The nouns that the function takes."""
        return tuple(name for name in inspect.signature(self.check).parameters if name in NOUNS)

    @property
    def takes_draws(self) -> bool:
        """Whether the function takes a number of draws, which the profile sets."""
        return "draws" in inspect.signature(self.check).parameters

    @property
    def sentence(self) -> str:
        """The law in one sentence."""
        return " ".join((inspect.getdoc(self.check) or "").split("\n\n")[0].split())


def law(
    name: str,
    *,
    over: tuple[str, ...],
    applies: Applies = _everywhere,
    cost: float = 1.0,
    **extras: Domain,
) -> Callable[[Callable[..., None]], Law]:
    """Make a function a law; see `Law` for the arguments.

    >>> @law("example.names", over=("prior",))
    ... def has_a_name(prior):
    ...     "A prior has a name."
    >>> has_a_name.name, has_a_name.nouns, has_a_name.sentence
    ('example.names', ('prior',), 'A prior has a name.')
    """

    def make(function: Callable[..., None]) -> Law:
        return Law(name, function, over, extras, applies, cost)

    return make


Outcome = Literal["holds", "violated", "refused", "waived"]


@attrs.frozen
class Verdict:
    """The outcome of one case.

    Attributes
    ----------
    outcome
        ``"holds"``; ``"violated"``, with a counterexample; ``"refused"`` where no example could
        be tried; ``"waived"`` where a violation is known and has a reason.
    examples
        How many examples the law was tried on.
    message
        What went wrong, or why nothing could be tried.
    counterexample
        The smallest arguments found that break the law.
    script
        The counterexample as a program.
    waived_for
        The names of the plugins whose waivers the violation needed.
    """

    case: Case
    outcome: Outcome
    examples: int = 0
    message: str = ""
    counterexample: dict[str, Any] | None = None
    script: str = ""
    seconds: float = 0.0
    waived_for: tuple[str, ...] = ()

    def row(self) -> dict[str, Any]:
        """Return the verdict as plain values."""
        return {
            "law": self.case.law.name,
            "case": self.case.label,
            "outcome": self.outcome,
            "examples": self.examples,
            "message": self.message,
            "script": self.script,
            "seconds": round(self.seconds, 3),
        }
