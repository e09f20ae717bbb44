"""Suppression that depends on the last release: segments decouple, so each is its own problem.

A channel is private exactly when every segment is (`sfumato.inference.markov.segments`): a release
(or the beginning), suppressed steps, and the next release (or the end). Segments may be optimised
one by one, backwards in time, with the value to go

    $V(u, i) = ∑ Pr[next release is (t, k) | u, i] · (1 + V(t, k)).$

Each start keeps the best private table of several: those of the seeds, which makes V at least the
value of each seed (by induction backwards in time, as a private table stays available), and
greedy ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.channels import Suppression
from sfumato.values import FloatArray
from sfumato_suppression.protected_chain import (
    ROUNDING,
    Chains,
    Line,
    ProtectedChain,
    releasable,
)

BoolArray = NDArray[np.bool_]


ROUNDS = (((1, 1), (1, 0), (2, 1), (3, 1), (10, 1)), ((1, 1), (1, 0)))
"""The rules (grid, by cover) of the greedy searches of two rounds.

Probabilities are multiples of 1/grid: coarse grids leave slack for later times, and which is best
differs from start to start. States are lowered in the order of gain per cover lost, or of gain
alone; a suppressed state covers for an event as far as it makes it *less* likely. The second round
knows from the first what waiting is worth.
"""


# Tables by last release ---------------------------------------------------------------------------


def simulatable_channel(chains: Chains) -> Suppression:
    """Return the simulatable check as tables by last release.

    After the release of i at time u, everything is suppressed until the first time v at which
    *any* possible state may be released (Götz, Nath and Gehrke 2012, algorithm 4): every event
    between stays private given both releases, and all that may follow can be suppressed.
    As no decision depends on the state, suppressed steps tell nothing.
    """
    return _assemble(chains, lambda starts: _simulatable_tables(chains, starts))


def segmented_channel(chains: Chains, memoryless: FloatArray) -> Suppression:
    """Return the best tables by last release, seeded with memoryless tables (S, T, M)."""
    to_go = np.zeros((len(chains), *memoryless.shape[1:]))

    def best(starts: Starts) -> FloatArray:
        tables, values = _best_tables(chains, starts, memoryless, to_go)
        if starts.time >= 0:
            to_go[:, starts.time, starts.states] = values
        return tables

    return _assemble(chains, best)


@attrs.frozen(eq=False)
class Starts:
    """The releases at one time that may start a segment.

    Time −1 is the beginning of the trace, with a single state, 0, that means nothing.
    """

    time: int
    states: NDArray[np.intp]

    def laws(self, chains: Chains, rules: int = 1) -> list[WaitingLaws]:
        """Return the open segments under each chain, once for every rule, (rules · states).

        A start that a chain cannot reach is left at zero there: it constrains nothing.
        """
        opened = []
        for chain in chains:
            if self.time < 0:
                arrivals = chain.belief.initial[None]
            else:
                reached = chain.possible[self.time, self.states]
                arrivals = chain.belief.matrix(self.time)[self.states] * reached[:, None]
            opened.append(WaitingLaws(chain, self.time + 1, np.tile(arrivals, (rules, 1))))
        return opened


def _assemble(chains: Chains, tables: Callable[[Starts], FloatArray]) -> Suppression:
    """Return the channel of the tables after each start, the latest starts being asked first."""
    belief = chains[0].belief
    shape = (belief.steps, belief.state_count)
    after = np.ones((*shape, *shape))
    able = releasable(chains)
    for time in range(belief.steps - 2, -1, -1):
        starts = Starts(time, np.flatnonzero(able[time]))
        if len(starts.states):
            after[time, starts.states] = tables(starts)
    return Suppression(belief.states, tables(Starts(-1, np.zeros(1, dtype=np.intp)))[0], after)


def _simulatable_tables(chains: Chains, starts: Starts) -> FloatArray:
    """Return the tables after each start, (states, T, M): all ones but one row of zeros."""
    belief = chains[0].belief
    able = releasable(chains)
    tables = np.ones((len(starts.states), belief.steps, belief.state_count))
    waiting = np.ones(len(starts.states), dtype=bool)
    laws = starts.laws(chains)
    for time in range(starts.time + 1, belief.steps):
        release = waiting.copy()
        for law in laws:
            fine = law.may_end() & able[time]
            release &= (fine | (law.arrivals == 0.0)).all(axis=1)
        waiting &= ~release
        for law in laws:
            law.suppress_and_step(tables[:, time])
        tables[release, time] = 0.0
        if not waiting.any():
            break
    return tables


def _best_tables(
    chains: Chains, starts: Starts, memoryless: FloatArray, to_go: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the best table after each start, (states, T, M), and its values, (B, states)."""
    hidden = np.ones((len(starts.states), *memoryless.shape[1:]))
    best = hidden, np.zeros((len(chains), len(hidden)))  # private, and worth nothing
    seeds = [np.broadcast_to(table, hidden.shape) for table in memoryless]
    seeds = [_simulatable_tables(chains, starts), *seeds]
    best = _better(chains, starts, best, np.concatenate(seeds), to_go)
    waiting = np.zeros((len(chains), *hidden.shape))
    for rules in ROUNDS:
        greedy = _greedy_tables(chains, starts, np.array(rules), waiting, to_go)
        best = _better(chains, starts, best, greedy, to_go)
        waiting = _waiting_values(chains, starts, best[0], to_go)
    return best


