"""A question about one trace, asked of a longer one; and a chain's part of a longer chain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import attrs
import numpy as np

from sfumato.beliefs import Markov
from sfumato.channels import JointEmission, Suppression
from sfumato.channels.emission import Emission, MemorylessEmission, Symbols
from sfumato.errors import Incompatible, OutsideHypotheses
from sfumato.prior_classes.sets import AnyOf
from sfumato.protocols import Prior, PriorClass, Secret
from sfumato.questions import Displacements, Events, JointStates, Nearness

SAME = 1e-13
"""Relative difference up to which two probabilities count as one."""

STEPS = 8
"""Steps of a chain on either side of a trace whose releases are read with it, state by state."""


def groups_of(question: Any) -> list[tuple[int, ...]]:
    """Return the entries of each secret that a question about real values has."""
    if isinstance(question, Nearness):
        return [(question.entry,)]
    if isinstance(question, Displacements):
        return [tuple(entry for ball in group for entry in ball) for group in question.groups]
    raise Incompatible(f"a ledger has no place for a question of {type(question).__name__}.")


@attrs.frozen(eq=False, repr=False)
class Elsewhere(Secret):
    """A secret of one trace, asked of a longer one that holds the trace's times elsewhere."""

    secret: Secret
    prior: PriorClass  # of the trace that the secret speaks of
    places: Mapping[int, int]  # of the trace's times in the longer one
    dimensions: int = 1
    steps: int = 0

    @property
    def name(self) -> str:  # type: ignore[override]  # of the object, not of the class
        """The name of the secret."""
        return self.secret.name

    @property
    def yields(self) -> Any:  # type: ignore[override]  # of the object, not of the class
        """What the secret becomes."""
        return self.secret.yields

    def question(self, belief: Any) -> Any:
        """Ask about the trace, and say where it is."""
        del belief
        asked = self.secret.question(next(self.prior.members()).belief())
        if isinstance(asked, Nearness):
            return attrs.evolve(asked, entry=self._entry(asked.entry))
        if isinstance(asked, Displacements):
            groups = tuple(
                tuple(tuple(self._entry(entry) for entry in ball) for ball in group)
                for group in asked.groups
            )
            return Displacements(groups, asked.radii)
        if isinstance(asked, Events):
            shape = (asked.kept.shape[0], self.steps, asked.kept.shape[2])
            at = [self.places[time] for time in asked.kept.times.tolist()]
            return attrs.evolve(asked, masks=attrs.evolve(asked.kept, shape=shape, times=at))
        if isinstance(asked, JointStates):
            times = tuple(tuple(self.places[time] for time in group) for group in asked.groups)
            return attrs.evolve(asked, groups=times)
        raise Incompatible(f"a ledger has no place for a question of {type(asked).__name__}.")

    def _entry(self, entry: int) -> int:
        time, axis = divmod(entry, self.dimensions)
        return self.places[time] * self.dimensions + axis

    def specification(self) -> dict[str, Any]:
        """Return the plain table of the secret and where its trace begins."""
        return {**self.secret.specification(), "at": self.places.get(0)}


def stretch_around(pasts: list[Any], at: int, end: int) -> tuple[int, int, list[Any]]:
    """Return a stretch of steps around a trace that cuts no channel which remembers."""
    low, high = max(0, at - STEPS), end + STEPS
    low = max(low, min([at, *(past.at for past in pasts)]))
    high = min(high, max([end, *(past.end for past in pasts)]))
    while True:
        near = [past for past in pasts if past.at < high and past.end > low]
        whole = [past for past in near if _remembers(past.channel)]
        wider = min([low, *(p.at for p in whole)]), max([high, *(p.end for p in whole)])
        if wider == (low, high):
            return low, high, near
        low, high = wider


def _remembers(channel: Any) -> bool:
    if isinstance(channel, Suppression):
        return channel.after is not None
    return not isinstance(channel, MemorylessEmission)


def cut_channel(channel: Any, low: int, high: int) -> Any:
    """Return what a channel says of some of its steps, from `low` to before `high`."""
    part = slice(max(low, 0), max(high, 0))
    if low <= 0 and high >= channel.steps:
        return channel
    if isinstance(channel, Suppression):
        return Suppression.memoryless(channel.states, channel.start[part])
    if isinstance(channel, Symbols):
        return attrs.evolve(channel, probabilities=channel.probabilities[part])
    raise Incompatible(f"a ledger cannot cut a channel of {type(channel).__name__}.")


