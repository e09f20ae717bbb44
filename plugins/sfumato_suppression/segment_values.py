"""What a suppression table is worth after a release, and whether it is private."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.probabilities import FloatArray
from sfumato_suppression.protected_chain import ProtectedChain, may_start_for_all
from sfumato_suppression.segment_starts import Starts


@attrs.frozen(eq=False)
class Judged:
    """Which of G tables are private, (G,), and their values under each of B chains, (B, G)."""

    private: NDArray[np.bool_]
    values: FloatArray


def judge(
    chains: Sequence[ProtectedChain], starts: Starts, tables: FloatArray, to_go: FloatArray
) -> Judged:
    """Return privacy and value of tables (rules · states, T, M), rule by rule, after each start.

    The value of a table is Σ Pr[next release is (t, k)] · (1 + V(t, k)), with V the value to go,
    `to_go` (B, T, M). Everything is computed from scratch, in sums of non-negative terms.
    """
    belief = chains[0].belief
    able = may_start_for_all(tuple(chains))
    laws = starts.laws(chains, len(tables) // len(starts.states))
    private = np.ones(len(tables), dtype=bool)
    values = np.zeros((len(chains), len(tables)))
    for time in range(starts.time + 1, belief.steps):
        chances = tables[:, time]
        for number, law in enumerate(laws):
            reached = law.arrivals > 0.0
            ends = (chances < 1.0) & reached
            private &= (~ends | (law.may_end() & able[time])).all(axis=1)
            worth = law.arrivals * (1.0 - chances) * (1.0 + to_go[number, time])
            values[number] += law.mass * worth.sum(axis=1)
            law.suppress(chances)
            if time + 1 < belief.steps:
                law.step()
    for law in laws:
        private &= law.ends_privately()
    return Judged(private, values)


def waiting_values(
    chains: Sequence[ProtectedChain], starts: Starts, tables: FloatArray, to_go: FloatArray
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
