"""Saying the same in other words: states and times in another order, other units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from sfumato.beliefs import Gaussian
from sfumato.channels import NoisyVectors, Suppression, Symbols
from sfumato.laws.violation import NotHere
from sfumato.questions import Displacements, Events, Guess


def channel_of_permuted_states(channel: Any, order: Sequence[int]) -> Any:
    """Return the channel for states listed in another order."""
    places = np.asarray(order)
    states = tuple(channel.states[place] for place in places)
    if isinstance(channel, Suppression):
        after = None
        if channel.after is not None:
            after = channel.after[:, places][:, :, :, places]
        return Suppression(states, channel.start[:, places], after)
    if isinstance(channel, Symbols):
        return Symbols(states, channel.alphabet, channel.probabilities[:, places])
    if isinstance(channel, NoisyVectors):
        return NoisyVectors(states, channel.means[:, places], channel.scale)
    raise NotHere(f"reordering states is not known for {type(channel).__name__} channels")


def question_of_permuted_states(question: Any, order: Sequence[int]) -> Any:
    """Return the question for states listed in another order."""
    if isinstance(question, Events):
        return attrs.evolve(question, masks=question.masks[:, :, np.asarray(order)])
    if isinstance(question, Guess):
        return question
    raise NotHere(f"reordering states is not known for {type(question).__name__} questions")


def question_of_permuted_times(
    question: Displacements, order: Sequence[int], belief: Gaussian
) -> Displacements:
    """Return the question about the trace whose time i is the old trace's time order[i]."""
    new_place = np.argsort(np.asarray(order))
    d = belief.dimensions
    groups = tuple(
        tuple(tuple(int(new_place[e // d]) * d + e % d for e in ball) for ball in group)
        for group in question.groups
    )
    return attrs.evolve(question, groups=groups)


def question_in_units(question: Displacements, factor: float) -> Displacements:
    """Return the question about √factor · X."""
    return attrs.evolve(question, radii=tuple(r * float(np.sqrt(factor)) for r in question.radii))


def value_in_units(unit: str, factor: float) -> float:
    """Return what a value of that unit is multiplied by when X becomes √factor · X.

    >>> value_in_units("nats", 4.0), value_in_units("units of the trace", 4.0)
    (1.0, 2.0)
    """
    if unit.startswith("squared units of the trace"):
        return factor
    if unit.startswith("units of the trace"):
        return float(np.sqrt(factor))
    return 1.0
