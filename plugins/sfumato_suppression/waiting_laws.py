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

    An event is followed until no state now makes it likelier than its limit. From then on nothing
    does: whatever is seen later, its posterior is an average of those given the state now.

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
        self._time = begin
        groups, states = arrivals.shape
        self.arrivals = np.array(arrivals)
        self.mass: FloatArray = np.ones(groups)
        self._limits: FloatArray = np.empty(0)  # of the events that are followed
        self._weights: FloatArray = np.empty((chain.width, groups, 0))
        self._rows: FloatArray = np.empty((chain.width, groups, 0, states))
        self._past: FloatArray = np.empty((groups, 0, states))  # joint laws with those events

    def risks(self) -> tuple[FloatArray, FloatArray]:
        """Return Pr[event, X = k now, segment], (G, E, M), and the limits of the events, (E,).

        For events still to come: as if all later states were suppressed. Events that no state of
        now makes likelier than their limit are left out.
        """
        coming = self.chain.coming(self._time)
        outlook = self.chain.outlook[coming, self._time]
        joint = np.concatenate([self._past, self.arrivals[:, None] * outlook], axis=1)
        return joint, np.concatenate([self._limits, self.chain.limits[coming]])

    def may_end(self) -> NDArray[np.bool_]:
        """Return which releases now keep all earlier events of the segments private, (G, M)."""
        limits = self._limits[:, None] * (1.0 + ROUNDING)
        return np.asarray((self._past <= limits * self.arrivals[:, None]).all(axis=1))

    def suppress(self, chances: FloatArray) -> None:
        """Condition on suppression now, with probabilities (G, M); follow the events of now."""
        self.arrivals *= chances
        self._rows *= chances[:, None]
        first, last = self.chain.before(self._time), self.chain.before(self._time + 1)
        rows = np.zeros((*self._rows.shape[:2], last - first, self._rows.shape[3]))
        weights = np.zeros(rows.shape[:3])
        for number, members in enumerate(self.chain.members[first:last]):
            for m, state in enumerate(np.flatnonzero(members)):
                rows[m, :, number, state] = 1.0
                weights[m, :, number] = self.arrivals[:, state]
        self._limits = np.concatenate([self._limits, self.chain.limits[first:last]])
        self._rows = np.concatenate([self._rows, rows], axis=2)
        self._weights = np.concatenate([self._weights, weights], axis=2)

    def step(self) -> None:
        """Move one step on, and scale; let go of the events that are safe from now on."""
        matrix = self.chain.belief.matrix(self._time)
        self._time += 1
        self.arrivals = self.arrivals @ matrix
        self._rows = self._rows @ matrix
        scale = _positive(self.arrivals.sum(axis=-1))
        row_scale = _positive(self._rows.sum(axis=-1))
        self.arrivals /= scale[:, None]
        self.mass *= scale
        self._rows /= row_scale[..., None]
        self._weights *= row_scale / scale[:, None]
        self._past = (self._weights[..., None] * self._rows).sum(axis=0)
        open_ = (self._past > self._limits[:, None] * self.arrivals[:, None]).any(axis=(0, 2))
        if not open_.all():
            self._limits, self._past = self._limits[open_], self._past[:, open_]
            self._rows, self._weights = self._rows[:, :, open_], self._weights[:, :, open_]

    def ends_privately(self) -> NDArray[np.bool_]:
        """Return whether all events are private once the trace is over, (G,)."""
        joint = (self._weights * self._rows.sum(axis=-1)).sum(axis=0)
        limits = self._limits * (1.0 + ROUNDING)
        fine = joint <= limits * self.arrivals.sum(axis=-1)[:, None]
        return np.asarray(fine.all(axis=1))


def _positive(sums: FloatArray) -> FloatArray:
    """Return sums to divide by; an impossible segment stays at zero."""
    return np.asarray(np.where(sums > 0.0, sums, 1.0))