def _better(
    chains: Chains,
    starts: Starts,
    best: tuple[FloatArray, FloatArray],
    candidates: FloatArray,
    to_go: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return the private table of the largest mean value so far, start by start."""
    tables = np.concatenate([best[0], candidates])
    values = _private_values(chains, starts, candidates, to_go)
    values = np.concatenate([best[1], values], axis=1)
    count = len(starts.states)
    scores = values.mean(axis=0).reshape(-1, count)
    winners = scores.argmax(axis=0) * count + np.arange(count)
    return tables[winners], values[:, winners]


def _private_values(
    chains: Chains, starts: Starts, tables: FloatArray, to_go: FloatArray
) -> FloatArray:
    """Return what tables (rules · states, T, M) are worth under each chain, (B, rules · states).

    The value of a table is Σ Pr[next release is (t, k)] · (1 + V(t, k)), with V the value to go,
    `to_go` (B, T, M); −1 if it is not private. All is computed from scratch, in sums of
    non-negative terms.
    """
    able = releasable(chains)
    laws = starts.laws(chains, len(tables) // len(starts.states))
    private = np.ones(len(tables), dtype=bool)
    values = np.zeros((len(chains), len(tables)))
    for time in range(starts.time + 1, tables.shape[1]):
        chances = tables[:, time]
        for number, law in enumerate(laws):
            ends = (chances < 1.0) & (law.arrivals > 0.0)
            private &= (~ends | (law.may_end() & able[time])).all(axis=1)
            worth = law.arrivals * (1.0 - chances) * (1.0 + to_go[number, time])
            values[number] += law.mass * worth.sum(axis=1)
            law.suppress_and_step(chances)
    for law in laws:
        private &= law.ends_privately()
    return np.where(private, values, -1.0)


def _waiting_values(
    chains: Chains, starts: Starts, tables: FloatArray, to_go: FloatArray
) -> FloatArray:
    """Return what is expected later if X_t = k is suppressed, (B, states, T, M).

    U(t, k) = Σ_j P_t(k, j) [(1 − p_{t+1}(j)) (1 + V(t+1, j)) + p_{t+1}(j) U(t+1, j)].
    """
    waiting = np.zeros((len(chains), *tables.shape))
    for number, chain in enumerate(chains):
        for time in range(chain.belief.steps - 2, starts.time, -1):
            chances = tables[:, time + 1]
            released = (1.0 - chances) * (1.0 + to_go[number, time + 1])
            worth = released + chances * waiting[number, :, time + 1]
            waiting[number, :, time] = worth @ chain.belief.matrix(time).T
    return waiting


def _greedy_tables(
    chains: Chains,
    starts: Starts,
    rules: NDArray[np.intp],
    waiting: FloatArray,
    to_go: FloatArray,
) -> FloatArray:
    """Return one table per rule and start, (rules · states, T, M), lowered time by time."""
    belief = chains[0].belief
    able = releasable(chains)
    laws = starts.laws(chains, len(rules))
    repeated = np.repeat(rules, len(starts.states), axis=0)
    tables = np.ones((len(repeated), belief.steps, belief.state_count))
    for time in range(starts.time + 1, belief.steps):
        allowed = np.broadcast_to(able[time], tables[:, time].shape)
        gains = np.zeros(allowed.shape)
        for number, law in enumerate(laws):
            allowed = allowed & law.may_end()
            later = np.tile(waiting[number, :, time], (len(rules), 1))
            worth = 1.0 + to_go[number, time] - later
            gains += law.mass[:, None] * law.arrivals * worth
        tables[:, time] = _greedy_chances(laws, allowed & (gains > 0.0), gains, repeated)
        for law in laws:
            law.suppress_and_step(tables[:, time])
    return tables


# One time of the open segments --------------------------------------------------------------------


class WaitingLaws:
    """G segments that are open now, each under its own table of suppression probabilities.

    `arrivals` (G, M) is the law of the state now, all since the start being suppressed, and
    `_past` (G, E, M) its joint law with earlier events. Both are scaled at each step; the scales
    cancel in every comparison of a segment with itself. `mass` (G,) keeps the true probability of
    the open segment.

    An event is followed until no state now makes it likelier than its limit. From then on nothing
    does: whatever is seen later, its posterior is an average of those given the state now.
    Events before `begin`, the first time of the segments, are left out.
    """

    def __init__(self, chain: ProtectedChain, begin: int, arrivals: FloatArray) -> None:
        self.chain = chain
        self._time = begin
        self.arrivals = np.array(arrivals)
        self.mass: FloatArray = np.ones(len(arrivals))
        self._limits: FloatArray = np.empty(0)  # of the events that are followed
        self._past: FloatArray = np.empty((len(arrivals), 0, arrivals.shape[1]))

    def risks(self) -> tuple[FloatArray, FloatArray]:
        """Return Pr[event, X = k now, segment], (G, E, M), and the limits of the events, (E,).

        For events still to come: as if all later states were suppressed. Events that no state of
        now makes likelier than their limit are left out.
        """
        coming = self.chain.coming(self._time)
        outlook = self.chain.outlook[coming, self._time]
        joint = np.concatenate([self._past, self.arrivals[:, None] * outlook], axis=1)
        return joint, np.concatenate([self._limits, self.chain.limits[coming]])

    def may_end(self) -> BoolArray:
        """Return which releases now keep all earlier events of the segments private, (G, M)."""
        limits = self._limits[:, None] * (1.0 + ROUNDING)
        return np.asarray((self._past <= limits * self.arrivals[:, None]).all(axis=1))

    def ends_privately(self) -> BoolArray:
        """Return whether all events are private once the trace is over, (G,)."""
        bound = self._limits * (1.0 + ROUNDING) * self.arrivals.sum(axis=-1, keepdims=True)
        return np.asarray((self._past.sum(axis=-1) <= bound).all(axis=1))

    def suppress_and_step(self, chances: FloatArray) -> None:
        """Condition on suppression now, with probabilities (G, M), and go on to the next time."""
        self.arrivals *= chances
        now = slice(self.chain.before(self._time), self.chain.before(self._time + 1))
        begun = self.arrivals[:, None] * self.chain.members[now]
        self._past = np.concatenate([self._past * chances[:, None], begun], axis=1)
        self._limits = np.concatenate([self._limits, self.chain.limits[now]])
        if self._time + 1 < self.chain.belief.steps:
            self._step()

    def _step(self) -> None:
        """Move one step on, and scale; let go of the events that are safe from now on."""
        matrix = self.chain.belief.matrix(self._time)
        self._time += 1
        self.arrivals, self._past = self.arrivals @ matrix, self._past @ matrix
        scale = self.arrivals.sum(axis=-1)
        scale[scale == 0.0] = 1.0  # an impossible segment stays at zero
        self.arrivals /= scale[:, None]
        self._past /= scale[:, None, None]
        self.mass *= scale
        open_ = (self._past > self._limits[:, None] * self.arrivals[:, None]).any(axis=(0, 2))
        self._limits, self._past = self._limits[open_], self._past[:, open_]


def _greedy_chances(
    laws: Sequence[WaitingLaws], allowed: BoolArray, gains: FloatArray, rules: NDArray[np.intp]
) -> FloatArray:
    """Return probabilities (G, M) that keep every event private if all later is suppressed.

    States that are not `allowed` (G, M) are suppressed; all others are released, or else lowered
    one after the other, those of the largest `gains` (G, M) first.
    """
    constraints = _Constraints.of(laws, allowed)
    chances = np.where(allowed, 0.0, 1.0)
    left = np.flatnonzero(~constraints.hold(chances))
    if not len(left):
        return chances
    few, allowed, gains = constraints.of_groups(left), allowed[left], gains[left]
    grid, by_cover = rules[left].T
    scores = np.where(by_cover[:, None], gains / few.cover(allowed), gains)
    groups, lowered = np.arange(len(left)), np.ones(allowed.shape)
    for states in np.argsort(np.where(allowed, -scores, 1.0), axis=1, kind="stable").T:
        active = allowed[groups, states]
        if active.any():
            lowest = few.line(lowered, states).lowest(grid)
            lowered[groups, states] = np.where(active, lowest, lowered[groups, states])
    chances[left] = lowered
    return chances


@attrs.frozen(eq=False)
class _Constraints:
    """Σ_k joint[g, c, k] p[g, k] ≤ Σ_k bound[g, c, k] p[g, k] for every group g and constraint c.

    joint is the probability with an event, bound the event's limit times that of the segment.
    """

    joint: FloatArray
    bound: FloatArray
    margin: float

    @classmethod
    def of(cls, laws: Sequence[WaitingLaws], allowed: BoolArray) -> _Constraints:
        """Collect the constraints of all events, but those that no choice can break."""
        joints, bounds = [], []
        for law in laws:
            joint, limits = law.risks()
            bound = limits[:, None] * law.arrivals[:, None]
            excess = joint - bound
            # At worst, states that give cover are released, wherever they may be.
            worst = np.where((excess < 0.0) & allowed[:, None], 0.0, excess).sum(axis=-1)
            risky = (worst > 0.0).any(axis=0)
            joints.append(joint[:, risky])
            bounds.append(bound[:, risky])
        margin = max(law.chain.margin for law in laws)
        return cls(np.concatenate(joints, axis=1), np.concatenate(bounds, axis=1), margin)

    def of_groups(self, groups: NDArray[np.intp]) -> _Constraints:
        """Return the constraints of some groups only."""
        return _Constraints(self.joint[groups], self.bound[groups], self.margin)

    def hold(self, chances: FloatArray) -> BoolArray:
        """Return whether all constraints of each group hold, (G,)."""
        columns = chances[:, :, None]
        fine = self.joint @ columns <= (1.0 + ROUNDING) * (self.bound @ columns)
        return np.asarray(fine.all(axis=(1, 2)))

    def line(self, chances: FloatArray, states: NDArray[np.intp]) -> Line:
        """Return the constraints as lines in the probability of one state in each group."""
        groups = np.arange(len(chances))
        without = chances.copy()
        without[groups, states] = 0.0
        return Line(
            (self.joint @ without[:, :, None])[..., 0],
            self.joint[groups, :, states],
            (self.bound @ without[:, :, None])[..., 0],
            self.bound[groups, :, states],
            self.margin,
        )

    def cover(self, allowed: BoolArray) -> FloatArray:
        """Return how much each state covers for events that need it, (G, M); never zero.

        An event needs cover as far as the states that cannot be released exceed its limit; a
        state gives what its own share lies below the limit, as a part of that need.
        """
        excess = self.joint - self.bound
        need = np.where(allowed[:, None], 0.0, excess).sum(axis=-1)
        share = np.divide(1.0, need, out=np.zeros_like(need), where=need > 1e-300)
        return np.asarray(np.einsum("gcm,gc->gm", np.maximum(-excess, 0.0), share)) + 1e-300
