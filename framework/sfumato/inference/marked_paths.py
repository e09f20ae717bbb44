"""The most probable trace where noise tells a few states of each step from all the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs.markov import Markov
from sfumato.channels.noisy_vectors import NoisyVectors
from sfumato.inference.enumeration import checked_pair
from sfumato.inference.log_products import log_of
from sfumato.inference.max_products import max_products
from sfumato.probabilities import FloatArray

IntArray = NDArray[np.intp]

MOST_OPERATIONS = 1e8
"""How many additions may prepare for outputs to come: a fraction of a second."""


@attrs.frozen(eq=False)
class MarkedPaths:
    """A chain and the states at which its noisy output has another mean than elsewhere.

    Most states of a step share one mean; those that do not are marked. Between marked states the
    best path does not depend on the output, so it is found once: an output then costs
    O(N²) for N marked states, where the Viterbi recursion takes O(T M²).

    Parameters
    ----------
    belief, channel
        The scenario.
    times, states
        The N marked states in order of time, between a beginning, at −1, and an end, at T.
    common
        A state of each step that is not marked, (T,).

    Examples
    --------
    >>> chain = Markov([0.5, 0.25, 0.25], np.full((3, 3), 1 / 3), steps=1)
    >>> counts = NoisyVectors((0, 1, 2), [[[0.0], [0.0], [1.0]]], scale=0.5)
    >>> MarkedPaths.of(chain, counts).best([[0.1], [1.2]]).tolist()
    [[0], [2]]
    """

    belief: Markov
    channel: NoisyVectors
    times: IntArray
    states: IntArray
    common: IntArray

    @classmethod
    def of(cls, belief: Markov, channel: NoisyVectors) -> MarkedPaths:
        """Find the marked states."""
        checked_pair(belief, channel)
        marked = np.empty(channel.means.shape[:2], dtype=bool)
        common = np.empty(belief.steps, dtype=np.intp)
        for time, means in enumerate(channel.means):
            _, first, number, count = np.unique(
                means, axis=0, return_index=True, return_inverse=True, return_counts=True
            )
            largest = count.argmax()
            common[time] = first[largest]
            marked[time] = number.reshape(-1) != largest
        times, states = np.nonzero(marked)
        return cls(
            belief,
            channel,
            np.concatenate([[-1], times, [belief.steps]]).astype(np.intp),
            np.concatenate([[0], states, [0]]).astype(np.intp),
            common,
        )

    @property
    def is_quick(self) -> bool:
        """Whether this beats the Viterbi recursion; the outputs have no say in it."""
        nodes, square = len(self.times), self.belief.state_count**2
        begun = np.searchsorted(self.times, np.arange(self.belief.steps))
        few = 4 * nodes**2 <= self.belief.steps * square
        return bool(few and float(begun.sum()) * square <= MOST_OPERATIONS)

    def best(self, observed: Sequence[Any]) -> IntArray:
        """Return argmax_x Pr[x | o] of B outputs as positions, (B, T)."""
        arrivals = self._arrivals()
        came = self._came_from(self._gains(observed), self._between(arrivals))
        rows = np.arange(len(came))
        ahead = np.full(len(came), len(self.times) - 1)
        pieces = np.empty((len(came), self.belief.steps), dtype=np.intp)
        for time in reversed(range(self.belief.steps)):
            behind = came[rows, ahead]
            ahead = np.where(self.times[behind] == time, behind, ahead)
            pieces[:, time] = came[rows, ahead] * len(self.times) + ahead
        different, number = np.unique(pieces, return_inverse=True)
        starts, ends = np.divmod(different, len(self.times))
        paths = self._filled(arrivals, starts, ends)
        return np.asarray(paths[number.reshape(pieces.shape), np.arange(self.belief.steps)])

    def _unmarked(self, time: int) -> FloatArray:
        """Return 0 for the states without a mark and −∞ for the others."""
        mask = np.zeros(self.belief.state_count)
        mask[self.states[1:-1][self.times[1:-1] == time]] = -np.inf
        return mask

    def _arrivals(self) -> FloatArray:
        """Return the log of the likeliest way from a start to X_t = m, marks avoided, (T, N, M)."""
        belief = self.belief
        found = np.full((belief.steps, len(self.times) - 1, belief.state_count), -np.inf)
        found[0, 0] = log_of(belief.initial)
        for time, moves in enumerate(belief.log_transitions):
            begun, over = np.searchsorted(self.times, (time, time + 1))
            passing = found[time, :begun] + self._unmarked(time)
            found[time + 1, :begun] = max_products(passing, moves, "log")
            found[time + 1, begun:over] = moves[self.states[begun:over]]
        return found

    def _between(self, arrivals: FloatArray) -> FloatArray:
        """Return the log of the likeliest way from each node to each later one, (N − 1, N)."""
        last = self.belief.steps - 1
        table = np.full((len(self.times) - 1, len(self.times)), -np.inf)
        inner = slice(1, -1)
        table[:, inner] = arrivals[self.times[inner], :, self.states[inner]].T
        table[:, -1] = (arrivals[last] + self._unmarked(last)).max(axis=1)
        table[self.times[:-1] == last, -1] = 0.0
        return table

    def _gains(self, observed: Sequence[Any]) -> FloatArray:
        """Return what each marked state adds to the log-likelihood of B outputs, (B, N − 2)."""
        times, states = self.times[1:-1], self.states[1:-1]
        everywhere = np.arange(self.belief.steps)
        usual = self.channel.evidence_at(observed, everywhere, self.common)
        return np.asarray(self.channel.evidence_at(observed, times, states) - usual[:, times])

    def _came_from(self, gains: FloatArray, between: FloatArray) -> IntArray:
        """Return the node before each node on the best path that leads to it, (B, N)."""
        count = len(self.times)
        scores = np.zeros((len(gains), count - 1))
        came = np.zeros((len(gains), count), dtype=np.intp)
        for node in range(1, count):
            earlier = np.searchsorted(self.times, self.times[node])
            ways = scores[:, :earlier] + between[:earlier, node]
            came[:, node] = ways.argmax(axis=1)
            if node < count - 1:
                scores[:, node] = ways.max(axis=1) + gains[:, node - 1]
        return came

    def _filled(self, arrivals: FloatArray, starts: IntArray, ends: IntArray) -> IntArray:
        """Return the likeliest ways between nodes, (P, T), at the times after start up to end."""
        steps = self.belief.steps
        paths = np.zeros((len(starts), steps), dtype=np.intp)
        log_matrices = self.belief.log_transitions
        for time in reversed(range(steps)):
            inside = (self.times[starts] < time) & (time < self.times[ends])
            ways = arrivals[time, starts[inside]] + self._unmarked(time)
            if time < steps - 1:
                ways = ways + log_matrices[time][:, paths[inside, time + 1]].T
            paths[inside, time] = ways.argmax(axis=1)
            arrived = self.times[ends] == time
            paths[arrived, time] = self.states[ends[arrived]]
        return paths
