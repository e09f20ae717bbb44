"""The likeliest trace behind noisy counts, for many outputs at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from sfumato.beliefs import Markov
from sfumato.channels import NoisyVectors
from sfumato.inference.markov.enumeration import checked_pair
from sfumato.inference.markov.probabilities import log_of
from sfumato.values import FloatArray
from sfumato_fano.sightings import IntArray, Sightings, mean_classes, segments

MOST_OPERATIONS = 1e8
"""How many additions may prepare for outputs to come: a fraction of a second."""


@attrs.frozen(eq=False)
class MarkedPaths:
    """A chain and the states at which its noisy output has another mean than elsewhere.

    Most states of a step share one mean; those that do not are marked, as if they were seen.
    Between marked states the best path does not depend on the output, so it is found once: an
    output then costs O(N²) for N marked states, where the Viterbi recursion takes O(T M²).
    `unmarked` is 1 for the states without a mark and 0 for the others, (T, M).
    """

    channel: NoisyVectors
    sightings: Sightings
    unmarked: FloatArray

    @classmethod
    def of(cls, belief: Markov, channel: NoisyVectors) -> MarkedPaths:
        """Mark every state that does not have the commonest mean of its step."""
        checked_pair(belief, channel)
        members = mean_classes(channel)
        commonest = members.sum(axis=1).argmax(axis=1)
        unmarked = np.take_along_axis(members, commonest[:, None, None], axis=2)[..., 0]
        hiding = unmarked, 1.0 - unmarked
        return cls(channel, Sightings.where(belief, unmarked == 0.0, hiding), unmarked)

    @property
    def is_quick(self) -> bool:
        """Whether this beats the Viterbi recursion; the outputs have no say in it."""
        belief = self.sightings.belief
        few = 4 * len(self.sightings) ** 2 <= belief.steps * belief.state_count**2
        return few and self.sightings.operations <= MOST_OPERATIONS

    def best(self, observed: Sequence[Any]) -> IntArray:
        """Return argmax_x Pr[x | o] of B outputs as positions, (B, T)."""
        times, steps = self.sightings.times, self.sightings.belief.steps
        arrivals, between = self._ways()
        before = self._nodes_before(self._gains(observed), between)
        rows = np.arange(len(before))
        ahead = np.full(len(before), len(times) - 1)
        pieces = np.empty((len(before), steps), dtype=np.intp)
        for time in reversed(range(steps)):
            behind = before[rows, ahead]
            ahead = np.where(times[behind] == time, behind, ahead)
            pieces[:, time] = before[rows, ahead] * len(times) + ahead
        different, number = np.unique(pieces, return_inverse=True)
        starts, ends = np.divmod(different, len(times))
        paths = self._paths_between(arrivals, starts, ends)
        return np.asarray(paths[number.reshape(pieces.shape), np.arange(steps)])

    def _ways(self) -> tuple[FloatArray, FloatArray]:
        """Return the logs of the likeliest ways that avoid marks.

        From each node to X_t = m, (T, N − 1, M), and to each later node, (N − 1, N).
        """
        count, belief = len(self.sightings), self.sightings.belief
        arrivals = np.full((belief.steps, count - 1, belief.state_count), -np.inf)
        between = np.full((count - 1, count), -np.inf)
        (watch,) = self.sightings.watches()
        for part in segments(self.sightings, watch, likeliest=True):
            if part.time < belief.steps:
                arrivals[part.time, : len(part.ways)] = part.ways
            between[: len(part.weights), part.nodes] = part.weights
        return arrivals, between

    def _gains(self, observed: Sequence[Any]) -> FloatArray:
        """Return what each marked state adds to the log-likelihood of B outputs, (B, N − 2)."""
        times, states = self.sightings.times[1:-1], self.sightings.states[1:-1]
        common = self.unmarked.argmax(axis=1)
        usual = self.channel.evidence_at(observed, np.arange(len(common)), common)
        return np.asarray(self.channel.evidence_at(observed, times, states) - usual[:, times])

    def _nodes_before(self, gains: FloatArray, between: FloatArray) -> IntArray:
        """Return the node before each node on the best path that leads to it, (B, N)."""
        times = self.sightings.times
        scores = np.zeros((len(gains), len(times) - 1))
        before = np.zeros((len(gains), len(times)), dtype=np.intp)
        for node in range(1, len(times)):
            earlier = np.searchsorted(times, times[node])
            ways = scores[:, :earlier] + between[:earlier, node]
            before[:, node] = ways.argmax(axis=1)
            if node < len(times) - 1:
                scores[:, node] = ways.max(axis=1) + gains[:, node - 1]
        return before

    def _paths_between(self, arrivals: FloatArray, starts: IntArray, ends: IntArray) -> IntArray:
        """Return the likeliest ways between nodes, (P, T), at the times after start up to end."""
        times, log_matrices = self.sightings.times, self.sightings.log_transitions
        log_unmarked = log_of(self.unmarked)
        paths = np.zeros((len(starts), len(arrivals)), dtype=np.intp)
        for time in reversed(range(len(arrivals))):
            inside = (times[starts] < time) & (time < times[ends])
            ways = arrivals[time, starts[inside]] + log_unmarked[time]
            if time < len(log_matrices):
                ways = ways + log_matrices[time][:, paths[inside, time + 1]].T
            paths[inside, time] = ways.argmax(axis=1)
            arrived = times[ends] == time
            paths[arrived, time] = self.sightings.states[ends[arrived]]
        return paths
