"""Real outputs, bounded by coupled traces: a finite Rényi divergence of Gaussian mixtures.

Given X_t = s, what is released is a mixture of N(m(x), σ²I) over traces x. Sums of p^λ q^{1−λ} are
jointly convex in p and q, so for every coupling of the traces given s and of those given s'

    exp((λ − 1) D_λ(p ‖ q)) ≤ E exp(λ(λ − 1) ∑_u ‖m_u(x_u) − m_u(x'_u)‖² / 2σ²).

A coupling by steps makes the expectation a recursion over pairs of states, on either side of t:
both go on to one state as often as their laws overlap, and stay together; else independently.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sfumato.beliefs import Markov
from sfumato.channels import NoisyVectors
from sfumato.inference.markov.segments import UNIT_ROUNDOFF
from sfumato.questions.events import Asked
from sfumato.values import FloatArray
from sfumato.views.segments import marginals_up_to

LARGEST, STATES = 600.0, 128
"""Exponents and states up to which expectations are formed; beyond, the worst trace counts."""

NEAR_ONE = 1.0001
"""The order by which that of order one is bounded: divergences do not fall with their order."""


def coupled_divergence(
    belief: Markov, channel: NoisyVectors, asked: Sequence[Asked], order: float
) -> float:
    """Return a bound on the divergence of the worst pair; ∞ where several times are asked about.

    >>> import numpy as np
    >>> from sfumato.beliefs import Markov
    >>> from sfumato.channels import NoisyVectors
    >>> from sfumato.questions import Asked
    >>> from sfumato.views.couplings import coupled_divergence
    >>> chain = Markov([0.5, 0.5], np.full((2, 2), 0.5), steps=2)
    >>> counts = NoisyVectors(chain.states, [[[0.0], [1.0]]] * 2, scale=1.0)
    >>> one = Asked((0,), np.eye(2, dtype=bool), (0, 1), np.array([[0, 1]]), (0, 1), np.eye(2) > 0)
    >>> round(coupled_divergence(chain, counts, [one], 2.0), 9)  # of independent steps: λ/2σ²
    1.0
    """
    if any(len(one.times) > 1 for one in asked):
        return math.inf
    worst = 0.0
    for one in asked:
        exponents = _exponents(belief, channel, one.times[0], max(order, NEAR_ONE))
        weights = one.members * belief.marginals()[one.times[0]]
        whole = weights.sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore"):
            logs = np.log(weights) - np.log(whole, out=np.zeros_like(whole), where=whole > 0.0)
        for row, other in one.pairs:
            if whole[row] > 0.0 and whole[other] > 0.0:
                terms = exponents + logs[row][:, None] + logs[other]
                worst = max(worst, float(np.logaddexp.reduce(terms, axis=None)))
    return worst * (1.0 + 16.0 * UNIT_ROUNDOFF) / (max(order, NEAR_ONE) - 1.0)


def _exponents(belief: Markov, channel: NoisyVectors, time: int, order: float) -> FloatArray:
    """Return bounds on (λ − 1) D_λ of what is seen given each two states at t, (M, M)."""
    apart = channel.means[:, :, None] - channel.means[:, None]
    costs = order * (order - 1.0) * np.square(apart / channel.scale).sum(axis=-1) / 2.0
    largest = costs.max(axis=(1, 2))
    count = belief.state_count
    same = np.eye(count, dtype=bool)
    ahead = [(belief.matrix(u), u + 1) for u in range(time, belief.steps - 1)]
    marginals = marginals_up_to(belief, time)
    behind = [(belief.reversed_matrix(u, marginals), u) for u in range(time - 1, -1, -1)]
    total = costs[time]
    for moves in (behind, ahead):
        most = largest[[u for _, u in moves]].sum()
        if most > LARGEST or count > STATES:
            total = total + np.where(same, 0.0, most)
            continue
        factor = np.ones((count, count))
        for matrix, u in moves[::-1]:
            rest = matrix[:, None] - np.minimum(matrix[:, None], matrix)  # (x, x', to)
            left = rest.sum(axis=2)
            met = (rest @ (np.exp(costs[u]) * factor) * rest.swapaxes(0, 1)).sum(axis=2)
            least = np.minimum(left, left.T)
            factor = 1.0 - least + np.divide(met, least, out=np.zeros_like(met), where=least > 0.0)
            factor[same] = 1.0
        total = total + np.log(np.maximum(factor, 1.0))
    # Sums of numbers that are not negative: relative errors add up, M + 4 roundings a step, and
    # those of the exponents, each a few of its own size.
    roundings = belief.steps * (count + 4.0) + largest.sum()
    return np.asarray(total + 16.0 * UNIT_ROUNDOFF * roundings)
