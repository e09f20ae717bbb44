"""A chain, the events to protect on it, and how likely an output may make them."""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs import Markov
from sfumato.inference.markov.events import TimedEvents
from sfumato.inference.markov.probabilities import reachable_states
from sfumato.questions import Events
from sfumato.values import FloatArray

ROUNDING = 1e-14
"""Two sides that differ by this factor count as equal: float64 cannot tell them apart."""


@attrs.frozen(eq=False)
class ProtectedChain:
    """Events whose posterior must stay below their limits, θ = Pr[A] + δ.

    Events with θ ≥ 1 cannot be breached and are left out; the others are sorted by time.

    Attributes
    ----------
    belief
        The chain.
    times, members, limits
        Time (E,), set of states (E, M) and θ (E,) of each event.
    outlook
        Pr[A | X_t = k] for every event at or after t, (E, T, M); zero before.
    possible
        Whether Pr[X_t = k] > 0, (T, M).
    may_start
        Which (t, k) may be released if all later states are suppressed, (T, M): releasing k must
        not reveal an event of that very time, and Pr[A | X_t = k] ≤ θ must hold for every later
        event. This is necessary whatever happens later: the posterior after the release alone is
        a convex combination of the posteriors after its continuations.
    """

    belief: Markov
    times: NDArray[np.intp]
    members: NDArray[np.bool_]
    limits: FloatArray
    outlook: FloatArray
    possible: NDArray[np.bool_]
    may_start: NDArray[np.bool_]

    @classmethod
    def of(cls, belief: Markov, question: Events, delta: float) -> ProtectedChain:
        """Read the events of a question."""
        events = TimedEvents.from_masks(belief, question.masks)
        limits = events.priors(belief) + delta
        kept = np.flatnonzero(limits * (1.0 + ROUNDING) < 1.0)
        kept = kept[np.argsort(events.times[kept], kind="stable")]
        times, members = events.times[kept], events.members[kept]
        outlook, possible = _outlook(belief, times, members), reachable_states(belief)
        may_start = _may_start(outlook, times, limits[kept]) | ~possible
        return cls(belief, times, members, limits[kept], outlook, possible, may_start)

    @property
    def width(self) -> int:
        """The largest number of states in one event."""
        return int(self.members.sum(axis=1).max(initial=1))

    def before(self, time: int) -> int:
        """Return how many events lie before `time`; they come first."""
        return int(np.searchsorted(self.times, time))

    def coming(self, time: int) -> NDArray[np.intp]:
        """Return the events at `time` or later that some state of then makes too likely."""
        first = self.before(time)
        risky = (self.outlook[first:, time] > self.limits[first:, None]).any(axis=1)
        return np.asarray(first + np.flatnonzero(risky))


def _may_start(
    outlook: FloatArray, times: NDArray[np.intp], limits: FloatArray
) -> NDArray[np.bool_]:
    """Return where no event at that time or later exceeds its limit, (T, M)."""
    fine = outlook <= (limits * (1.0 + ROUNDING))[:, None, None]
    over = np.arange(outlook.shape[1]) > times[:, None]
    return np.asarray((fine | over[..., None]).all(axis=0))


def _outlook(belief: Markov, times: NDArray[np.intp], members: NDArray[np.bool_]) -> FloatArray:
    """Return Pr[X_{t_e} ∈ A_e | X_t = k], by r_t = P_t r_{t+1} backwards."""
    outlook = np.zeros((len(times), belief.steps, belief.state_count))
    outlook[np.arange(len(times)), times] = members
    for time in range(belief.steps - 2, -1, -1):
        later = times > time
        outlook[later, time] = outlook[later, time + 1] @ belief.matrix(time).T
    return outlook


def may_start_for_all(chains: tuple[ProtectedChain, ...]) -> NDArray[np.bool_]:
    """Return which (t, k) may be released under every member of a class, (T, M)."""
    return np.asarray(np.logical_and.reduce([chain.may_start for chain in chains]))
