"""Where the chain may be while nothing is released, and the events that may have happened."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.probabilities import FloatArray
from sfumato_suppression.protected_chain import ROUNDING, ProtectedChain


class WaitingLaws:
    """Segments that are open now: A starts under each of G tables of suppression probabilities.

    `arrivals` (G, A, M) is the law of the state now, all since the start being suppressed.
    The joint law with an earlier event e is Σ_m weights[m, g, a, e] · rows[m, g, e, :], where
    rows is the law of the state now given the m-th state of the event: starts share it.
    All are scaled at each step; the scales cancel in every comparison of a segment with itself.
    `mass` (G, A) keeps the true probability of the open segment.

    Parameters
    ----------
    chain
        The chain and its events.
    arrivals
        Laws of the first state of each segment, (G, A, M).
    """

    def __init__(self, chain: ProtectedChain, arrivals: FloatArray) -> None:
        groups, starts, states = arrivals.shape
        events, width = len(chain.times), chain.width
        self.chain = chain
        self.arrivals = np.array(arrivals)
        self.weights: FloatArray = np.zeros((width, groups, starts, events))
        self.rows: FloatArray = np.zeros((width, groups, events, states))
        self.mass: FloatArray = np.ones((groups, starts))

    def risks(self, time: int) -> FloatArray:
        """Return Pr[event, X_time = k, segment] for all events and states, (G, A, E, M).

        For events still to come: as if all later states were suppressed.
        """
        past = self.chain.before(time)
        joint = np.empty((*self.arrivals.shape[:2], len(self.chain.times), self.rows.shape[-1]))
        np.sum(
            self.weights[..., :past, None] * self.rows[:, :, None, :past],
            axis=0,
            out=joint[:, :, :past],
        )
        outlook = self.chain.outlook[past:, time]
        np.multiply(self.arrivals[:, :, None], outlook, out=joint[:, :, past:])
        return joint

    def may_end(self, time: int) -> NDArray[np.bool_]:
        """Return which releases now keep all earlier events of the segments private, (G, M)."""
        past = self.chain.before(time)
        joint = (self.weights[..., :past, None] * self.rows[:, :, None, :past]).sum(axis=0)
        limits = self.chain.limits[:past, None] * (1.0 + ROUNDING)
        fine = joint <= limits * self.arrivals[:, :, None]
        return np.asarray(fine.all(axis=(1, 2)))

    def totals(self, time: int, chances: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return Pr[event, ⊥ from now on] (G, A, E) and Pr[⊥ from now on] (G, A).

        With suppression probabilities `chances` (G, M) now and certain suppression later.
        """
        past = self.chain.before(time)
        hidden = self.arrivals * chances[:, None]
        sums = np.einsum("xgem,gm->xge", self.rows[:, :, :past], chances)
        joint = np.empty((*hidden.shape[:2], len(self.chain.times)))
        joint[..., :past] = (self.weights[..., :past] * sums[:, :, None]).sum(axis=0)
        joint[..., past:] = hidden @ self.chain.outlook[past:, time].T
        return joint, hidden.sum(axis=-1)

    def suppress(self, time: int, chances: FloatArray) -> None:
        """Condition on suppression now, with probabilities (G, M); follow the events of now."""
        self.arrivals *= chances[:, None]
        self.rows *= chances[None, :, None]
        for event in range(self.chain.before(time), self.chain.before(time + 1)):
            for m, state in enumerate(np.flatnonzero(self.chain.members[event])):
                self.rows[m, :, event, state] = 1.0
                self.weights[m, :, :, event] = self.arrivals[:, :, state]

    def open_segments(self, released: NDArray[np.bool_]) -> None:
        """Open a segment for each state that a table (G, M) may release now."""
        groups, states = released.shape
        opened = released[:, :, None] * np.eye(states)
        width, _, _, events = self.weights.shape
        none = np.zeros((width, groups, states, events))
        self.arrivals = np.concatenate([self.arrivals, opened], axis=1)
        self.weights = np.concatenate([self.weights, none], axis=2)
        self.mass = np.concatenate([self.mass, np.ones((groups, states))], axis=1)

    def step(self, time: int) -> None:
        """Move one step on, and scale."""
        matrix = self.chain.belief.matrix(time)
        past = self.chain.before(time + 1)
        self.arrivals = self.arrivals @ matrix
        self.rows[:, :, :past] = self.rows[:, :, :past] @ matrix
        scale = _positive(self.arrivals.sum(axis=-1))
        row_scale = _positive(self.rows[:, :, :past].sum(axis=-1))
        self.arrivals /= scale[..., None]
        self.mass *= scale
        self.rows[:, :, :past] /= row_scale[..., None]
        self.weights[..., :past] *= row_scale[:, :, None] / scale[..., None]

    def ends_privately(self) -> NDArray[np.bool_]:
        """Return whether all events are private once the trace is over, (G,)."""
        joint = (self.weights * self.rows.sum(axis=-1)[:, :, None]).sum(axis=0)
        limits = self.chain.limits * (1.0 + ROUNDING)
        fine = joint <= limits * self.arrivals.sum(axis=-1)[..., None]
        return np.asarray(fine.all(axis=(1, 2)))


def _positive(sums: FloatArray) -> FloatArray:
    """Return sums to divide by; an impossible segment stays at zero."""
    return np.asarray(np.where(sums > 0.0, sums, 1.0))
