"""A secret asks about what its parameters say: that time, that radius, those states."""
# ruff: noqa: D401 - a law is a statement, not a command

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from sfumato.beliefs import Gaussian, Markov
from sfumato.domains.alternatives import Collection, Either
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
    """Return the secret with its times moved to the far end of a long trace."""
    given = {name: value for name, value in _time_values(secret).items() if value is not None}
    moved = {
        name: value + LONG if isinstance(value, int) else [time + LONG for time in value]
        for name, value in given.items()
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
    """A secret is about the times that its parameters name; where they name none, all.

    A secret without such a parameter may also be about one time, as of a landmark.
    """
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
    # Only a secret that cannot name a time may be about one of its own, such as a landmark.
    landmark = not places and len(touched) == 1
    # Two single times may be the ends of what is meant.
    span = len(places) > 1 and touched == set(range(min(named), max(named) + 1))
    require(
        touched == named or landmark or span,
        f"the secret must be about the times {sorted(named)}; it is about {sorted(touched)}",
    )
    if value_of(secret, "indices") is not None:
        require(
            len(parts) == 1,
            f"the indices of a secret move at once, in one group; got {len(parts)} groups",
        )
    elif not isinstance(question, JointStates) and not value_of(secret, "window") and not span:
        require(
            all(len(part) == 1 for part in parts),
            f"times that are neither 'indices' nor a 'window' count each on its own; got parts "
            f"about {parts}",
        )


@law("secret.values", over=("secret",), applies=takes("secret", "place", "mistakes"))
def question_is_about_what_is_given(prior: Any, secret: Any) -> None:
    """The place of an event, and the mistakes that a guess may have, are those that are given."""
    question = _ask(secret, prior.belief())
    for name, kind in (("place", Nearness), ("mistakes", Guess)):
        if value_of(secret, name) is not None and isinstance(question, kind):
            given, found = getattr(secret, name), getattr(question, name)
            require(given == found, f"the {name} asked about must be {given}; got {found}")
            return
    raise NotHere(f"a {type(question).__name__} has no place and no mistakes")


@law("secret.radius", over=("secret",))
def pairs_are_a_radius_apart(prior: Any, secret: Any) -> None:
    """The pairs of a secret are its radius apart, twice as far for twice the radius, in space."""
    belief = prior.belief()
    question = _ask(secret, belief)
    if not takes("secret", "radius")({"secret": type(secret)}):
        _require_no_other_radius(secret, question)
    for radius in (secret.radius, 2.0 * secret.radius):
        there = _ask(with_values(secret, radius=radius), belief)
        found = _radii_of(there, secret, radius)
        require(
            found == {radius},
            f"with the radius {radius:.9g} the pairs must be that far apart; got {sorted(found)}",
        )
    if not isinstance(question, Displacements):
        return
    for ball in (ball for group in question.groups for ball in group):
        whole = belief.entries_at(ball[0] // belief.dimensions)
        require(
            set(ball) == set(whole),
            f"a place moves in all of its coordinates, {whole}; got {ball}",
        )


def _require_no_other_radius(secret: Any, question: Any) -> None:
    """Let a secret without a radius pass, unless something else may be one that nothing checks."""
    numbers = [item.name for item in type(secret).parameters() if isinstance(item.domain, Real)]
    if numbers and isinstance(question, Displacements):
        raise Unverified(
            f"nothing can check how far apart the pairs of {secret.name} are: call that parameter "
            f"'radius', not '{numbers[0]}', or declare 'secret.radius' an expected failure with a "
            f"reason"
        )
    raise NotHere("the secret has no radius")


def _radii_of(question: Any, secret: Any, radius: float) -> set[float]:
    """Return how far apart pairs are; the radius itself where close states are those within it."""
    if isinstance(question, Displacements):
        return set(question.radii)
    if isinstance(question, Nearness):
        return {question.radius}
    distances, close = value_of(secret, "distances"), getattr(question, "close", None)
    if distances is None or close is None:
        raise NotHere(f"a {type(question).__name__} has no pairs of values here")
    every = np.eye(len(close), dtype=bool)
    if not np.array_equal(close, (distances <= radius) | every):
        raise Violation(f"states must be close within {radius:.9g}; got {close.tolist()}")
    return {radius}


@law("secret.states", over=("secret",), applies=takes("secret", "states"))
def events_are_about_the_states(prior: Any, secret: Any) -> None:
    """The events of a secret are about its states, and of more states there are more."""
    belief = prior.belief()
    question = _ask(secret, belief)
    if not isinstance(question, Events):
        raise NotHere(f"a {type(question).__name__} has no events")
    _require_states(question, belief, secret.states)
    larger = _long(belief, states=9)
    for more in (secret.states, (*secret.states, *larger.states[-3:])):
        _require_states(_ask(with_values(secret, states=more), larger), larger, more)


def _require_states(question: Events, belief: Any, states: Any) -> None:
    about = {belief.states[place] for place in np.flatnonzero(question.masks.any(axis=(0, 1)))}
    require(
        about == set(states),
        f"the events must be about {sorted(states, key=str)}; got {sorted(about, key=str)}",
    )
