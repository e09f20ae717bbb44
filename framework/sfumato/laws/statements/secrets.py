"""A secret asks about what its parameters say: that time, that radius, those states."""
# ruff: noqa: D401 - a law is a statement, not a command

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from sfumato.beliefs import Gaussian, Markov
from sfumato.domains.alternatives import Collection, Either, Label
from sfumato.domains.domain import Real, Whole
from sfumato.errors import ParameterError
from sfumato.laws.capabilities import takes, value_of, with_values
from sfumato.laws.law import NotHere, Unverified, Violation, law, require
from sfumato.matrices import Diagonal
from sfumato.questions import Displacements, Events, Guess, JointStates, Nearness

LONG = 30
"""Times by which a trace is made longer: what is true of few of them is true of many."""


def _ask(secret: Any, belief: Any) -> Any:
    """Return the question, if the secret suits the trace."""
    try:
        return secret.question(belief)
    except ParameterError as reason:
        raise NotHere(str(reason)) from None


def _unverified(law: str, about: str) -> Unverified:
    return Unverified(
        f"nothing can check {about}, or declare 'secret.{law}' an expected failure with a reason"
    )


def _long(belief: Any, states: int = 0) -> Any:
    """Return a belief about many more times, and so many more states."""
    if isinstance(belief, Gaussian):
        entries = belief.entries + LONG * belief.dimensions
        return Gaussian(Diagonal(np.ones(entries)), dimensions=belief.dimensions)
    if not isinstance(belief, Markov):
        raise NotHere("longer traces of such a belief are not known")
    labels = (*belief.states, *(f"other {number}" for number in range(states)))
    even = np.full(len(labels), 1.0 / len(labels))
    return Markov(even, np.tile(even, (len(labels), 1)), belief.steps + LONG, labels)


def _time_values(secret: Any) -> dict[str, Any]:
    """Return the parameters that are positions of a trace, by their domains, with their values."""
    found = {}
    for item in type(secret).parameters():
        options = item.domain.options if isinstance(item.domain, Either) else (item.domain,)
        inner = [one.element if isinstance(one, Collection) else one for one in options]
        if any(isinstance(one, Whole) and one.below in ("n", "T") for one in inner):
            found[item.name] = getattr(secret, item.name)
    return found


def _later(secret: Any) -> Any:
    """Return the secret with its times at the far end of a long trace; lists, with more of them.

    The first of several single times is far before the last.
    """
    given = {name: value for name, value in _time_values(secret).items() if value is not None}
    moved = {
        name: value + LONG - 7 * (len(given) - place)
        if isinstance(value, int)
        else [*range(8), *(t + LONG for t in value)]
        for place, (name, value) in enumerate(given.items(), start=1)
    }
    return with_values(secret, **moved)


