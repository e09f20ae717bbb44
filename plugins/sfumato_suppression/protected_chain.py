"""A chain, the events to protect on it, and how far one suppression probability may be lowered.

Every privacy constraint of a segment is linear in each single probability p:

    $N_0 + p N_1 ≤ θ (D_0 + p D_1),$

N the joint probability with the event and D that of the segment, with all four terms sums of
non-negative products. If it holds at the present p, it holds down to $p = (N_0 − θ D_0) / (θ D_1 −
N_1)$, or down to zero where $N_0 ≤ θ D_0$. $N_0$ and $D_0$ are computed as sums that leave p's
state out, never by subtraction, so nothing cancels.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs import Markov
from sfumato.inference.markov.events import TimedEvents
from sfumato.inference.markov.probabilities import reachable_states
from sfumato.inference.markov.remembered import unmet_windows
from sfumato.inference.markov.segments import check_error, check_length
from sfumato.questions import Events
from sfumato.values import FloatArray

ROUNDING = 1e-14
"""Two sides that differ by this factor count as equal: float64 cannot tell them apart."""

LEAST_MARGIN = 1e-12
"""A probability strictly between 0 and 1 keeps at least this relative distance from its limit."""

SHORT, MANY = 3, 200
"""Up to so many states are tried in all orders; with so many places in time, in two only."""

FINEST = 1e-6
"""Probabilities are 0, 1 or at least this far from both: anything closer hides in rounding."""


@attrs.frozen(eq=False)
class ProtectedChain:
    """Events whose posterior must stay below their limits, θ = Pr[A] + δ.

    Events with θ ≥ 1 cannot be breached and are left out; the others are sorted by time.
    `may_start` says which (t, k) may be released if all later states are suppressed: releasing k
    must not reveal an event of that very time, and Pr[A | X_t = k] ≤ θ must hold for every later
    event. This is necessary whatever happens later: the posterior after the release alone is a
    convex combination of the posteriors after its continuations.
    """

    belief: Markov
    times: NDArray[np.intp]  # of each event, (E,)
    members: NDArray[np.bool_]  # its states then, (E, M)
    masks: NDArray[np.bool_]  # and at all times, (E, T, M)
    previous: NDArray[np.intp]  # the time before of the same window, −1 if there is none, (E,)
    limits: FloatArray  # θ, (E,)
    outlook: FloatArray  # Pr[A | X_t = k] for every event at or after t, (E, T, M); zero before
    possible: NDArray[np.bool_]  # whether Pr[X_t = k] > 0, (T, M)
    may_start: NDArray[np.bool_]  # (T, M)
    margin: float  # how far below its limit a posterior is kept: more than the check may err

    @classmethod
    def of(cls, belief: Markov, question: Events, delta: float) -> ProtectedChain:
        """Read the events of a question.

        A window counts from each of its times on, with the limit of the window: this is necessary,
        as a part of it is no more likely than all of it, but not enough.
        """
        check_length(belief)
        single = question.single_times() if question.has_windows else question
        events, masks = TimedEvents.from_masks(belief, single.kept), single.masks
        limits, previous = events.priors(belief) + delta, np.full(len(masks), -1)
        if question.has_windows:
            window = np.nonzero(question.masks.any(axis=2))[0]
            limits = (1.0 - unmet_windows(belief, question.masks))[window] + delta
            after = np.arange(belief.steps) >= events.times[:, None]
            masks = question.masks[window] & after[..., None]
            previous[1:] = np.where(np.diff(window) == 0, events.times[:-1], -1)
        kept = np.flatnonzero(limits * (1.0 + ROUNDING) < 1.0)
        kept = kept[np.argsort(events.times[kept], kind="stable")]
        times, members, limits = events.times[kept], events.members[kept], limits[kept]
        masks, previous = masks[kept], previous[kept]
        outlook, possible = _outlook(belief, times, members), reachable_states(belief)
        fine = outlook <= (limits * (1.0 + ROUNDING))[:, None, None]
        over = np.arange(belief.steps) > times[:, None]
        may_start = (fine | over[..., None]).all(axis=0) | ~possible
        margin = max(LEAST_MARGIN, 4.0 * check_error(belief))
        return cls(
            belief, times, members, masks, previous, limits, outlook, possible, may_start, margin
        )

    def before(self, time: int) -> int:
        """Return how many events lie before `time`; they come first."""
        return int(np.searchsorted(self.times, time))

    def coming(self, time: int) -> NDArray[np.intp]:
        """Return the events at `time` or later that some state of then makes too likely."""
        first = self.before(time)
        risky = (self.outlook[first:, time] > self.limits[first:, None]).any(axis=1)
        return np.asarray(first + np.flatnonzero(risky))


Chains = Sequence[ProtectedChain]
"""The members of a prior class."""

Members = Sequence[tuple[Markov, Events]]
"""The same as beliefs, each with its question."""


def canonical_order(members: Members) -> NDArray[np.intp]:
    """Return the states in an order that does not depend on how they are listed.

    States are told apart by their probabilities and events, then by how they move to states that
    are told apart already, until nothing more is. A search that tries one state after another then
    finds the same, whatever the list.
    """
    count = members[0][0].state_count
    own = [(b.marginals().T, question.masks.any(axis=0).T) for b, question in members]
    told = np.concatenate([part for parts in own for part in parts], axis=1).round(12)
    colours = np.unique(told, axis=0, return_inverse=True)[1].ravel()
    moves = np.concatenate([belief.transitions for belief, _ in members]).round(12)
    for _ in range(count):
        order = np.lexsort((np.broadcast_to(colours, moves.shape), moves))
        ways = [np.take_along_axis(moves, order, axis=2), colours[order]]
        rows = [way.swapaxes(0, 1).reshape(count, -1) for way in ways]
        refined = np.column_stack([colours, *rows])
        finer = np.unique(refined, axis=0, return_inverse=True)[1].ravel()
        if finer.max() == colours.max():
            break
        colours = finer
    return np.argsort(colours, kind="stable")


def orders_to_try(members: Members) -> list[NDArray[np.intp]]:
    """Return some orders of the states, the same however they are listed.

    A greedy search finds something else in each of them. All are tried for up to three states, of
    more six, and of many two: the canonical one and its reverse first, then some shuffled once.
    """
    order = canonical_order(members)
    if len(order) <= SHORT:
        return [order[list(ways)] for ways in itertools.permutations(range(len(order)))]
    rng = np.random.default_rng(0)
    few = 0 if len(order) * members[0][0].steps > MANY else 4
    return [order, order[::-1], *(order[rng.permutation(len(order))] for _ in range(few))]


def reorder(members: Members, order: NDArray[np.intp]) -> list[tuple[Markov, Events]]:
    """Return the members with their states in another order, and each event once."""
    masks = [np.unique(question.masks[..., order], axis=0) for _, question in members]
    events = [Events(each, tuple(range(len(each)))) for each in masks]
    beliefs = [belief.permuted(order.tolist()) for belief, _ in members]
    return list(zip(beliefs, events, strict=True))


def _outlook(belief: Markov, times: NDArray[np.intp], members: NDArray[np.bool_]) -> FloatArray:
    """Return Pr[X_{t_e} ∈ A_e | X_t = k], by r_t = P_t r_{t+1} backwards."""
    outlook = np.zeros((len(times), belief.steps, belief.state_count))
    outlook[np.arange(len(times)), times] = members
    for time in range(belief.steps - 2, -1, -1):
        later = times > time
        outlook[later, time] = outlook[later, time + 1] @ belief.matrix(time).T
    return outlook


def releasable(chains: Chains) -> NDArray[np.bool_]:
    """Return which (t, k) are possible in a class and may be released under all of it, (T, M)."""
    possible = np.logical_or.reduce([chain.possible for chain in chains])
    return np.asarray(np.logical_and.reduce([possible, *(chain.may_start for chain in chains)]))


@attrs.frozen(eq=False)
class Line:
    """Constraints N₀ + p N₁ ≤ θ (D₀ + p D₁) for each of G groups; arrays are (G, C)."""

    joint_without: FloatArray
    joint_with: FloatArray
    bound_without: FloatArray
    bound_with: FloatArray
    margin: float

    @classmethod
    def join(cls, lines: Sequence[Line]) -> Line:
        """Return the constraints of all, of the same groups."""
        return cls(
            np.concatenate([line.joint_without for line in lines], axis=1),
            np.concatenate([line.joint_with for line in lines], axis=1),
            np.concatenate([line.bound_without for line in lines], axis=1),
            np.concatenate([line.bound_with for line in lines], axis=1),
            max(line.margin for line in lines),
        )

    def lowest(self, grid: NDArray[np.intp]) -> FloatArray:
        """Return the smallest p ≤ 1 that keeps all constraints of each group, (G,).

        It is a multiple of 1/d where `grid` (G,) has d > 0; there, one that holds up to rounding
        is enough.
        """
        excess = self.joint_without - self.bound_without * (1.0 - self.margin)
        relief = self.bound_with * (1.0 - self.margin) - self.joint_with
        needed = np.ones_like(excess)
        np.divide(excess, relief, out=needed, where=relief > 0.0)
        needed[self.joint_without <= self.bound_without * (1.0 + ROUNDING)] = 0.0
        lowest = np.minimum(needed, 1.0).max(axis=1, initial=0.0)
        lowest[lowest > 1.0 - FINEST] = 1.0
        lowest[(lowest > 0.0) & (lowest < FINEST)] = FINEST
        fineness = np.maximum(grid, 1)
        below = np.floor(lowest * fineness + 1e-9) / fineness
        # At zero the constraints hold only if that is the lowest.
        fits = (below >= lowest) | ((below > 0.0) & self._hold(below))
        above = np.minimum((np.floor(lowest * fineness) + 1) / fineness, 1.0)
        return np.asarray(np.where(grid > 0, np.where(fits, below, above), lowest))

    def _hold(self, chances: FloatArray) -> NDArray[np.bool_]:
        """Return whether all constraints hold at p = `chances` (G,), up to rounding."""
        p = chances[:, None]
        bound = (self.bound_without + p * self.bound_with) * (1.0 + ROUNDING)
        return np.asarray((self.joint_without + p * self.joint_with <= bound).all(axis=1))
