"""Where segments begin: at the beginning of the trace, or after a release."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.channels import Suppression
from sfumato.probabilities import FloatArray
from sfumato_suppression.protected_chain import ProtectedChain, may_start_for_all
from sfumato_suppression.waiting_laws import WaitingLaws


@attrs.frozen(eq=False)
class Starts:
    """The releases at one time that may start a segment; time −1 is the beginning of the trace.

    Attributes
    ----------
    time
        When the last release was.
    states
        Which states it may have shown; a single 0, without meaning, at the beginning.
    """

    time: int
    states: NDArray[np.intp]

    def laws(self, chains: Sequence[ProtectedChain], rules: int = 1) -> list[WaitingLaws]:
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


def segment_starts(chains: Sequence[ProtectedChain]) -> Iterator[Starts]:
    """Yield the starts after which something is still to come, the latest first."""
    possible = np.logical_or.reduce([chain.possible for chain in chains])
    able = may_start_for_all(tuple(chains)) & possible
    for time in range(chains[0].belief.steps - 2, -1, -1):
        yield Starts(time, np.flatnonzero(able[time]))
    yield Starts(-1, np.zeros(1, dtype=np.intp))


class SegmentTables:
    """Suppression tables by last release, filled start by start; certain suppression elsewhere."""

    def __init__(self, chains: Sequence[ProtectedChain]) -> None:
        belief = chains[0].belief
        shape = (belief.steps, belief.state_count)
        self._states = belief.states
        self._start = np.ones(shape)
        self._after = np.ones((*shape, *shape))

    def fill(self, starts: Starts, tables: FloatArray) -> None:
        """Set the tables (states, T, M) in force after each start."""
        if starts.time < 0:
            self._start = tables[0]
        else:
            self._after[starts.time, starts.states] = tables

    def channel(self) -> Suppression:
        """Return the channel."""
        return Suppression(self._states, self._start, self._after)
