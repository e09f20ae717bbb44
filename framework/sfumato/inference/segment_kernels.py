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
from sfumato.probabilities import FloatArray

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
