"""Suppression probabilities at their very limit, where rational arithmetic can tell."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from sfumato.beliefs import Markov
from sfumato.channels import Suppression
from sfumato.inference.markov.rational import has_exact_laws, keeps_exactly, rational_work
from sfumato.questions import Events
from sfumato.values import FloatArray
from sfumato_suppression.line_search import MARGIN

MOST_WORK = 200_000
"""How many products of whole numbers may be spent."""

ROOM = 16.0 * MARGIN
"""The limit of a probability lies no further below it than this, relative to it."""

HALVINGS = 20
"""So many halvings of that room arrive at neighbouring floats."""


def sharpened(
    channel: Suppression,
    members: Sequence[tuple[Markov, Events]],
    delta: float,
    fits: Callable[[Suppression], bool],
) -> Suppression:
    """Set the probabilities between 0 and 1 to the smallest floats that keep δ exactly.

    A search in floats keeps a small distance from every limit. Where the chains are small and
    their laws exact, whole numbers decide instead, without rounding; elsewhere, or where that
    leads nowhere, the channel stays as it is. Along one probability the private values form an
    interval, each constraint being linear, so halving finds its end.

    Parameters
    ----------
    channel
        A private channel.
    members
        The chains of the class and their events.
    fits
        What else is asked of a channel.
    """
    places = list(_places(channel))
    work = sum(rational_work(belief, question.masks) for belief, question in members)
    if not places or work * HALVINGS * len(places) > MOST_WORK:
        return channel
    if not all(has_exact_laws(belief) for belief, _ in members):
        return channel

    def private(candidate: Suppression) -> bool:
        exact = (keeps_exactly(b, candidate, question.masks, delta) for b, question in members)
        return all(exact) and fits(candidate)

    kept = channel if private(channel) else _raised(channel, private)
    if kept is None:
        return channel
    for place in places:
        kept = _lowered(kept, place, private)
    return kept


def _raised(channel: Suppression, private: Callable[[Suppression], bool]) -> Suppression | None:
    """Raise all entries between 0 and 1 by some units in the last place, until they are private."""
    for units in (1, 2, 4, 8, 16, 32, 64):
        after = None if channel.after is None else _up(channel.after, units)
        candidate = Suppression(channel.states, _up(channel.start, units), after)
        if private(candidate):
            return candidate
    return None


def _up(table: FloatArray, units: int) -> FloatArray:
    between = (table > 0.0) & (table < 1.0)
    return np.asarray(np.where(between, table + units * np.spacing(table), table))


def _lowered(
    channel: Suppression, place: tuple[int, ...], private: Callable[[Suppression], bool]
) -> Suppression:
    """Lower one entry to its limit, if that is near."""
    high = float(_table(channel, place)[place])
    low = high * (1.0 - ROOM)
    if private(_replaced(channel, place, low)):
        return channel  # no limit near: the search meant the value it chose
    for _ in range(HALVINGS):
        middle = low + (high - low) / 2.0
        candidate = _replaced(channel, place, middle)
        if private(candidate):
            channel, high = candidate, middle
        else:
            low = middle
    return channel


def _places(channel: Suppression) -> Iterator[tuple[int, ...]]:
    """Yield the entries strictly between 0 and 1: (t, j), or (u, i, t, j) after a release."""
    for table in (channel.start, channel.after):
        if table is not None:
            yield from (tuple(place) for place in np.argwhere((table > 0.0) & (table < 1.0)))


def _table(channel: Suppression, place: tuple[int, ...]) -> FloatArray:
    """Return the table that an entry belongs to."""
    return channel.start if len(place) == 2 or channel.after is None else channel.after


def _replaced(channel: Suppression, place: tuple[int, ...], chance: float) -> Suppression:
    table = np.array(_table(channel, place))
    table[place] = chance
    if len(place) == 2:
        return Suppression(channel.states, table, channel.after)
    return Suppression(channel.states, channel.start, table)
