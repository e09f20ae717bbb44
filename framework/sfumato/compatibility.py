"""Which nouns fit which: decided from declared types, without constructing anything.

The types that plugins meet in (beliefs, questions, channels) may say by `words` what users call
them; sentences are made of these.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sfumato.errors import Incompatible


def words_of(kind: type) -> str:
    """Return what users call what a type stands for; "" for what no sentence need name.

    >>> from sfumato.beliefs import Markov
    >>> from sfumato.compatibility import words_of
    >>> words_of(Markov)
    'Markov chains'
    """
    return str(kind.__dict__.get("words", kind.__name__))


def _any_of(kinds: Iterable[type]) -> str:
    return " or ".join(sorted({words_of(kind) for kind in kinds} - {""})) or "another kind"


def _fits(given: type, wanted: type) -> bool:
    """Whether something declared to be `given` can be a `wanted`."""
    return issubclass(given, wanted) or issubclass(wanted, given)


def question_type(secret: Any, belief: type) -> type | None:
    """Return the type of question the secret becomes for that type of belief."""
    yields: Mapping[type, type] = secret.yields
    for known, question in yields.items():
        if issubclass(belief, known):
            return question
    return None


def why_not(reader: Any, slots: tuple[tuple[type, str], ...], rows: Any) -> str:
    """Return why none of `rows` (tuples of types) takes the slots, or "" if one does.

    A slot is (the type it has, who gives it).
    """
    left = [tuple(row) for row in rows]
    for position, (given, giver) in enumerate(slots):
        taken = [row for row in left if _fits(given, row[position])]
        if not taken:
            wanted = _any_of(row[position] for row in left)
            return f"{reader.name} needs {wanted}; {giver} gives {words_of(given)}."
        left = taken
    return ""


def why_no_question(secret: Any, prior: Any) -> str:
    """Return why the secret makes no sense for the prior, or ""."""
    if question_type(secret, prior.yields) is not None:
        return ""
    return (
        f"{secret.name} needs {_any_of(secret.yields)}; the prior '{prior.name}' gives "
        f"{words_of(prior.yields)}."
    )


def _asked(prior: Any, secret: Any) -> tuple[tuple[type, str], ...]:
    """Return the slots of belief and question; none where the secret makes no sense."""
    question = question_type(secret, prior.yields)
    if question is None:
        return ()
    return (prior.yields, f"the prior '{prior.name}'"), (question, f"the secret '{secret.name}'")


def why_no_release(mechanism: Any, prior: Any, secret: Any) -> str:
    """Return why the mechanism cannot protect the secret under the prior, or ""."""
    slots = _asked(prior, secret)
    return why_not(mechanism, slots, mechanism.asks) if slots else why_no_question(secret, prior)


def why_no_loss(measure: Any, prior: Any, secret: Any, channel: type, giver: str) -> str:
    """Return why the measure cannot read the scenario, or ""."""
    slots = _asked(prior, secret)
    if not slots:
        return why_no_question(secret, prior)
    return why_not(measure, (*slots, (channel, f"the mechanism '{giver}'")), measure.reads)


def require_mechanism(mechanism: Any, prior: Any, secret: Any) -> None:
    """Raise `Incompatible` unless the mechanism can protect the secret under the prior."""
    _require_nouns(mechanism.name, prior=prior, secret=secret)
    problem = why_no_release(mechanism, prior, secret)
    if problem:
        raise Incompatible(problem)


def require_measure(measure: Any, prior: Any, secret: Any, release: Any) -> None:
    """Raise `Incompatible` unless the measure can read the scenario."""
    _require_nouns(measure.name, prior=prior, secret=secret)
    if not hasattr(release, "channel"):
        raise Incompatible(f"{measure.name} measures a release; got {release!r}.")
    channel = type(release.channel)
    problem = why_no_loss(measure, prior, secret, channel, release.mechanism.name)
    if problem:
        raise Incompatible(problem)


def _require_nouns(who: str, **nouns: Any) -> None:
    for noun, given in nouns.items():
        if getattr(type(given), "kind", None) != noun:
            raise Incompatible(f"{who} must get a {noun}; got {given!r}.")


def require_adversary(adversary: Any, belief: Any, channel: Any) -> None:
    """Raise `Incompatible` unless the adversary can reason about that belief and channel."""
    slots = ((type(belief), "what it was given"), (type(channel), "what it was given"))
    problem = why_not(adversary, slots, adversary.reads)
    if problem:
        raise Incompatible(problem)
    require_one_trace(belief, channel)


def require_one_trace(belief: Any, channel: Any) -> None:
    """Raise `Incompatible` if belief and channel speak of different traces.

    Both say what their traces look like by `trace_form`: the shape of a real trace, the steps and
    the labels (in order) of a state trace.
    """
    believed = getattr(belief, "trace_form", None)
    released = getattr(channel, "trace_form", None)
    if believed is not None and released is not None and believed != released:
        raise Incompatible(
            f"belief and channel must speak of one trace; got {believed} and {released}."
        )