def _times_by_part(question: Any, belief: Any) -> list[set[int]]:
    """Return the times that each group of displacements, or each event, is about."""
    if isinstance(question, Displacements):
        return [{e // belief.dimensions for b in group for e in b} for group in question.groups]
    if isinstance(question, Events):
        return [set(np.flatnonzero(mask.any(axis=1)).tolist()) for mask in question.masks]
    if isinstance(question, JointStates):
        return [set(group) for group in question.groups]
    if isinstance(question, Nearness):
        return [{question.entry // belief.dimensions}]
    raise NotHere(f"a {type(question).__name__} is not about single times")


def _named_times(secret: Any, belief: Any) -> set[int]:
    """Return the times that the parameters name; all where they name none."""
    given = [value for value in _time_values(secret).values() if value is not None]
    if not given:
        return set(range(belief.times if hasattr(belief, "times") else belief.steps))
    return {int(time) for value in given for time in np.atleast_1d(value)}


@law("secret.times", over=("secret",))
def times_are_those_that_are_named(prior: Any, secret: Any) -> None:
    """A secret is about the times that its parameters name; where they name none, all."""
    belief = prior.belief()
    _require_times(secret, belief)
    with suppress(NotHere):
        longer = _long(belief)
        for moved in (secret, _later(secret)):
            _require_times(moved, longer)


def _require_times(secret: Any, belief: Any) -> None:
    question = _ask(secret, belief)
    parts, named = _times_by_part(question, belief), _named_times(secret, belief)
    touched: set[int] = set().union(*parts)
    places = _time_values(secret)
    if not places and len(touched) == 1 < len(named):
        about = f"that {secret.name} is about the time {min(touched)}: declare it as a parameter"
        raise _unverified("times", about)
    between = set(range(min(named), max(named) + 1))
    if touched == named < between and all(isinstance(one, int) for one in places.values()):
        about = f"whether {secret.name} is also about what is between {sorted(named)}: take a list"
        raise _unverified("times", about)
    span = len(places) > 1 and touched == between  # two single times are its ends
    require(
        touched == named or span,
        f"the secret must be about the times {sorted(named)}; it is about {sorted(touched)}",
    )
    window = value_of(secret, "window")
    if value_of(secret, "indices") is not None:
        require(
            len(parts) == 1,
            f"the indices of a secret move at once, in one group; got {len(parts)} groups",
        )
    elif window is True:
        require(
            all(part == touched for part in parts),
            f"the times of a window count as one, {sorted(touched)}; got parts about {parts}",
        )
    elif not isinstance(question, JointStates) and not window and not span:
        require(
            all(len(part) == 1 for part in parts),
            f"times that are neither 'indices' nor a 'window' count each on its own; got parts "
            f"about {parts}",
        )


VALUES = ("place", "mistakes", "both_ways")
"""Parameters that a question has, too."""


@law("secret.values", over=("secret",))
def question_is_about_what_is_given(prior: Any, secret: Any) -> None:
    """The place, the mistakes of a guess and the order of pairs are those that are given."""
    question = _ask(secret, prior.belief())
    counts = [item.name for item in type(secret).parameters() if isinstance(item.domain, Whole)]
    if isinstance(question, Guess) and counts and "mistakes" not in counts:
        about = f"what a guess may get wrong: call that 'mistakes', not '{counts[0]}'"
        raise _unverified("values", about)
    shared = [n for n in VALUES if value_of(secret, n) is not None and hasattr(question, n)]
    for name in shared:
        given, found = getattr(secret, name), getattr(question, name)
        require(given == found, f"the {name} asked about must be {given}; got {found}")
    if not shared:
        raise NotHere(f"a {type(question).__name__} has none of {VALUES}")


@law("secret.radius", over=("secret",))
def pairs_are_a_radius_apart(prior: Any, secret: Any) -> None:
    """The pairs of a secret are its radius apart, twice as far for twice the radius, in space."""
    belief = prior.belief()
    question = _ask(secret, belief)
    if not takes("secret", "radius")({"secret": type(secret)}):
        _require_no_other_radius(secret, question)
    for one in (*_with_distances(secret, belief), secret):
        for radius in (secret.radius, 2.0 * secret.radius):
            there = with_values(one, radius=radius)
            found = _radii_of(_ask(there, belief), there, radius)
            require(
                found == {radius},
                f"with the radius {radius:.9g} pairs must be that far apart; got {sorted(found)}",
            )
    if not isinstance(question, Displacements):
        return
    for ball in (ball for group in question.groups for ball in group):
        whole = belief.entries_at(ball[0] // belief.dimensions)
        require(
            set(ball) == set(whole),
            f"a place moves in all of its coordinates, {whole}; got {ball}",
        )


def _with_distances(secret: Any, belief: Any) -> list[Any]:
    """Return the secret where states lie on a line, neighbours the radius apart."""
    if not isinstance(belief, Markov) or not takes("secret", "distances")({"secret": type(secret)}):
        return []
    places = np.arange(belief.state_count)
    return [with_values(secret, distances=secret.radius * abs(np.subtract.outer(places, places)))]


def _require_no_other_radius(secret: Any, question: Any) -> None:
    """Let a secret without a radius pass, unless something else may be one that nothing checks."""
    numbers = [item.name for item in type(secret).parameters() if isinstance(item.domain, Real)]
    if numbers and isinstance(question, Displacements):
        about = f"how far apart pairs are: call that parameter 'radius', not '{numbers[0]}'"
        raise _unverified("radius", about)
    raise NotHere("the secret has no radius")


def _radii_of(question: Any, secret: Any, radius: float) -> set[float]:
    """Return how far apart pairs are; the radius itself where close states are those within it."""
    if isinstance(question, Displacements):
        return set(question.radii)
    if isinstance(question, Nearness):
        return {question.radius}
    distances, close = value_of(secret, "distances"), getattr(question, "close", None)
    if distances is None and takes("secret", "distances")({"secret": type(secret)}):
        require(close is None or close.all(), "without distances any two states are a pair")
    if distances is None or close is None:
        raise NotHere(f"a {type(question).__name__} has no pairs of values here")
    every = np.eye(len(close), dtype=bool)
    if not np.array_equal(close, (distances <= radius) | every):
        raise Violation(f"states must be close within {radius:.9g}; got {close.tolist()}")
    return {radius}


def _state_parameters(secret: Any) -> dict[str, bool]:
    """Return the parameters that are states, by their domains, and whether they are several."""
    domains = {item.name: item.domain for item in type(secret).parameters()}
    return {
        name: isinstance(domain, Collection)
        for name, domain in domains.items()
        if isinstance(getattr(domain, "element", domain), Label)
    }


@law("secret.states", over=("secret",))
def events_are_about_the_states(prior: Any, secret: Any) -> None:
    """The events of a secret are about its states, together or each; of more there are more."""
    belief = prior.belief()
    question = _ask(secret, belief)
    if not isinstance(question, Events):
        raise NotHere(f"a {type(question).__name__} has no events")
    names = _state_parameters(secret)
    if not names:
        if not question.masks.any(axis=(0, 1)).all():
            raise _unverified("states", "which states events are about: declare them")
        raise NotHere("the events are about all states")
    _require_states(secret, names, belief)
    larger = _long(belief, states=9)
    others = {
        n: larger.states[-4:] if several else larger.states[-1] for n, several in names.items()
    }
    for changes in ({}, others):
        _require_states(with_values(secret, **changes), names, larger)


def _require_states(secret: Any, names: Any, belief: Any) -> None:
    values = {name: getattr(secret, name) for name in names}
    states = {state for n, v in values.items() for state in (v if names[n] else (v,))}
    masks = _ask(secret, belief).masks.any(axis=1)
    parts = [{belief.states[place] for place in np.flatnonzero(mask)} for mask in masks]
    about, together = set().union(*parts), value_of(secret, "together")
    require(
        about == states,
        f"the events must be about {sorted(states, key=str)}; got {sorted(about, key=str)}",
    )
    wanted = {True: "all of its states", False: "one state"}.get(together, "states")
    require(
        together is None or all(len(part) == (len(states) if together else 1) for part in parts),
        f"with together={together} each event must be about {wanted}; got {parts}",
    )
