"""The posterior gap of one output under suppression, in whole numbers: rounded once, at the end.

In floats, posterior and prior each carry an error of some 1e-16, so an output that tells nothing
may seem to tell 1e-17, and a gap of a third may come out just above a third. A float is a whole
number over a power of two, so a law, which is proportional to its stored numbers, can be had as
whole numbers with a common sum. Then

    Pr[A | o] − Pr[A] = a/b − c/d

with whole a, b, c, d, and the nearest float is the answer.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.beliefs import Markov
from sfumato.channels.suppression import LastRelease, Suppression
from sfumato.inference.markov.events import TimedEvents
from sfumato.values import SUPPRESSED

MOST_PRODUCTS = 20_000
"""How many products one pass through the chain may take, whatever the size of the numbers."""

MOST_WORK = 10_000_000
"""How many products of 30-bit digits one pass may take: about a hundredth of a second."""

Whole = NDArray[np.object_]
"""Python integers, of any size."""


@attrs.frozen(eq=False)
class _Laws:
    """Laws along the last axis, as whole weights that all have the same sum."""

    weights: Whole
    total: int

    @classmethod
    def of(cls, probabilities: ArrayLike) -> _Laws:
        """Read laws whose stored numbers sum to one, or nearly."""
        weights = _weights(probabilities)
        sums = weights.sum(axis=-1, keepdims=True)
        total = math.lcm(*sums.ravel())
        return cls(weights * (total // sums), total)


@attrs.frozen(eq=False)
class WholeChain:
    """A chain in whole numbers.

    Examples
    --------
    >>> law = [0.1, 0.2, 0.7]  # independent steps: the future tells nothing
    >>> chain = Markov(law, [law] * 3, steps=2, states="sxy")
    >>> channel = Suppression.memoryless("sxy", [[1, 1, 1], [0, 0, 0]])
    >>> prior, posterior = WholeChain.affordable(chain).prior_and_posterior(
    ...     channel, (SUPPRESSED, "x"), 0, np.array([True, False, False])
    ... )
    >>> posterior - prior
    Fraction(0, 1)
    """

    belief: Markov
    initial: _Laws
    moves: tuple[_Laws, ...]

    @classmethod
    def affordable(cls, belief: Markov) -> WholeChain | None:
        """Read a chain, or return None where whole numbers would take long.

        A number at time t has about t times the digits of one law's weights.
        """
        products = belief.steps * belief.state_count**2
        if products > MOST_PRODUCTS:
            return None
        known: dict[bytes, _Laws] = {}  # many chains repeat one matrix
        moves = []
        for time in range(belief.steps - 1):
            matrix = belief.matrix(time)
            key = matrix.tobytes()
            moves.append(known.setdefault(key, known.get(key) or _Laws.of(matrix)))
        initial = _Laws.of(belief.initial)
        digits = max(laws.total.bit_length() for laws in (initial, *moves)) / 30
        if products * digits**2 * belief.steps > 2 * MOST_WORK:
            return None
        return cls(belief, initial, tuple(moves))

    def prior_and_posterior(
        self, channel: Suppression, output: tuple[Any, ...], time: int, members: NDArray[np.bool_]
    ) -> tuple[Fraction, Fraction]:
        """Return Pr[A] and Pr[A | o] for A = "the state at `time` is one of `members`", exactly.

        Parameters
        ----------
        channel
            What is suppressed.
        output
            A complete output that can happen.
        time, members
            The event, as a time and a boolean for every state.
        """
        event = members.astype(object)
        law, total = self._marginal(time)
        prior = Fraction(sum(law * event), total)
        if output[time] is not SUPPRESSED:
            return prior, Fraction(int(members[self._position(output[time])]))
        last = self._last_release(output, time)
        table = channel.table(last)
        begin = 0 if last is None else last[0] + 1
        law = self.initial.weights if last is None else self.moves[last[0]].weights[last[1]]
        joint = law * 0
        for now in range(begin, len(output)):
            if now > begin:
                weights = self.moves[now - 1].weights
                law, joint = law @ weights, joint @ weights
            if output[now] is not SUPPRESSED:  # the chance of release itself is on both sides
                state = self._position(output[now])
                return prior, Fraction(joint[state], law[state])
            chances = _weights(table[now])
            law, joint = law * chances, joint * chances
            if now == time:
                joint = law * event
        return prior, Fraction(sum(joint), sum(law))

    def _marginal(self, time: int) -> tuple[Whole, int]:
        """Return the law of X_time as weights, and what they sum to."""
        weights, total = self.initial.weights, self.initial.total
        for laws in self.moves[:time]:
            weights, total = weights @ laws.weights, total * laws.total
        return weights, total

    def _last_release(self, output: tuple[Any, ...], time: int) -> LastRelease:
        """Return the last release before `time`."""
        for earlier in range(time - 1, -1, -1):
            if output[earlier] is not SUPPRESSED:
                return earlier, self._position(output[earlier])
        return None

    def _position(self, symbol: Any) -> int:
        return self.belief.states.index(symbol)


def _weights(table: ArrayLike) -> Whole:
    """Return whole numbers in the proportions of the floats."""
    array = np.asarray(table, dtype=float)
    ratios = [value.as_integer_ratio() for value in array.ravel().tolist()]
    scale = max(denominator for _, denominator in ratios)  # powers of two
    weights = np.empty(len(ratios), dtype=object)
    weights[:] = [numerator * (scale // denominator) for numerator, denominator in ratios]
    return weights.reshape(array.shape)


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
