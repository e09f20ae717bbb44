"""Segments of suppressed steps that are still open, and the events inside them."""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.inference.log_products import log_of, log_product, log_sum, row_maxima
from sfumato.probabilities import FloatArray

IntArray = NDArray[np.intp]

NO_RELEASE = -1
"""The code of the beginning, before any release; a release has the code time · M + state."""


@attrs.define(eq=False)
class OpenSegments:
    """A starts under each of G tables of suppression probabilities, at one time.

    Laws are logarithms, scaled by factors that cancel in
    Pr[event, state] / Pr[state] = Σ_k weights · rows / arrivals.

    Parameters
    ----------
    starts
        The code of the release that opened each segment, (G · A,).
    arrivals
        Law of the state on arrival, all since the start being suppressed, (G, A, M).
    events
        The numbers of the E events met so far.
    rows
        Law of the state on arrival given the k-th state of an event, (K, G, E, M).
    weights
        Probability of the k-th state of an event, (K, G, A, E).

    Examples
    --------
    >>> segments = OpenSegments.begin(np.array([NO_RELEASE]), np.log([[[0.5, 0.5]]]), 1)
    >>> segments.suppress(np.log([[1.0, 0.5]]))
    >>> segments.begin_events(np.array([0]), np.array([[True, False]]))
    >>> np.exp(segments.final_log_posteriors()).round(12).tolist()
    [[0.666666666667]]
    """

    starts: IntArray
    arrivals: FloatArray
    events: IntArray
    rows: FloatArray
    weights: FloatArray

    @classmethod
    def begin(cls, starts: IntArray, arrivals: FloatArray, width: int) -> OpenSegments:
        """Open segments under tables of their own, for events of at most `width` states."""
        tables, count, states = arrivals.shape
        return cls(
            starts,
            arrivals,
            np.empty(0, dtype=np.intp),
            np.empty((width, tables, 0, states)),
            np.empty((width, tables, count, 0)),
        )

    def reached(self, may_release: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which states each segment may be ended by, (G · A, M)."""
        reached = (self.arrivals > -np.inf) & may_release[:, None]
        return np.asarray(reached.reshape(len(self.starts), -1))

    def log_posteriors(self, may_release: NDArray[np.bool_]) -> FloatArray:
        """Return the largest log Pr[event | segment] over releases that end it, (G · A, E)."""
        # Infinity where the segment cannot end: the ratio is zero there.
        possible = (self.arrivals > -np.inf) & may_release[:, None]
        ends = np.where(possible, self.arrivals, np.inf)
        return self._largest(np.moveaxis(ends, -1, 0), np.moveaxis(self.rows, -1, 0))

    def final_log_posteriors(self) -> FloatArray:
        """Return log Pr[event | segment] for segments that last until the trace is over."""
        ends = log_sum(self.arrivals)
        ends = np.where(ends > -np.inf, ends, np.inf)
        return self._largest(ends[None], log_sum(self.rows)[None])

    def _largest(self, ends: FloatArray, rows: FloatArray) -> FloatArray:
        """Maximise Σ_k over the leading axis: ends (M, G, A), rows (M, K, G, E)."""
        used = (ends < np.inf).any(axis=(1, 2))
        pairs = zip(ends[used, :, :, None], rows[used][:, :, :, None], strict=True)
        if len(self.weights) == 1:  # one state per event: nothing to sum, so no exponentials
            largest = np.full(self.weights.shape[1:], -np.inf)
            ratio = np.empty_like(largest)
            for end, row in pairs:
                np.subtract(row[0], end, out=ratio)
                np.maximum(largest, ratio, out=largest)
            largest += self.weights[0]
        else:
            largest = np.zeros(self.weights.shape[1:])
            for end, row in pairs:
                np.maximum(largest, np.exp(self.weights + (row - end)).sum(axis=0), out=largest)
            largest = log_of(largest)
        return largest.reshape(len(self.starts), -1)

    def suppress(self, log_chances: FloatArray) -> None:
        """Condition on suppression now, with log-probabilities (G, M)."""
        self.arrivals = self.arrivals + log_chances[:, None]
        self.rows = self.rows + log_chances[:, None]

    def begin_events(self, events: IntArray, members: NDArray[np.bool_]) -> None:
        """Follow the events of the present time, (E, M) sets of states, from here on."""
        width, tables, _, states = self.rows.shape
        rows = np.full((width, tables, len(events), states), -np.inf)
        weights = np.full((width, *self.arrivals.shape[:2], len(events)), -np.inf)
        for number, member in enumerate(members):
            for k, state in enumerate(np.flatnonzero(member)):
                rows[k, :, number, state] = 0.0
                weights[k, :, :, number] = self.arrivals[:, :, state]
        self.events = np.concatenate([self.events, events])
        self.rows = np.concatenate([self.rows, rows], axis=2)
        self.weights = np.concatenate([self.weights, weights], axis=3)

    def exchange_starts(self, codes: IntArray, state_count: int) -> None:
        """Under a single table: drop segments that are impossible now, open those released now.

        No event so far lies inside a segment that opens now.
        """
        alive = (self.arrivals[0] > -np.inf).any(axis=-1)
        arrivals = np.full((1, len(codes), state_count), -np.inf)
        arrivals[0, np.arange(len(codes)), codes % state_count] = 0.0
        weights = np.full((len(self.weights), 1, len(codes), len(self.events)), -np.inf)
        self.starts = np.concatenate([self.starts[alive], codes])
        self.arrivals = np.concatenate([self.arrivals[:, alive], arrivals], axis=1)
        self.weights = np.concatenate([self.weights[:, :, alive], weights], axis=2)

    def step(self, matrix: FloatArray, smallest: float) -> None:
        """Move all laws one step on, and scale them."""
        self.arrivals = log_product(self.arrivals, matrix, smallest)
        self.rows = log_product(self.rows, matrix, smallest)
        scales, row_scales = row_maxima(self.arrivals), row_maxima(self.rows)
        self.arrivals = self.arrivals - scales
        self.rows = self.rows - row_scales
        self.weights = self.weights + (row_scales[:, :, None, :, 0] - scales)
