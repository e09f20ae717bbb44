"""A secret asks about what its parameters say: that time, that radius, those states."""
# ruff: noqa: D401 - a law is a statement, not a command

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.errors import ParameterError
from sfumato.laws.capabilities import takes, value_of, with_values
from sfumato.laws.law import NotHere, Violation, law, require
from sfumato.questions import Displacements, Events, JointStates, Nearness, StateAt

TIMES = ("index", "indices", "times")
"""What a secret calls the times it is about: one, several at once, or several each on its own."""


def _ask(secret: Any, prior: Any) -> tuple[Any, Any]:
    """Return the belief and the question, if the secret suits the trace."""
    belief = prior.belief()
    try:
        return belief, secret.question(belief)
    except ParameterError as reason:
        raise NotHere(str(reason)) from None


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


def _named_times(secret: Any, belief: Any) -> list[int]:
    """Return the times that the parameters name; all where they name none."""
    for name in TIMES:
        given = value_of(secret, name)
        if given is not None:
            return [given] if isinstance(given, int) else list(given)
    return list(range(belief.times if hasattr(belief, "times") else belief.steps))


@law("secret.times", over=("secret",))
def times_are_those_that_are_named(prior: Any, secret: Any) -> None:
    """A secret is about the times that its parameters name; where they name none, all or one."""
    belief, question = _ask(secret, prior)
    parts, named = _times_by_part(question, belief), _named_times(secret, belief)
    touched = sorted(set().union(*parts))
    names_none = all(value_of(secret, name) is None for name in ("index", "indices", "times"))
    require(
        touched == sorted(set(named)) or (names_none and len(touched) == 1),
        f"the secret must be about the times {sorted(set(named))}; it is about {touched}",
    )
    if value_of(secret, "indices") is not None:
        require(
            len(parts) == 1,
            f"the indices of a secret move at once, in one group; got {len(parts)} groups",
        )
    elif isinstance(question, Displacements | StateAt):
        require(
            all(len(part) == 1 for part in parts),
            f"times that are not 'indices' move each on its own; got groups about {parts}",
        )


@law("secret.radius", over=("secret",), applies=takes("secret", "radius"))
def pairs_are_a_radius_apart(prior: Any, secret: Any) -> None:
    """The pairs of a secret are its radius apart, twice as far for twice the radius, in space."""
    belief, question = _ask(secret, prior)
    for radius in (secret.radius, 2.0 * secret.radius):
        _, there = _ask(with_values(secret, radius=radius), prior)
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
    belief, question = _ask(secret, prior)
    if not isinstance(question, Events):
        raise NotHere(f"a {type(question).__name__} has no events")
    _require_states(question, belief, secret.states)
    others = [state for state in belief.states if state not in secret.states]
    if others:
        more = (*secret.states, others[0])
        _, larger = _ask(with_values(secret, states=more), prior)
        _require_states(larger, belief, more)


def _require_states(question: Events, belief: Any, states: Any) -> None:
    about = {belief.states[place] for place in np.flatnonzero(question.masks.any(axis=(0, 1)))}
    require(
        about == set(states),
        f"the events must be about {sorted(states, key=str)}; got {sorted(about, key=str)}",
    )
