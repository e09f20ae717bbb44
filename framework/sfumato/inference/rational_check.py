"""The segment check in whole numbers: a privacy decision without any rounding.

Floats are whole numbers over a power of two, so with a common scale 2^K every law of a segment is
a vector of whole numbers, and the powers of two on both sides of

    Pr[X_t ∈ A, ⊥…⊥, X_v = j | X_u = i] ≤ (Pr[A] + δ) · Pr[⊥…⊥, X_v = j | X_u = i]

cancel. That decides about the chain itself only if its stored numbers are its laws: each must sum
to one exactly, as halves and quarters do and thirds do not.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.beliefs.markov import Markov
from sfumato.channels.suppression import LastRelease, Suppression
from sfumato.inference.timed_events import TimedEvents

Whole = NDArray[np.object_]
"""Python integers, of any size."""


def rational_work(belief: Markov, masks: NDArray[np.bool_]) -> int:
    """Return about how many products of whole numbers one check takes."""
    count = belief.state_count
    return int((belief.steps * count) * belief.steps * (1 + len(masks)) * count**2)


def has_exact_laws(belief: Markov) -> bool:
    """Whether the stored probabilities of every law sum to one without rounding.

    Examples
    --------
    >>> has_exact_laws(Markov([0.25, 0.75], np.eye(2), steps=2))
    True
    >>> has_exact_laws(Markov([0.1, 0.2, 0.7], np.eye(3), steps=2))
    False
    """
    laws = [belief.initial, belief.transitions]
    scale = _Scale.of(*laws)
    return all(bool(np.all(scale.whole(law).sum(axis=-1) == scale.one)) for law in laws)


def keeps_exactly(belief: Markov, channel: Suppression, masks: ArrayLike, delta: float) -> bool:
    """Whether Pr[A | o] ≤ Pr[A] + δ for every possible output o and every event A, exactly.

    Examples
    --------
    >>> chain = Markov([0.5, 0.5], np.empty((0, 2, 2)), states="sx")
    >>> mask = [[[True, False]]]
    >>> [
    ...     keeps_exactly(chain, Suppression.memoryless("sx", [[1.0, chance]]), mask, 0.25)
    ...     for chance in (1 / 3, np.nextafter(1 / 3, 1.0))  # the first is less than a third
    ... ]
    [False, True]
    """
    return _Check(belief, channel, TimedEvents.from_masks(belief, masks), delta).kept()


@attrs.frozen
class _Scale:
    """Numbers are counted in units of 2^−bits."""

    bits: int

    @classmethod
    def of(cls, *tables: ArrayLike) -> _Scale:
        """Return the coarsest scale on which all entries are whole."""
        entries = (float(x) for table in tables for x in np.ravel(table))
        return cls(max(x.as_integer_ratio()[1].bit_length() - 1 for x in entries))

    @property
    def one(self) -> int:
        """The number one."""
        return 1 << self.bits

    def whole(self, table: ArrayLike) -> Whole:
        """Return the entries as whole numbers."""
        array = np.asarray(table, dtype=float)
        numbers = np.empty(array.shape, dtype=object)
        for place, value in np.ndenumerate(array):
            numerator, denominator = value.as_integer_ratio()
            numbers[place] = numerator * (self.one // denominator)
        return numbers


class _Check:
    """Follows every segment that can happen, the earliest starts first."""

    def __init__(
        self, belief: Markov, channel: Suppression, events: TimedEvents, delta: float
    ) -> None:
        self._channel, self._steps = channel, belief.steps
        tables = [channel.start] if channel.after is None else [channel.start, channel.after]
        self._scale = _Scale.of(belief.initial, belief.transitions, delta, *tables)
        self._initial = self._scale.whole(belief.initial)
        self._moves = self._scale.whole(belief.transitions)
        self._bound = self._limits(events, delta)

    def _limits(self, events: TimedEvents, delta: float) -> list[list[tuple[Whole, int, int]]]:
        """Return the events of each time that can be breached: members, Pr[A] + δ as a ratio."""
        found: list[list[tuple[Whole, int, int]]] = [[] for _ in range(self._steps)]
        law, one = self._initial, self._scale.one
        unit = one
        for time in range(self._steps):
            if time > 0:
                law, unit = law @ self._moves[time - 1], unit * one
            for number in np.flatnonzero(events.times == time):
                members = events.members[number].astype(object)
                limit = sum(law * members) * one + int(self._scale.whole(delta)[()]) * unit
                if limit < unit * one:
                    found[time].append((members, limit, unit * one))
        return found

    def kept(self) -> bool:
        """Whether all segments keep all events."""
        starts: list[dict[int, None]] = [{} for _ in range(self._steps)]
        if not self._keeps(None, starts):
            return False
        return all(
            self._keeps((time, state), starts)
            for time in range(self._steps)
            for state in starts[time]
        )

    def _keeps(self, last: LastRelease, starts: list[dict[int, None]]) -> bool:
        """Whether the segments after a release keep their events; note what may be released."""
        begin = 0 if last is None else last[0] + 1
        table = self._scale.whole(self._channel.table(last))
        followed: list[tuple[Whole, int, int]] = []  # joint law, limit as a ratio
        law: Any = self._initial
        for time in range(begin, self._steps):
            if time > begin:
                law = law @ self._moves[time - 1]
                followed = [(joint @ self._moves[time - 1], *limit) for joint, *limit in followed]
            elif last is not None:
                law = self._moves[last]
            for state in np.flatnonzero((law > 0) & (table[time] < self._scale.one)).tolist():
                if any(members[state] for members, *_ in self._bound[time]):
                    return False
                if any(joint[state] * unit > most * law[state] for joint, most, unit in followed):
                    return False
                starts[time][state] = None
            law = law * table[time]
            followed = [(joint * table[time], *limit) for joint, *limit in followed]
            followed += [(law * members, *limit) for members, *limit in self._bound[time]]
        total = sum(law)
        return all(sum(joint) * unit <= most * total for joint, most, unit in followed)
