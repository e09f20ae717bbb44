"""Suppression that never looks at the present state."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.channels import Suppression
from sfumato.probabilities import FloatArray
from sfumato_suppression.protected_chain import ProtectedChain, may_start_for_all
from sfumato_suppression.segment_starts import SegmentTables, Starts, segment_starts


def simulatable_channel(chains: Sequence[ProtectedChain]) -> Suppression:
    """Return the simulatable check as tables by last release.

    After the release of i at time u, everything is suppressed until the first time v at which
    *any* possible state may be released (Götz, Nath and Gehrke 2012, algorithm 4): every event
    between stays private given both releases, and all that may follow can be suppressed.
    As no decision depends on the state, suppressed steps tell nothing.
    """
    tables = SegmentTables(chains)
    for starts in segment_starts(chains):
        tables.fill(starts, simulatable_tables(chains, starts))
    return tables.channel()


def simulatable_tables(chains: Sequence[ProtectedChain], starts: Starts) -> FloatArray:
    """Return the tables after each start, (states, T, M): all ones but one row of zeros."""
    belief = chains[0].belief
    able = may_start_for_all(tuple(chains))
    tables = np.ones((len(starts.states), belief.steps, belief.state_count))
    waiting = np.ones(len(starts.states), dtype=bool)
    laws = starts.laws(chains)
    certain = np.ones((len(starts.states), belief.state_count))
    for time in range(starts.time + 1, belief.steps):
        release = waiting.copy()
        for law in laws:
            fine = law.may_end() & able[time]
            release &= (fine | (law.arrivals == 0.0)).all(axis=1)
        tables[release, time] = 0.0
        waiting &= ~release
        if not waiting.any():
            break
        for law in laws:
            law.suppress(certain)
            if time + 1 < belief.steps:
                law.step()
    return tables
