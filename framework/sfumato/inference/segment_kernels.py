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
from sfumato.inference.timed_events import TimedEvents
from sfumato.probabilities import FloatArray

SMALLEST = 1e-150
"""Kernels and factors above this multiply in pairs without underflow."""


@attrs.frozen(eq=False)
class SegmentKernels:
    """The kernels of a chain under a table of suppression probabilities.

    Attributes
    ----------
    chances
        The table, (T, M).
    matrix
        K, (1 + T·M, T·M + 1): row 0 is the beginning, row 1 + u·M + i the release of i at u;
        column v·M + j the release of j at v, the last column the end. Zero where v ≤ u.

    Examples
    --------
    >>> chain = Markov([0.5, 0.5], [[0.9, 0.1], [0.0, 1.0]], steps=2)
    >>> SegmentKernels.of(chain, np.array([[1.0, 0.5], [1.0, 1.0]])).matrix[0].round(3).tolist()
    [0.5, 0.5, 0.45, 0.3, 0.75]
    """

    chances: FloatArray
    matrix: FloatArray

    @classmethod
    def of(cls, belief: Markov, chances: FloatArray) -> SegmentKernels:
        """Compute all kernels, step by step for all starts together."""
        steps, count = chances.shape
        matrix = np.zeros((1 + steps * count, steps * count + 1))
        matrix[0, :count] = belief.initial
        waiting = np.empty((1 + steps * count, count))
        for time in range(steps):
            rows, column = 1 + time * count, time * count
            np.multiply(matrix[:rows, column : column + count], chances[time], out=waiting[:rows])
            waiting[rows : rows + count] = np.eye(count)
            if time + 1 < steps:
                reached = waiting[: rows + count] @ belief.matrix(time)
                matrix[: rows + count, column + count : column + 2 * count] = reached
        matrix[:, -1] = waiting.sum(axis=1)
        return cls(chances, matrix)

    def are_ordinary(self) -> bool:
        """Whether no product can have vanished by underflow."""
        smallest = self.matrix.min(initial=1.0, where=self.matrix > 0.0)
        factors = self.chances.min(initial=1.0, where=self.chances > 0.0)
        return bool(min(smallest, factors) > SMALLEST)

    def keep(self, events: TimedEvents, limits: FloatArray, possible: NDArray[np.bool_]) -> bool:
        """Whether Pr[event | o] ≤ its limit for every output; what is impossible is not asked.

        Parameters
        ----------
        events, limits
            E events and their limits.
        possible
            Which states the chain can reach, (T, M).
        """
        bound = limits < 1.0
        times, members, limits = events.times[bound], events.members[bound], limits[bound]
        shown = (self.chances < 1.0) & possible
        if (members & shown[times]).any():
            return False
        released = np.flatnonzero(shown.ravel())
        starts = np.concatenate([[0], 1 + released])
        ends = np.append(released, self.matrix.shape[1] - 1)
        segments = self.matrix[starts[:, None], ends]
        count = self.chances.shape[1]
        # Starts before each event, ends after it.
        rows = 1 + np.searchsorted(released, times * count)
        columns = np.searchsorted(released, (times + 1) * count)
        numbers, states = np.nonzero(members)
        places = times[numbers] * count + states
        into = self.matrix[starts[:, None], places] * self.chances.flat[places]
        out_of = self.matrix[1 + places[:, None], ends]
        firsts = np.searchsorted(numbers, np.arange(len(times) + 1))
        for event, limit in enumerate(limits):
            part = slice(firsts[event], firsts[event + 1])
            before, after = into[: rows[event], part], out_of[part, columns[event] :]
            joint = before * after if len(after) == 1 else before @ after  # twice as fast
            if (joint > limit * segments[: rows[event], columns[event] :]).any():
                return False
        return True
