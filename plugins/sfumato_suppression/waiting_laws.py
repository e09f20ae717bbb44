"""Where the chain may be while nothing is released, and the events that may have happened."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.probabilities import FloatArray
from sfumato_suppression.protected_chain import ROUNDING, ProtectedChain


class WaitingLaws:
    """G segments that are open now, each under its own table of suppression probabilities.

    `arrivals` (G, M) is the law of the state now, all since the start being suppressed.
    The joint law with an earlier event e is Σ_m weights[m, g, e] · rows[m, g, e, :], where rows
    is the law of the state now given the m-th state of the event.
    All are scaled at each step; the scales cancel in every comparison of a segment with itself.
    `mass` (G,) keeps the true probability of the open segment.

    Parameters
    ----------
    chain
        The chain and its events.
    begin
        The first time of the segments; events before it are left out.
    arrivals
        Laws of the first state of each segment, (G, M).
    """

    def __init__(self, chain: ProtectedChain, begin: int, arrivals: FloatArray) -> None:
        self.chain = chain
        self._first = chain.before(begin)
        self.limits = chain.limits[self._first :]
        groups, states = arrivals.shape
        self.arrivals = np.array(arrivals)
        self._weights: FloatArray = np.zeros((chain.width, groups, len(self.limits)))
        self._rows: FloatArray = np.zeros((chain.width, groups, len(self.limits), states))
        self.mass: FloatArray = np.ones(groups)

    def _before(self, time: int) -> int:
        """Return how many of the events that are followed lie before `time`."""
        return self.chain.before(time) - self._first

    def risks(self, time: int) -> FloatArray:
        """Return Pr[event, X_time = k, segment] for all events and states, (G, E, M).

        For events still to come: as if all later states were suppressed.
        """
        past = self._before(time)
        joint = np.empty((len(self.arrivals), len(self.limits), self.arrivals.shape[1]))
        joint[:, :past] = self._past(past)
        outlook = self.chain.outlook[self._first + past :, time]
        np.multiply(self.arrivals[:, None], outlook, out=joint[:, past:])
        return joint

    def may_end(self, time: int) -> NDArray[np.bool_]:
        """Return which releases now keep all earlier events of the segments private, (G, M)."""
        past = self._before(time)
        limits = self.limits[:past, None] * (1.0 + ROUNDING)
        return np.asarray((self._past(past) <= limits * self.arrivals[:, None]).all(axis=1))

    def _past(self, count: int) -> FloatArray:
        """Return the joint laws with the first events, (G, count, M)."""
        parts = self._weights[..., :count, None] * self._rows[:, :, :count]
        return parts[0] if len(parts) == 1 else np.asarray(parts.sum(axis=0))

    def suppress(self, time: int, chances: FloatArray) -> None:
        """Condition on suppression now, with probabilities (G, M); follow the events of now."""
        past = self._before(time)
        self.arrivals *= chances
        self._rows[:, :, :past] *= chances[:, None]
        for event in range(past, self._before(time + 1)):
            for m, state in enumerate(np.flatnonzero(self.chain.members[self._first + event])):
                self._rows[m, :, event, state] = 1.0
                self._weights[m, :, event] = self.arrivals[:, state]

    def step(self, time: int) -> None:
        """Move one step on, and scale."""
        matrix = self.chain.belief.matrix(time)
        past = self._before(time + 1)
        self.arrivals = self.arrivals @ matrix
        rows = self._rows[:, :, :past] @ matrix
        scale = _positive(self.arrivals.sum(axis=-1))
        row_scale = _positive(rows.sum(axis=-1))
        self.arrivals /= scale[:, None]
        self.mass *= scale
        np.divide(rows, row_scale[..., None], out=self._rows[:, :, :past])
        self._weights[..., :past] *= row_scale / scale[:, None]

    def ends_privately(self) -> NDArray[np.bool_]:
        """Return whether all events are private once the trace is over, (G,)."""
        joint = (self._weights * self._rows.sum(axis=-1)).sum(axis=0)
        limits = self.limits * (1.0 + ROUNDING)
        fine = joint <= limits * self.arrivals.sum(axis=-1)[:, None]
        return np.asarray(fine.all(axis=1))


def _positive(sums: FloatArray) -> FloatArray:
    """Return sums to divide by; an impossible segment stays at zero."""
    return np.asarray(np.where(sums > 0.0, sums, 1.0))
