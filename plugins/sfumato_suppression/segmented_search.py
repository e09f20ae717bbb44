"""Suppression that depends on the last release: segments decouple, so each is its own problem.

Given the output, every decision depends on the present state and on a last release that the
output fixes, so Pr[trace, output] is a product over segments, and the posterior of X_t depends
on its own segment alone. A system is therefore private exactly when every segment is: a release
(or the beginning), suppressed steps, and the next release (or the end). Segments may be optimised
one by one, backwards in time, with the value to go

    V(u, i) = Σ Pr[next release is (t, k) | u, i] · (1 + V(t, k)).

Each start keeps the best private table of several: those of the seeds, which makes V at least the
value of each seed (by induction backwards in time, as a private table stays available), and
greedy ones.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.channels import Suppression
from sfumato.probabilities import FloatArray
from sfumato_suppression.protected_chain import ProtectedChain, may_start_for_all
from sfumato_suppression.segment_starts import SegmentTables, Starts, segment_starts
from sfumato_suppression.segment_values import judge, waiting_values
from sfumato_suppression.simulatable_search import simulatable_tables
from sfumato_suppression.step_choice import Rules, chosen_chances

ROUNDS = (
    Rules(np.array([1, 1, 2, 3, 10]), np.array([True, False, True, True, True])),
    Rules(np.array([1, 1]), np.array([True, False])),
)
"""Coarse grids leave slack for later times; which is best differs from start to start.

The second round knows from the first what waiting is worth.
"""


def segmented_channel(chains: Sequence[ProtectedChain], memoryless: FloatArray) -> Suppression:
    """Return tables by last release, seeded with memoryless tables (S, T, M)."""
    belief = chains[0].belief
    tables = SegmentTables(chains)
    to_go = np.zeros((len(chains), belief.steps, belief.state_count))
    for starts in segment_starts(chains):
        if len(starts.states):
            best, values = _best_tables(chains, starts, memoryless, to_go)
            tables.fill(starts, best)
            if starts.time >= 0:
                to_go[:, starts.time, starts.states] = values
    return tables.channel()


def _best_tables(
    chains: Sequence[ProtectedChain], starts: Starts, memoryless: FloatArray, to_go: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the best table after each start, (states, T, M), and its values, (B, states)."""
    hidden = np.ones((len(starts.states), *memoryless.shape[1:]))
    best = hidden, np.zeros((len(chains), len(hidden)))  # private, and worth nothing
    seeds = [np.broadcast_to(table, hidden.shape) for table in memoryless]
    best = _better(chains, starts, best, [simulatable_tables(chains, starts), *seeds], to_go)
    waiting = np.zeros((len(chains), *hidden.shape))
    for rules in ROUNDS:
        greedy = _greedy_tables(chains, starts, rules, waiting, to_go)
        best = _better(chains, starts, best, list(greedy.reshape(-1, *hidden.shape)), to_go)
        waiting = waiting_values(chains, starts, best[0], to_go)
    return best


def _better(
    chains: Sequence[ProtectedChain],
    starts: Starts,
    best: tuple[FloatArray, FloatArray],
    candidates: Sequence[FloatArray],
    to_go: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return the private table of the largest mean value so far, start by start."""
    judged = judge(chains, starts, np.concatenate(candidates), to_go)
    tables = np.concatenate([best[0], *candidates])
    values = np.concatenate([best[1], np.where(judged.private, judged.values, -1.0)], axis=1)
    count = len(starts.states)
    scores = values.mean(axis=0).reshape(-1, count)
    winners = scores.argmax(axis=0) * count + np.arange(count)
    return tables[winners], values[:, winners]


def _greedy_tables(
    chains: Sequence[ProtectedChain],
    starts: Starts,
    rules: Rules,
    waiting: FloatArray,
    to_go: FloatArray,
) -> FloatArray:
    """Return one table per rule and start, (rules · states, T, M), lowered time by time."""
    belief = chains[0].belief
    able = may_start_for_all(tuple(chains))
    laws = starts.laws(chains, len(rules.grid))
    repeated = rules.repeated(len(starts.states))
    tables = np.ones((len(repeated.grid), belief.steps, belief.state_count))
    for time in range(starts.time + 1, belief.steps):
        allowed = np.broadcast_to(able[time], tables[:, time].shape)
        gains = np.zeros(allowed.shape)
        for number, law in enumerate(laws):
            allowed = allowed & law.may_end()
            later = np.tile(waiting[number, :, time], (len(rules.grid), 1))
            worth = 1.0 + to_go[number, time] - later
            gains += law.mass[:, None] * law.arrivals * worth
        tables[:, time] = chosen_chances(laws, allowed, gains, repeated)
        for law in laws:
            law.suppress(tables[:, time])
            if time + 1 < belief.steps:
                law.step()
    return tables
