"""The best chance to guess every state of a trace, from a finite release."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs import Markov
from sfumato.channels import Emission, NoisyVectors
from sfumato.errors import OutsideHypotheses, ParameterError, Undecidable
from sfumato.inference.markov.enumeration import DEFAULT_LIMIT, checked_pair, enumerate_outputs
from sfumato.inference.markov.probabilities import log_of, max_products
from sfumato.inference.markov.smoothing import forward_backward, pair_marginals, viterbi
from sfumato.matrices.matrix import ROUNDOFF
from sfumato.values import FloatArray
from sfumato_fano.information import followed
from sfumato_fano.sightings import sighted_log_success
from sfumato_fano.success_bounds import SMALLEST

IntArray = NDArray[np.intp]


def bayes_success(
    belief: Markov, channel: Emission, mistakes: int, limit: int = DEFAULT_LIMIT
) -> float:
    """Return Σ_o Pr[o] max over guesses g of Pr[Hamming(X, g) ≤ mistakes | o].

    Given an output, the trace is again a Markov chain. Guesses grow one state at a time; a law
    over (mistakes so far, state) tells the chance that a beginning is still within `mistakes`,
    which bounds what any continuation can reach. Beginnings that cannot beat the more successful
    of two complete guesses (most probable trace, most probable states) are dropped. A state
    of posterior probability zero need never be guessed: replacing it can only add matches.

    Parameters
    ----------
    belief, channel
        A chain and a finite emission.
    mistakes
        How many wrong states still count as success.
    limit
        How many outputs, and how many beginnings of guesses at once, before refusing.

    Raises
    ------
    OutsideHypotheses
        If there are more than `limit` outputs or beginnings.

    Examples
    --------
    >>> from sfumato.channels import Symbols
    >>> chain = Markov([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], steps=2)
    >>> blind = Symbols((0, 1), ("nothing",), np.ones((2, 2, 1)))
    >>> round(bayes_success(chain, blind, 0), 12), round(bayes_success(chain, blind, 1), 12)
    (0.25, 0.75)
    """
    if isinstance(mistakes, bool) or not isinstance(mistakes, (int, np.integer)) or mistakes < 0:
        raise ParameterError(f"mistakes must be a non-negative integer; got {mistakes!r}.")
    outputs = enumerate_outputs(belief, channel, limit)
    if mistakes >= belief.steps:
        return 1.0
    total = 0.0
    for part in outputs.parts(4_000_000 // belief.state_count):
        evidence = outputs.log_evidence(part)
        if mistakes == 0:
            total += float(np.exp(viterbi(belief, evidence)[1]).sum())
        else:
            best = _best_chances(belief, evidence, int(mistakes), limit)
            total += float(outputs.probabilities[part] @ best)
    return min(total, 1.0)


def _best_chances(belief: Markov, evidence: FloatArray, mistakes: int, limit: int) -> FloatArray:
    """Return max_g Pr[Hamming(X, g) ≤ mistakes | o] for each of B outputs."""
    marginals = forward_backward(belief, evidence).marginals
    moves = _posterior_moves(pair_marginals(belief, evidence), marginals)
    everyone = np.arange(len(evidence))
    best = np.zeros(len(evidence))
    for guesses in (viterbi(belief, evidence)[0], marginals.argmax(axis=-1)):
        law = _first_law(marginals[:, 0], mistakes)
        for time in range(belief.steps):
            law = law if time == 0 else law @ moves[:, time - 1]
            law = _judged(law, guesses[:, time])
        best = np.maximum(best, law.sum(axis=(1, 2)))
    owner, law = everyone, _first_law(marginals[:, 0], mistakes)
    for time in range(belief.steps):
        law = law if time == 0 else law @ moves[owner, time - 1]
        parents, states = np.nonzero(marginals[owner, time] > 0.0)
        if len(parents) > limit:
            raise OutsideHypotheses(
                f"exact success is searched over at most limit = {limit} beginnings of guesses; "
                f"there are {len(parents)} at step {time}, so take fewer steps or mistakes."
            )
        law = _judged(law[parents], states)
        owner = owner[parents]
        promising = law.sum(axis=(1, 2)) > best[owner]
        owner, law = owner[promising], law[promising]
    np.maximum.at(best, owner, law.sum(axis=(1, 2)))
    return best


def _posterior_moves(pairs: FloatArray, marginals: FloatArray) -> FloatArray:
    """Return Pr[X_{t+1} = j | X_t = i, o], zero where i is impossible."""
    before = marginals[:, :-1, :, None]
    return np.divide(pairs, before, out=np.zeros_like(pairs), where=before > 0.0)


def _first_law(marginal: FloatArray, mistakes: int) -> FloatArray:
    """Return the law over (mistakes so far, state) before the first guess is judged."""
    law = np.zeros((len(marginal), mistakes + 1, marginal.shape[1]))
    law[:, 0] = marginal
    return law


def _judged(law: FloatArray, guess: IntArray) -> FloatArray:
    """Count a mistake in every state but the guessed one; too many mistakes drop out."""
    rows = np.arange(len(law))
    judged = np.zeros_like(law)
    judged[:, 1:] = law[:, :-1]
    judged[rows, :, guess] = law[rows, :, guess]
    return judged


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


@attrs.frozen
class WholeTrace:
    """Σ_y max_x Pr[x, y], rounded up by at most `relative_error` of itself.

    Noise cannot raise it, so that it bounds the success from a noisy release as it is. A value
    below 2.2e-308 does not have all digits of float64, and is an upper bound only.

    >>> belief = Markov([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], steps=2)
    >>> from sfumato.channels import Symbols
    >>> found = WholeTrace.of(belief, Symbols((0, 1), (0,), [[[1.0], [1.0]]] * 2))
    >>> 0.25 <= found.value < 0.25 * (1 + 1e-13), found.is_exact
    (True, True)
    """

    value: float
    relative_error: float

    @classmethod
    def of(cls, belief: Markov, channel: Emission) -> WholeTrace | None:
        """Return the success of the best guess, or None where that takes too long."""
        sightings = followed(belief, channel)
        if sightings is not None:
            steps, nodes = belief.steps, len(sightings)
            log_outputs = steps * math.log1p(nodes / steps)  # at most, however nodes are spread
            found = math.exp(sighted_log_success(sightings))
            return cls._up(found, steps, nodes, log_outputs)
        try:
            found = bayes_success(belief, channel, 0)
        except (OutsideHypotheses, Undecidable):
            return None
        log_outputs = sum(math.log(len(alphabet)) for alphabet in channel.outputs())
        return cls._up(found, belief.steps, 0, log_outputs)

    @classmethod
    def _up(cls, value: float, steps: int, nodes: int, log_outputs: float) -> WholeTrace:
        """Return the value raised by more than its rounding.

        A step rounds the log of the product so far at most eight times (it adds, shifts and takes
        logarithms), and sums over at most all nodes. Of K outputs y with largest terms m_y and
        sum S, the mean of −log m_y with weights m_y / S is at most log K − log S.
        """
        depth = nodes + 16.0 + 8.0 * (log_outputs - math.log(max(value, SMALLEST)))
        error = steps * depth * ROUNDOFF
        raised = value * (1.0 + error)
        if raised < sys.float_info.min:
            raised += SMALLEST
        return cls(min(raised, 1.0), 2.0 * error)

    @property
    def is_exact(self) -> bool:
        """Whether float64 holds all digits of it."""
        return self.value >= sys.float_info.min
