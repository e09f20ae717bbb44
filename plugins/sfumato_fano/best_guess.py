"""The success of the best possible guess, exactly: the quantity that four measures speak of."""

from __future__ import annotations

import math
import sys
from typing import ClassVar

import numpy as np

from sfumato.beliefs import Markov
from sfumato.channels import Emission
from sfumato.comparison.populations import OfPopulation
from sfumato.errors import OutsideHypotheses, Undecidable
from sfumato.inference.markov.enumeration import DEFAULT_LIMIT, enumerate_outputs
from sfumato.inference.markov.probabilities import log_sum
from sfumato.inference.markov.smoothing import forward_backward, pair_marginals, viterbi
from sfumato.matrices.matrix import ROUNDOFF
from sfumato.protocols import LossMeasure, Quantity, Reading
from sfumato.quantities import RECONSTRUCTION
from sfumato.questions import Guess
from sfumato.values import FloatArray
from sfumato_fano.sightings import IntArray, Sightings, segments, tractable_sightings

SMALLEST = 5e-324
"""The smallest positive float: a positive bound is never rounded to zero."""


class SuccessMeasure(OfPopulation, LossMeasure):
    """A measure of max over guessers of Pr[d(X, X̂) ≤ mistakes], d the number of wrong states."""

    reads: ClassVar[tuple[tuple[type, type, type], ...]] = ((Markov, Guess, Emission),)
    promises = ("grows with the secret",)

    @property
    def quantity(self) -> Quantity:
        """The reconstruction success."""
        return RECONSTRUCTION


# Without mistakes ---------------------------------------------------------------------------------


def whole_trace_success(belief: Markov, channel: Emission) -> Reading | None:
    """Return Σ_y max_x Pr[x, y], rounded up; None where that takes too long.

    Noise cannot raise it, so that it bounds the success from a noisy release as it is. A value
    below 2.2e-308 does not have all digits of float64, and is an upper bound only.
    """
    sightings, steps = tractable_sightings(belief, channel), belief.steps
    if sightings is not None:
        value, nodes = math.exp(sighted_log_success(sightings)), len(sightings)
        sums = 1 if sightings.memory is None else nodes  # in a row, at one node
        log_outputs = steps * math.log1p(nodes / steps)  # at most, however nodes are spread
    else:
        try:
            value, nodes, sums = best_success(belief, channel, 0), 0, 1
        except (OutsideHypotheses, Undecidable):
            return None
        log_outputs = sum(math.log(len(alphabet)) for alphabet in channel.outputs())
    # A step rounds the log of the product so far eight times at most (it adds, shifts and takes
    # logarithms, these for each sum), and sums over at most all nodes. Of K outputs y with largest
    # terms m_y and sum S, the mean of −log m_y with weights m_y / S is at most log K − log S.
    depth = nodes + 16.0 + (7.0 + sums) * (log_outputs - math.log(max(value, SMALLEST)))
    error = steps * depth * ROUNDOFF
    raised, how = min(value * (1.0 + error), 1.0), "sum over all outputs"
    if raised < sys.float_info.min:
        return Reading(value=raised + SMALLEST, bound="upper", how=how)
    return Reading(value=raised, bound="exact", relative_error=2.0 * error, how=how)


def sighted_log_success(sightings: Sightings) -> float:
    """Return log Σ_y max_x Pr[x, y], the Bayes-optimal success at guessing every state.

    Given y the trace falls into independent segments between sightings, so the maximum is a
    product over segments of v(a, b), the largest probability of a path from a to b that stays
    unseen, and the sum over all y is a sum over paths of sightings: r(b) = Σ_a r(a) v(a, b) in
    order of time. Exact, in `Sightings.operations` additions, and as a logarithm, since it may be
    far below 1e-308.
    """
    reached = np.full(len(sightings), -np.inf)
    reached[0] = 0.0
    for watch in sightings.watches():
        for part in segments(sightings, watch, likeliest=True):
            ways = reached[part.starts, None] + part.weights
            reached[part.nodes] = log_sum(np.vstack([reached[part.nodes], ways]).T)
    return float(min(reached[-1], 0.0))


# With mistakes ------------------------------------------------------------------------------------


def best_success(
    belief: Markov, channel: Emission, mistakes: int, limit: int = DEFAULT_LIMIT
) -> float:
    """Return Σ_o Pr[o] max over guesses g of Pr[Hamming(X, g) ≤ mistakes | o].

    Given an output, the trace is again a Markov chain. Guesses grow one state at a time; a law
    over (mistakes so far, state) tells the chance that a beginning is still within `mistakes`,
    which bounds what any continuation can reach. Beginnings that cannot beat the more successful
    of two complete guesses (most probable trace, most probable states) are dropped. A state
    of posterior probability zero need never be guessed: replacing it can only add matches.
    More than `limit` outputs, or beginnings of guesses at once, are refused.
    """
    outputs = enumerate_outputs(belief, channel, limit)
    if mistakes >= belief.steps:
        return 1.0
    total = 0.0
    for part in outputs.parts(4_000_000 // belief.state_count):
        evidence = outputs.log_evidence(part)
        if mistakes == 0:
            total += float(np.exp(viterbi(belief, evidence)[1]).sum())
        else:
            best = _best_chances(belief, evidence, mistakes, limit)
            total += float(outputs.probabilities[part] @ best)
    return min(total, 1.0)


def _best_chances(belief: Markov, evidence: FloatArray, mistakes: int, limit: int) -> FloatArray:
    """Return max_g Pr[Hamming(X, g) ≤ mistakes | o] for each of B outputs."""
    marginals = forward_backward(belief, evidence).marginals
    pairs, before = pair_marginals(belief, evidence), marginals[:, :-1, :, None]
    moves = np.divide(pairs, before, out=np.zeros_like(pairs), where=before > 0.0)
    first = np.zeros((len(evidence), mistakes + 1, belief.state_count))
    first[:, 0] = marginals[:, 0]
    best = np.zeros(len(evidence))
    for guesses in (viterbi(belief, evidence)[0], marginals.argmax(axis=-1)):
        law = count_mistakes(first, guesses[:, 0])
        for time in range(1, belief.steps):
            law = count_mistakes(law @ moves[:, time - 1], guesses[:, time])
        best = np.maximum(best, law.sum(axis=(1, 2)))
    owner, law = np.arange(len(evidence)), first
    for time in range(belief.steps):
        law = law if time == 0 else law @ moves[owner, time - 1]
        parents, states = np.nonzero(marginals[owner, time] > 0.0)
        if len(parents) > limit:
            raise OutsideHypotheses(
                f"exact success is searched over at most limit = {limit} beginnings of guesses; "
                f"there are {len(parents)} at step {time}, so take fewer steps or mistakes."
            )
        law, owner = count_mistakes(law[parents], states), owner[parents]
        promising = law.sum(axis=(1, 2)) > best[owner]
        owner, law = owner[promising], law[promising]
    np.maximum.at(best, owner, law.sum(axis=(1, 2)))
    return best


def count_mistakes(law: FloatArray, guesses: IntArray) -> FloatArray:
    """Count a mistake in every state but the guessed one; too many mistakes drop out.

    The laws are over (mistakes so far, state), (B, s + 1, M), one for each of B guesses.
    """
    rows = np.arange(len(law))
    counted = np.zeros_like(law)
    counted[:, 1:] = law[:, :-1]
    counted[rows, :, guesses] = law[rows, :, guesses]
    return counted
