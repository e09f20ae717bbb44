"""All segments of a memoryless suppression at once, in one matrix of ordinary numbers.

    K[(u, i), (v, j)] = Pr[X_v = j, ⊥ at u+1, ..., v−1 | X_u = i]

with one more row for the beginning and one more column for the end of the trace. The joint
probability with an event inside is a product, K[(u, i), (t, s)] · p_t(s) · K[(t, s), (v, j)].
"""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs import Markov
from sfumato.inference.markov.events import TimedEvents
from sfumato.values import FloatArray

SMALLEST = 1e-150
"""Kernels above this multiply in pairs without underflow."""

SMALLEST_FACTOR = 1e-75
"""So do probabilities above this with one another, and their products with kernels."""


@attrs.frozen(eq=False)
class SegmentKernels:
    """The kernels of a chain under a table of suppression probabilities.

    Attributes
    ----------
    belief
        The chain.
    chances
        The table, (T, M).
    places
        The releases (u, i) that have a row, as u·M + i, in order.
    matrix
        K, (1 + places, T·M + 1): row 0 is the beginning, then one for each place; column
        v·M + j is the release of j at v, the last column the end. Zero where v ≤ u.

    Examples
    --------
    >>> chain = Markov([0.5, 0.5], [[0.9, 0.1], [0.0, 1.0]], steps=2)
    >>> table = np.array([[1.0, 0.5], [1.0, 1.0]])
    >>> SegmentKernels.of(chain, table, np.arange(4)).matrix[0].round(3).tolist()
    [0.5, 0.5, 0.45, 0.3, 0.75]
    """

    belief: Markov
    chances: FloatArray
    places: NDArray[np.intp]
    matrix: FloatArray

    @classmethod
    def of(cls, belief: Markov, chances: FloatArray, places: NDArray[np.intp]) -> SegmentKernels:
        """Compute the kernels from all places side by side, step by step."""
        steps, count = chances.shape
        matrix = np.zeros((1 + len(places), steps * count + 1))
        laws = matrix[:, :-1].reshape(len(matrix), steps, count)  # a view: (row, v, j)
        laws[0, 0] = belief.initial
        begun = (1 + np.searchsorted(places, np.arange(steps) * count)).tolist()  # by each time
        last = begun[-1]
        times, states = np.divmod(places[: last - 1], count)
        laws[np.arange(1, last), times + 1] = belief.transitions[times, states]
        hidden = chances[:-1, :, None] * belief.transitions
        for time, now in enumerate(begun[:-1]):
            np.matmul(laws[:now, time], hidden[time], out=laws[:now, time + 1])
        matrix[:last, -1] = laws[:last, -1] @ chances[-1]
        matrix[last:, -1] = 1.0
        return cls(belief, chances, places, matrix)

    def are_ordinary(self) -> bool:
        """Whether no product can have vanished by underflow.

        Every kernel is a sum of products of an earlier kernel with the two factors of one step.
        """
        chances = self.chances.min(initial=1.0, where=self.chances > 0.0)
        if min(chances, self.belief.smallest_probability) <= SMALLEST_FACTOR:
            return False
        large = np.count_nonzero(self.matrix > SMALLEST)
        return bool(large == np.count_nonzero(self.matrix > 0.0))

    def rows(self, places: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the rows of some of the places."""
        return np.asarray(1 + np.searchsorted(self.places, places))

    def block(self, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> FloatArray:
        """Return a copy of these rows and columns of the matrix."""
        places = rows[:, None] * self.matrix.shape[1] + columns
        return np.asarray(self.matrix.ravel()[places])


TINY = 1e-140
"""In place of a limit of zero: no ordinary product is that small beside its segment."""

CACHED = 50_000
"""How many products are compared at a time: they should stay in the processor's cache."""

MANY = 12
"""With so many possible releases per state, one step on is looked at before all of them."""


def kernels_keep(
    belief: Markov,
    chances: FloatArray,
    possible: NDArray[np.bool_],
    events: TimedEvents,
    limits: FloatArray,
) -> bool | None:
    """Whether Pr[event | o] ≤ its limit for every output of a memoryless suppression.

    `possible` says which states the chain can be in, (T, M).
    Returns None where a product might have vanished by underflow: then nothing is decided.

    Examples
    --------
    >>> chain = Markov([0.5, 0.5], np.empty((0, 2, 2)))
    >>> event = TimedEvents.from_masks(chain, [[[True, False]]])
    >>> possible = np.array([[True, True]])
    >>> kernels_keep(chain, np.array([[1.0, 0.5]]), possible, event, np.array([0.7]))
    True
    """
    bound = np.flatnonzero(limits < 1.0)
    bound = bound[np.argsort(events.times[bound], kind="stable")]
    kept, limits = events.only(bound), limits[bound]
    shown = (chances < 1.0) & possible
    if (kept.members & shown[kept.times]).any():
        return False
    released = np.flatnonzero(shown)
    numbers, states = np.nonzero(kept.members)
    shown[kept.times[numbers], states] = True  # events have rows as well
    kernels = SegmentKernels.of(belief, chances, np.flatnonzero(shown))
    if not kernels.are_ordinary():
        return None
    if len(released) > MANY * chances.shape[1]:
        left = np.flatnonzero(~_kept_whatever_follows(kernels, released, kept, limits))
        kept, limits = kept.only(left), limits[left]
    return len(limits) == 0 or _Passages.of(kernels, released, kept, limits).keep()


def _kept_whatever_follows(
    kernels: SegmentKernels, released: NDArray[np.intp], events: TimedEvents, limits: FloatArray
) -> NDArray[np.bool_]:
    """Return which events are kept for each state that may follow them, released or not, (E,).

    An end after more steps is a mixture of these: with k the state that follows,

        Pr[event, ⊥…⊥, end | start] = Σ_k Pr[event, k | start] p(k) Pr[⊥…⊥, end | k],

    and likewise without the event, so that the inequalities add up.
    """
    steps, count = kernels.chances.shape
    rows = np.append(0, kernels.rows(released))
    before = 1 + np.searchsorted(released, events.times * count)
    over = np.ones((count, 1))  # after the last time only the end can follow
    fine = np.empty(len(limits), dtype=bool)
    for number, (time, states) in enumerate(zip(events.times, events.members, strict=True)):
        starts, inside = rows[: before[number]], np.flatnonzero(states)
        into = kernels.block(starts, time * count + inside) * kernels.chances[time, inside]
        follow = kernels.belief.matrix(time) if time + 1 < steps else over
        total = kernels.matrix[starts, (time + 1) * count : (time + 2) * count]
        fine[number] = (into @ follow[inside] <= limits[number] * total).all()
    return fine


@attrs.frozen(eq=False)
class _Passages:
    """Segments from A starts to B ends, and how they pass through the P states of E events.

    Attributes
    ----------
    segments
        Pr[⊥…⊥, end | start], (A, B).
    into
        Pr[⊥…⊥, state, ⊥ | start] / limit, (P, A): dividing here spares a product for every pair.
    out_of
        Pr[⊥…⊥, end | state], (P, B).
    cuts
        Where the states of each event begin, and the last ones end, (E + 1,).
    starts, onward
        The number of starts before each event, and the first end after it, (E,).
    """

    segments: FloatArray
    into: FloatArray
    out_of: FloatArray
    cuts: NDArray[np.intp]
    starts: list[int]
    onward: list[int]

    @classmethod
    def of(
        cls,
        kernels: SegmentKernels,
        released: NDArray[np.intp],
        events: TimedEvents,
        limits: FloatArray,
    ) -> _Passages:
        """Choose the rows and columns of releases and events."""
        count = kernels.chances.shape[1]
        numbers, states = np.nonzero(events.members)
        inside = events.times[numbers] * count + states
        scale = kernels.chances.ravel()[inside] / np.maximum(limits, TINY)[numbers]
        starts = np.append(0, kernels.rows(released))
        ends = np.append(released, kernels.matrix.shape[1] - 1)
        return cls(
            kernels.block(starts, ends),
            (kernels.block(starts, inside) * scale).T,
            kernels.block(kernels.rows(inside), ends),
            np.searchsorted(numbers, np.arange(len(limits) + 1)),
            (1 + np.searchsorted(released, events.times * count)).tolist(),
            np.searchsorted(released, (events.times + 1) * count).tolist(),
        )

    def keep(self) -> bool:
        """Whether Σ into · out_of ≤ segments for every event, start and end around it.

        Events are taken in runs. A start that is not before an event, or an end that is not after
        it, has kernels of zero, so that a run may look at all that any of its events needs.
        """
        several = len(self.into) > len(self.starts)
        stride = max(1, CACHED // self.segments.size)
        for first in range(0, len(self.starts), stride):
            last = min(first + stride, len(self.starts)) - 1
            starts, onward = self.starts[last], self.onward[first]
            part = slice(self.cuts[first], self.cuts[last + 1])
            joint = self.into[part, :starts, None] * self.out_of[part, None, onward:]
            if several:  # sum over the states of each event
                joint = np.add.reduceat(joint, self.cuts[first : last + 1] - part.start)
            if (joint > self.segments[:starts, onward:]).any():
                return False
        return True
