"""All segments of a memoryless suppression at once, in one matrix of ordinary numbers.

    K[(u, i), (v, j)] = Pr[X_v = j, ⊥ at u+1, ..., v−1 | X_u = i]

with one more row for the beginning and one more column for the end of the trace. The joint
probability with an event inside is a product, K[(u, i), (t, s)] · p_t(s) · K[(t, s), (v, j)].
"""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs.markov import Markov
from sfumato.inference.reachable_states import reachable_states
from sfumato.inference.timed_events import TimedEvents
from sfumato.probabilities import FloatArray

SMALLEST = 1e-150
"""Kernels and factors above this multiply in pairs without underflow."""

TINY = 1e-140
"""In place of a limit of zero: no ordinary product is that small beside its segment."""


@attrs.frozen(eq=False)
class SegmentKernels:
    """The kernels of a chain under a table of suppression probabilities.

    Attributes
    ----------
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
    >>> SegmentKernels.of(chain, np.array([[1.0, 0.5], [1.0, 1.0]])).matrix[0].round(3).tolist()
    [0.5, 0.5, 0.45, 0.3, 0.75]
    """

    chances: FloatArray
    places: NDArray[np.intp]
    matrix: FloatArray

    @classmethod
    def of(
        cls, belief: Markov, chances: FloatArray, places: NDArray[np.intp] | None = None
    ) -> SegmentKernels:
        """Compute the kernels from some places, or from all, step by step side by side."""
        steps, count = chances.shape
        rows = np.arange(steps * count) if places is None else places
        matrix = np.zeros((1 + len(rows), steps * count + 1))
        matrix[0, :count] = belief.initial
        begun = 1 + np.searchsorted(rows, np.arange(steps) * count)  # rows before each time
        for time in range(steps - 1):
            here, after, later = time * count, (time + 1) * count, (time + 2) * count
            now, then = begun[time], begun[time + 1]
            step = belief.matrix(time)
            matrix[:now, after:later] = (matrix[:now, here:after] * chances[time]) @ step
            matrix[now:then, after:later] = step[rows[now - 1 : then - 1] - here]
        last = begun[-1]
        matrix[:last, -1] = matrix[:last, -1 - count : -1] @ chances[-1]
        matrix[last:, -1] = 1.0
        return cls(chances, rows, matrix)

    def are_ordinary(self) -> bool:
        """Whether no product can have vanished by underflow."""
        smallest = self.matrix.min(initial=1.0, where=self.matrix > 0.0)
        factors = self.chances.min(initial=1.0, where=self.chances > 0.0)
        return bool(min(smallest, factors) > SMALLEST)


def kernels_keep(
    belief: Markov, chances: FloatArray, events: TimedEvents, limits: FloatArray
) -> bool | None:
    """Whether Pr[event | o] ≤ its limit for every output of a memoryless suppression.

    Returns None where a product might have vanished by underflow: then nothing is decided.

    Examples
    --------
    >>> chain = Markov([0.5, 0.5], np.empty((0, 2, 2)))
    >>> event = TimedEvents.from_masks(chain, [[[True, False]]])
    >>> kernels_keep(chain, np.array([[1.0, 0.5]]), event, np.array([0.7]))
    True
    """
    bound = np.flatnonzero(limits < 1.0)
    bound = bound[np.argsort(events.times[bound], kind="stable")]
    times, members, limits = events.times[bound], events.members[bound], limits[bound]
    shown = (chances < 1.0) & reachable_states(belief)
    if (members & shown[times]).any():
        return False
    numbers, states = np.nonzero(members)
    inside = times[numbers] * chances.shape[1] + states
    released = np.flatnonzero(shown.ravel())
    shown[times[numbers], states] = True
    kernels = SegmentKernels.of(belief, chances, np.flatnonzero(shown.ravel()))
    if not kernels.are_ordinary():
        return None
    starts = np.concatenate([[0], 1 + np.searchsorted(kernels.places, released)])
    ends = np.append(released, kernels.matrix.shape[1] - 1)
    segments = kernels.matrix[starts[:, None], ends]
    # Dividing by the limits here spares a product for every segment below.
    scale = chances.flat[inside] / np.maximum(limits, TINY)[numbers]
    into = (kernels.matrix[starts[:, None], inside] * scale).T
    out_of = kernels.matrix[1 + np.searchsorted(kernels.places, inside)[:, None], ends]
    single = len(inside) == len(times)
    firsts = np.searchsorted(numbers, np.arange(len(times)))
    clock = np.arange(len(chances) + 1)
    before = 1 + np.searchsorted(released, clock * chances.shape[1])
    cuts = np.searchsorted(times[numbers], clock).tolist()
    for time in np.flatnonzero(np.diff(cuts)).tolist():
        part, onward = slice(cuts[time], cuts[time + 1]), before[time + 1] - 1
        joint = into[part, : before[time], None] * out_of[part, None, onward:]
        if not single:  # sum over the states of each event
            inner = firsts[(firsts >= part.start) & (firsts < part.stop)] - part.start
            joint = np.add.reduceat(joint, inner)
        if (joint > segments[: before[time], onward:]).any():
            return False
    return True
