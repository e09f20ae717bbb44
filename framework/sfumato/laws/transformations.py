"""What laws do to channels, questions and classes: post-process, silence, reorder, rescale."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from sfumato.beliefs import Gaussian
from sfumato.channels import (
    AdditiveGaussian,
    Emission,
    NoisyVectors,
    RelabelledSuppression,
    Suppression,
    Symbols,
)
from sfumato.laws.law import NotHere
from sfumato.matrices import Diagonal, LowRank, Sum
from sfumato.prior_classes.families import Family
from sfumato.prior_classes.sets import AnyOf, Interval
from sfumato.protocols import PriorClass
from sfumato.questions import Displacements, Events, Guess

SILENCE = 1e14
"""How many times more noise than signal counts as releasing nothing."""


def garble(channel: Any, rng: np.random.Generator) -> Any:
    """Return the channel followed by a random post-processing of what it releases."""
    if isinstance(channel, AdditiveGaussian):
        return noisier(channel, rng, amount=float(rng.uniform(0.01, 2.0)))
    if isinstance(channel, Symbols):
        size = len(channel.alphabet)
        mixing = rng.dirichlet(np.full(size, 0.5), size=(channel.steps, size))
        return Symbols(channel.states, channel.alphabet, channel.probabilities @ mixing)
    if isinstance(channel, NoisyVectors):
        return attrs.evolve(channel, scale=channel.scale * float(rng.uniform(1.0, 3.0)))
    if isinstance(channel, RelabelledSuppression):
        return attrs.evolve(channel, suppression=garble(channel.suppression, rng))
    if isinstance(channel, Suppression):
        if channel.after is None:
            return more_suppressed(channel, rng)
        return beginning(channel, int(rng.integers(0, channel.steps)))
    raise NotHere(f"no post-processing is known for {type(channel).__name__} channels")


def noisier(channel: AdditiveGaussian, rng: np.random.Generator, amount: float) -> AdditiveGaussian:
    """Return the channel with more noise: of rank one, and a little on some entries."""
    direction = rng.standard_normal((channel.entries, 1))
    direction *= np.sqrt(amount) / np.linalg.norm(direction)
    some = amount * rng.integers(0, 2, channel.entries) * rng.uniform(0, 1, channel.entries)
    extra = (LowRank(direction), Diagonal(some))
    return attrs.evolve(channel, noise=Sum((channel.noise, *extra)))


def more_suppressed(channel: Suppression, rng: np.random.Generator) -> Suppression:
    """Return memoryless suppression with larger probabilities, some of them one."""
    more = rng.uniform(0, 1, channel.start.shape) * rng.integers(0, 2, channel.start.shape)
    return Suppression.memoryless(channel.states, channel.start + (1.0 - channel.start) * more)


def beginning(channel: Suppression, length: int) -> Suppression:
    """Return suppression that withholds all from that time on: a post-processing of any kind."""
    start, after = channel.start.copy(), np.array(channel.after)
    start[length:], after[:, :, length:] = 1.0, 1.0
    return Suppression(channel.states, start, after)


WELL_CONDITIONED = 1e6
"""Up to this condition number of prior plus noise float64 decides every loss."""


def from_loud_to_quiet(channel: Any, belief: Any) -> list[Any]:
    """Return channels of one kind, each telling more than the one before, none nearly noiseless."""
    if isinstance(channel, AdditiveGaussian):
        sigma = belief.covariance.dense()
        scaled = [channel.scaled(4.0**power) for power in range(4, -5, -1)]
        totals = [np.linalg.cond(sigma + one.covariance()) for one in scaled]
        return [c for c, total in zip(scaled, totals, strict=True) if total < WELL_CONDITIONED]
    if isinstance(channel, NoisyVectors):
        return [attrs.evolve(channel, scale=channel.scale * 2.0**p) for p in range(3, -4, -1)]
    if isinstance(channel, Symbols):
        even = 1.0 / len(channel.alphabet)
        return [
            attrs.evolve(channel, probabilities=share * even + (1 - share) * channel.probabilities)
            for share in (0.99, 0.9, 0.6, 0.3, 0.0)
        ]
    if isinstance(channel, Suppression) and channel.after is None:
        start = channel.start
        louder = [1.0 - (1.0 - start) * share for share in (0.01, 0.1, 0.4, 0.7)]
        quieter = [start * share for share in (1.0, 0.7, 0.4, 0.1)]
        return [Suppression.memoryless(channel.states, table) for table in (*louder, *quieter)]
    raise NotHere(f"louder and quieter {type(channel).__name__} channels are not known")


def silent(channel: Any, belief: Any) -> Any:
    """Return a channel of the same kind that releases nothing (Gaussian: next to nothing)."""
    if isinstance(channel, AdditiveGaussian):
        scale = SILENCE * float(belief.covariance.diagonal().max())
        return attrs.evolve(channel, noise=Diagonal(np.full(channel.entries, scale)))
    if isinstance(channel, Suppression):
        return Suppression.memoryless(channel.states, np.ones(channel.start.shape))
    if isinstance(channel, NoisyVectors):
        return attrs.evolve(channel, means=np.zeros_like(channel.means))
    if isinstance(channel, Emission):
        blank = np.ones((channel.steps, len(channel.states), 1))
        return Symbols(channel.states, ("nothing",), blank)
    raise NotHere(f"silence is not known for {type(channel).__name__} channels")


def identity(channel: Any) -> Any:
    """Return a channel of the same kind that releases the trace itself."""
    if isinstance(channel, AdditiveGaussian):
        return attrs.evolve(channel, noise=Diagonal(np.zeros(channel.entries)))
    if isinstance(channel, Suppression):
        return Suppression.memoryless(channel.states, np.zeros(channel.start.shape))
    if isinstance(channel, Emission):
        states = channel.states
        every = np.broadcast_to(np.eye(len(states)), (channel.steps, len(states), len(states)))
        return Symbols(states, states, every)
    raise NotHere(f"releasing everything is not known for {type(channel).__name__} channels")


def channel_of_permuted_states(channel: Any, order: Sequence[int]) -> Any:
    """Return the channel for states listed in another order."""
    places = np.asarray(order)
    states = tuple(channel.states[place] for place in places)
    if isinstance(channel, Suppression):
        after = channel.after
        after = None if after is None else after[:, places][:, :, :, places]
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


def member_at(prior: PriorClass, place: float) -> Any:
    """Return the member at a place between 0 and 1: inside an interval, or along a list."""
    if isinstance(prior, Family) and not prior.finite:
        chosen = {name: _within(domain, place) for name, domain in prior.varying.items()}
        return prior.member(chosen)
    members = list(prior.members())
    return members[min(int(place * len(members)), len(members) - 1)]


def _within(domain: Interval | AnyOf, place: float) -> Any:
    if isinstance(domain, Interval):
        return min(domain.low + place * (domain.high - domain.low), domain.high)
    return domain.options[min(int(place * len(domain.options)), len(domain.options) - 1)]
