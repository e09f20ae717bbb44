"""Suppression that remembers, hidden, the last sensitive visit: one linear program per segment.

The mechanism knows the state at a visit, so given the last visit m since the release, the past and
the future of the segment are independent, and $c_A(m) = Pr[A | m]$ depends on the policy before m
only: 1 if m is a visit of A, 0 if m is before A or beside it, some $q_A(m)$ if m is later. For
*fixed* numbers q these are linear in the masses $h(t, m, k)$ suppressed and $g(t, m, k)$ released:

    $h + g = what arrives,$
    $∑_m c_A(m) g(t, m, k) ≤ θ_A ∑_m g(t, m, k),$
    $∑_{m'} c_A(m') a(m', m) ≤ q_A(m) ∑_{m'} a(m', m).$

The memory of what arrives is replaced at a visit; the second line stands for every end of a segment
and likewise for the end of the trace; $a(m', m)$ is the mass that goes from m' to visit m.

By induction over m the true conditionals are at most q, so every solution is δ-private, and putting
the true ones for q keeps it feasible. The bound of `limits` suggests the first q; then q moves with
the masses, in programs linearised around the last solution within a trust region. What is kept is
always recomputed from the probabilities themselves, and ends that rounding made unsafe are dropped.
"""

from __future__ import annotations

import itertools
from operator import attrgetter

import attrs
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sfumato.values import FloatArray
from sfumato_suppression.limits import (
    Budget,
    Entries,
    LinearProgram,
    SegmentBound,
    SegmentLimit,
    follow_law,
)
from sfumato_suppression.protected_chain import FINEST, ROUNDING, ProtectedChain

BoolArray = NDArray[np.bool_]

MARGIN = 1e-6
"""How far, relatively, the program stays below the limits: the solver errs."""

NEGLIGIBLE = 1e-12
"""Masses below this are noise of the solver; what they would release is suppressed."""

TRIES, FAILURES, FIRST_REACH, LEAST_GAIN = 12, 4, 0.2, 1e-4
"""How often q moves, and fails to, at most; how far at first; which relative gain is the last."""


@attrs.frozen(eq=False)
class Policy:
    """Suppression probabilities (L, V + 1, M) after one start, and what they are worth.

    `conditionals` are the true Pr[A | m], (E, V + 1).
    """

    chances: FloatArray
    value: float
    conditionals: FloatArray


@attrs.frozen(eq=False)
class Start:
    """The law of the first state, (M,), chances to do at least as well as, (L, V + 1, M).

    And the q to begin with, if any, and the value that is `enough`.
    """

    initial: FloatArray
    seed: FloatArray
    suggested: FloatArray | None
    enough: float