def as_suppression(channel: Emission) -> Suppression | None:
    """Return the suppression that a channel is, up to the names of its symbols, or None.

    >>> from sfumato.channels import Symbols
    >>> from sfumato.release.time_lines import as_suppression
    >>> sensor = Symbols(("home", "work"), (0, 1), [[[1.0, 0.0], [0.25, 0.75]]])
    >>> as_suppression(sensor).start.tolist()
    [[1.0, 0.25]]
    """
    if isinstance(channel, Suppression):
        return channel
    if not isinstance(channel, Symbols):
        return None
    silence = []
    for laws in channel.probabilities:  # (M, Y)
        by_many = np.flatnonzero(np.count_nonzero(laws, axis=0) > 1)
        if len(by_many) > 1:
            return None
        silent = laws[:, by_many[0]] if len(by_many) else np.zeros(len(laws))
        shown = np.delete(laws, by_many, axis=1).sum(axis=1)
        if not np.allclose(shown, 1.0 - silent, rtol=SAME, atol=0.0):
            return None  # what is shown would lose its digits as one minus a silence near one
        silence.append(silent)
    return Suppression.memoryless(channel.states, np.array(silence))


def multiply_channels(
    states: Any, steps: int, parts: tuple[tuple[int, Any], ...], told: frozenset[int]
) -> tuple[Any, bool]:
    """Return the joint emission, a suppression where every part is one, and whether it is a bound.

    A state is hidden only if every part hides it, so silences multiply. What a part remembers is
    over when the next one begins. Two at once, of which one remembers, are no suppression: on a
    long stretch such a part is taken for the one that hides each state as seldom as it ever does,
    from whose output its own is made by hiding more.
    """
    plain = [(start, as_suppression(part)) for start, part in parts]
    silence, seen = np.ones((steps, len(states))), np.zeros(steps, dtype=int)
    for start, part in plain:
        if part is None:
            return JointEmission(states, steps, parts, told), False
        silence[start : start + part.steps] *= part.start
        seen[start : start + part.steps] += 1
    silence[list(told)] = 0.0
    recall = [(start, part) for start, part in plain if part is not None and part.after is not None]
    if not recall:
        return Suppression.memoryless(states, silence), False
    if any(seen[start : start + part.steps].max() > 1 for start, part in recall):
        if steps <= STEPS:
            return JointEmission(states, steps, parts, told), False
        least = tuple((start, _as_seldom(part)) for start, part in plain if part is not None)
        return multiply_channels(states, steps, least, told)[0], True
    after = np.tile(silence, (steps, len(states), 1, 1))
    for start, part in recall:
        own = slice(start, start + part.steps)
        after[own, :, own] = part.after
    return Suppression(states, silence, after), False


def _as_seldom(channel: Suppression) -> Suppression:
    """Return the suppression without memory that hides each state with its least probability."""
    if channel.after is None:
        return channel
    least = np.minimum(channel.start, channel.after.min(axis=(0, 1)))
    return Suppression.memoryless(channel.states, least)


@attrs.frozen(eq=False, repr=False)
class ChainPart(Prior):
    """A chain's belief about some consecutive steps of its trace."""

    yields: ClassVar[type] = Markov

    base: Prior
    first: int
    steps: int

    @property
    def name(self) -> str:  # type: ignore[override]  # of the object, not of the class
        """The name of the prior."""
        return self.base.name

    def belief(self) -> Markov:
        """Return the chain from its law at the first of the steps on."""
        whole: Markov = self.base.belief()
        law = whole.initial @ np.linalg.matrix_power(whole.matrix(0), self.first)
        return Markov(law / law.sum(), whole.matrix(0), steps=self.steps, states=whole.states)

    def specification(self) -> dict[str, Any]:
        """Return the plain table of the chain and its part."""
        return {"part": self.base.specification(), "first": self.first, "steps": self.steps}


def chain_part(whole: PriorClass, first: int, steps: int) -> PriorClass:
    """Return what the chains of a finite class are from one of their steps on."""
    if not whole.finite:
        raise OutsideHypotheses(
            f"over an interval of chains a ledger must read from position 0 on; got a trace whose "
            f"surroundings begin at {first}: release it at position 0, or take an AnyOf of chains."
        )
    parts = [ChainPart(member, first, steps) for member in whole.members()]
    return parts[0] if len(parts) == 1 else AnyOf(*parts)
