"""Whether a memoryless suppression keeps all events below their limits, in ordinary numbers."""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs.markov import Markov
from sfumato.inference.segment_kernels import SegmentKernels
from sfumato.inference.timed_events import TimedEvents
from sfumato.probabilities import FloatArray

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