class SegmentProgram:
    """The programs of the segments that begin after the releases of one time."""

    def __init__(self, chain: ProtectedChain, able: BoolArray, start: int) -> None:
        belief, later = chain.belief, chain.times > start
        self._able, self._moves = able[start + 1 :], belief.transitions[start + 1 :]
        self._times, self._members = chain.times[later] - start - 1, chain.members[later]
        self._limits = chain.limits[later]
        length, count = self._able.shape
        sensitive = np.zeros((length, count), dtype=bool)
        np.logical_or.at(sensitive, self._times, self._members)
        times, states = np.nonzero(sensitive)
        # Memory 0 is none; the others are the visits, in the order of time.
        self._visit_times, self._visit_states = np.append(-1, times), np.append(-1, states)
        self._visit = np.zeros((length, count), dtype=np.intp)
        self._visit[times, states] = np.arange(1, len(self._visit_times))
        self._seen = (self._visit_times == self._times[:, None]) & self._members[
            :, self._visit_states
        ]
        self._unknown = self._visit_times > self._times[:, None]  # where c is q, (E, V + 1)
        # Cells (t, m, k): a visit is its own memory, other states keep an earlier one.
        t, m, k = np.ogrid[:length, : len(self._visit_times), :count]
        keeps = (self._visit_times[m] < t) & ~sensitive[:, None]
        self._cell = keeps | ((self._visit_times[m] == t) & (self._visit_states[m] == k))
        self._open = self._cell & self._able[:, None]
        self._cells, self._shown = np.nonzero(self._cell), np.nonzero(self._open)
        self._held = len(self._cells[0])
        self._number = np.full(self._cell.shape, -1)
        self._number[self._cell] = np.arange(self._held)
        self._release = np.full(self._cell.shape, -1)
        self._release[self._open] = self._held + np.arange(len(self._shown[0]))
        self._index_rows()

    @property
    def hidden(self) -> FloatArray:
        """Total suppression, (L, V + 1, M)."""
        return np.ones(self._cell.shape)

    def _index_rows(self) -> None:
        """Find the entries of the rows whose coefficients depend on q: (row, event, cell).

        First the ends (A, t, k), then the end of the trace, then the visits (A, m).
        """
        length, count = self._able.shape
        events, times, states = np.nonzero(
            (self._times[:, None] < np.arange(length))[..., None] & self._able
        )
        released = self._release[times, :, states]
        row, memory = np.nonzero(released >= 0)
        last = self._number[-1][self._cell[-1]]
        numbers = np.arange(len(self._times))
        self._end = (
            np.concatenate([row, np.repeat(len(events) + numbers, len(last))]),
            np.concatenate([events[row], np.repeat(numbers, len(last))]),
            np.concatenate([released[row, memory], np.tile(last, len(numbers))]),
            np.concatenate([memory, np.tile(self._cells[1][last], len(numbers))]),
        )
        begin = len(events) + len(numbers)
        self._safe_event, self._safe_visit = np.nonzero(self._unknown)
        bounds = np.searchsorted(self._cells[0], np.arange(length + 1))
        before = self._visit_times[self._safe_visit] - 1
        sizes = bounds[before + 1] - bounds[before]
        row = np.repeat(np.arange(len(before)), sizes)
        offset = np.arange(len(row)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        cell = bounds[before][row] + offset
        visit = self._safe_visit[row]
        chance = self._moves[before[row], self._cells[2][cell], self._visit_states[visit]]
        self._safe = (row, cell, chance)
        self._height = self._held + begin + len(before)
        self._first_safe = self._held + begin
        flow = Entries()
        cells = np.arange(self._held)
        flow.add(cells, cells, 1.0)
        shown = self._number[self._shown]
        flow.add(shown, self._held + np.arange(len(shown)), 1.0)
        origin = np.flatnonzero(self._cells[0] < length - 1)
        time, state = self._cells[0][origin], self._cells[2][origin]
        visit = self._visit[time + 1]
        memory = np.where(visit > 0, visit, self._cells[1][origin][:, None])
        target = self._number[time[:, None] + 1, memory, np.arange(count)]
        flow.add(target, origin[:, None], -self._moves[time, state])
        self._flow = flow

    def improve(self, start: Start, to_go: FloatArray, budget: Budget) -> Policy:
        """Return the best policy found in time, which is private whatever the solver did."""
        initial = start.initial
        hidden = self.measure(self.hidden, initial, to_go)
        seed = max(self.measure(start.seed, initial, to_go), hidden, key=attrgetter("value"))
        if seed.value >= start.enough:
            return seed
        found = None
        for suggested in (start.suggested, hidden.conditionals):
            if found is None and suggested is not None:
                found = self._solve(suggested, initial, to_go, budget)
        if found is None:
            return seed
        (best, masses), reach, failures = found, FIRST_REACH, 0
        for _ in range(TRIES):
            if best.value >= start.enough or failures == FAILURES:
                break
            program = self._program(best.conditionals, initial, to_go)
            moved = self._move(program, best.conditionals, masses, reach, budget)
            tried = None if moved is None else self._solve(moved, initial, to_go, budget)
            if tried is None or tried[0].value <= best.value * (1.0 + LEAST_GAIN / 10.0):
                failures, reach = failures + 1, reach / 4.0
                continue
            small = tried[0].value < best.value * (1.0 + LEAST_GAIN)
            (best, masses), reach = tried, min(1.0, reach * 2.0)
            if small:
                break
        return max(seed, best, key=attrgetter("value"))

    def suggest(self, limit: SegmentLimit, bound: SegmentBound) -> FloatArray | None:
        """Return q = h_A / H of the bound's own masses, if it has any and for the same events."""
        if bound.flow is None or bound.shares is None or limit.event_count != len(self._times):
            return None
        share = np.zeros((len(self._times), *bound.flow.shape))
        share[limit.events, limit.times] = bound.shares
        place = self._visit_times[self._safe_visit], self._visit_states[self._safe_visit]
        flow, part = bound.flow[place], share[self._safe_event, *place]
        ratio = np.divide(part, flow, out=np.zeros_like(part), where=flow > NEGLIGIBLE)
        conditionals = np.where(self._seen, 1.0, 0.0)
        conditionals[self._safe_event, self._safe_visit] = np.clip(ratio, 0.0, 1.0)
        return conditionals

    def _program(
        self, conditionals: FloatArray, initial: FloatArray, to_go: FloatArray
    ) -> LinearProgram:
        """Return the program for fixed q."""
        entries = Entries()
        entries.add(0, 0, 0.0)
        row, event, column, memory = self._end
        limits = self._limits * (1.0 - MARGIN)
        entries.add(self._held + row, column, conditionals[event, memory] - limits[event])
        row, cell, chance = self._safe
        event, visit = self._safe_event[row], self._safe_visit[row]
        excess = conditionals[event, self._cells[1][cell]] - conditionals[event, visit]
        entries.add(self._first_safe + row, cell, excess * chance)
        width = self._held + len(self._shown[0])
        shape = self._height, width
        reach = follow_law(initial, self._moves)
        costs, right = np.zeros(width), np.zeros(self._height)
        costs[self._held :] = 1.0 + to_go[self._shown[0], self._shown[2]]
        first = np.flatnonzero(self._cells[0] == 0)
        right[first] = initial[self._cells[2][first]]
        most = reach[
            np.append(self._cells[0], self._shown[0]), np.append(self._cells[2], self._shown[2])
        ]
        matrix = self._flow.matrix(shape) + entries.matrix(shape)
        return LinearProgram(costs, matrix, right, self._held, most)

    def _solve(
        self, conditionals: FloatArray, initial: FloatArray, to_go: FloatArray, budget: Budget
    ) -> tuple[Policy, FloatArray] | None:
        """Return the policy of the program for fixed q, as it truly is, and its masses."""
        solution = self._program(conditionals, initial, to_go).solve(budget)
        if solution is None:
            return None
        masses = solution[0]
        held, shown = np.zeros(self._cell.shape), np.zeros(self._cell.shape)
        held[self._cell], shown[self._open] = masses[: self._held], masses[self._held :]
        total = held + shown
        chances = np.ones(total.shape)
        np.divide(held, total, out=chances, where=self._open & (total > NEGLIGIBLE))
        chances[chances < FINEST] = 0.0
        chances[chances > 1.0 - FINEST] = 1.0
        return self.measure(chances, initial, to_go), masses

    def _move(
        self,
        program: LinearProgram,
        conditionals: FloatArray,
        masses: FloatArray,
        reach: float,
        budget: Budget,
    ) -> FloatArray | None:
        """Return q after one step of the program linearised in q and masses, |Δq| ≤ reach."""
        unknowns = np.full(self._unknown.shape, -1)
        unknowns[self._unknown] = np.arange(len(self._safe_event))
        entries = Entries()
        row, event, column, memory = self._end
        known = self._unknown[event, memory]
        place = unknowns[event[known], memory[known]]
        entries.add(self._held + row[known], place, masses[column[known]])
        row, cell, chance = self._safe
        event, earlier, arriving = (
            self._safe_event[row],
            self._cells[1][cell],
            masses[cell] * chance,
        )
        known = self._unknown[event, earlier]
        place = unknowns[event[known], earlier[known]]
        entries.add(self._first_safe + row[known], place, arriving[known])
        entries.add(self._first_safe + row, unknowns[event, self._safe_visit[row]], -arriving)
        change = entries.matrix((self._height, len(self._safe_event)))
        present = conditionals[self._unknown]
        least, most = np.maximum(-reach, -present), np.minimum(reach, 1.0 - present)
        solution = LinearProgram(
            np.append(program.costs, np.zeros(len(present))),
            sparse.hstack([program.matrix, change]).tocsc(),
            program.right - change @ least,
            program.equal,
            np.append(program.most, most - least),
        ).solve(budget)
        if solution is None:
            return None
        moved = conditionals.copy()
        moved[self._unknown] = np.clip(
            present + least + solution[0][len(program.costs) :], 0.0, 1.0
        )
        return moved

    def measure(self, chances: FloatArray, initial: FloatArray, to_go: FloatArray) -> Policy:
        """Return the policy as it truly is, with ends that are not private suppressed.

        If the end of the trace is not private, all is suppressed from some time on, the latest
        that will do: after any beginning of a private policy, silence is private too.
        """
        for stop in itertools.count(len(chances), -1):
            policy = self._follow(chances, stop, initial, to_go)
            if policy is not None:
                return policy
        raise AssertionError

    def _follow(
        self, chances: FloatArray, stop: int, initial: FloatArray, to_go: FloatArray
    ) -> Policy | None:
        """Follow masses and conditionals from the start on; None if the end is not private."""
        kept = np.ones_like(chances)
        kept[:stop] = chances[:stop]
        known = np.where(self._seen, 1.0, 0.0)
        limits = self._limits * (1.0 + ROUNDING)
        law, value = np.zeros(chances.shape[1:]), 0.0
        law[0] = initial
        for time in range(len(chances)):
            for state in np.flatnonzero(self._visit[time]):
                visit, arriving = self._visit[time, state], law[:, state].copy()
                law[:, state] = 0.0
                law[visit, state] = arriving.sum()
                if law[visit, state] > 0.0:
                    some = self._unknown[:, visit]
                    known[some, visit] = known[some] @ arriving / law[visit, state]
            shown = law * (1.0 - kept[time])
            past = self._times < time
            unsafe = known[past] @ shown > limits[past, None] * shown.sum(axis=0)
            kept[time][:, unsafe.any(axis=0)] = 1.0
            value += float(((law * (1.0 - kept[time])).sum(axis=0) * (1.0 + to_go[time])).sum())
            law = law * kept[time]
            if time + 1 < len(chances):
                law = law @ self._moves[time]
        left = law.sum(axis=1)
        private = (known @ left <= limits * left.sum()).all()
        return Policy(kept, value, known) if private or stop <= 0 else None
