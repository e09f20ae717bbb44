"""From mutual information to the success of any guesser: three inequalities, solved for it.

In each, p is the success probability, I an upper bound on the mutual information, and the answer
is the largest p that the inequality allows. Every log-probability may be far below what float64
can hold as a probability: M^T is never formed.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.beliefs import Markov
from sfumato.channels import Emission, Symbols
from sfumato.errors import OutsideHypotheses, Undecidable
from sfumato.inference.markov.enumeration import enumerate_outputs
from sfumato.values import FloatArray
from sfumato_fano.information import best_information, chain_entropy, followed, raw
from sfumato_fano.matches import affordable_matches, match_sums
from sfumato_fano.position_sets import consecutive_logs, position_sets
from sfumato_fano.sightings import Sightings, sightings_of
from sfumato_fano.success_bounds import divergence_success, fano_success, log_ball_size, log_choose
from sfumato_fano.whole_trace import WholeTrace

ROUNDING = 1e-12
"""Sums are raised by this share of themselves, well above the rounding of float64."""


def success_limits(
    belief: Markov, channel: Emission, mistakes: int, budget: float
) -> dict[str, float]:
    """Return all bounds on max over guessers of Pr[d(X, X̂) ≤ mistakes], by name.

    What holds without noise holds with it. Every choice of what to compute depends on the
    budget and not on the mistakes, so that the smallest bound never falls as mistakes grow.
    """
    if mistakes >= belief.steps:
        return {"every guess succeeds": 1.0}
    quiet = raw(channel)
    sightings = followed(belief, quiet)
    information = best_information(belief, channel, sightings).value
    bounds = {
        "Fano": fano_success(
            chain_entropy(belief),
            information,
            belief.steps * math.log(belief.state_count),
            log_ball_size(belief.state_count, belief.steps, mistakes),
        ),
    }
    sums = _match_sums(belief, quiet, sightings, budget)
    for size in range(1, min(len(sums) - 1, belief.steps - mistakes) + 1):
        subsets = math.comb(belief.steps - mistakes, size)
        bounds[f"{size} matches"] = min(float(sums[size]) / subsets, 1.0)
    # Those who see nothing can guess the likeliest trace: if even that success makes the
    # divergence bound larger than what is known, the bound itself is not worth its price.
    least = float(consecutive_logs(belief)[-1])
    if divergence_success(information, least) < min(bounds.values()):
        log_blind = _log_blind(belief, mistakes, budget)
        bounds["divergence"] = divergence_success(information, log_blind)
    if mistakes == 0:
        whole = WholeTrace.of(belief, quiet)
        if whole is not None:
            bounds["whole trace"] = whole.value
    return bounds


def _match_sums(
    belief: Markov, channel: Emission, sightings: Sightings | None, budget: float
) -> FloatArray:
    """Return m_0, ..., m_k for every k within the budget; at least m_0. Rounding errs upwards.

    Only positive numbers are added and multiplied, so the relative error of a sum is below
    the number of its operations in a row, at most T (M + nodes), times 2^-52.
    """
    if sightings is None:
        return _enumerated_sums(belief, channel) * (1.0 + ROUNDING)
    terms = belief.steps * (belief.state_count + len(sightings))
    sums = match_sums(sightings, affordable_matches(sightings, budget))
    return sums * (1.0 + ROUNDING + terms * 2.0**-52)


def _enumerated_sums(belief: Markov, channel: Emission) -> FloatArray:
    """Return m_0 and m_1 = Σ_y Pr[y] Σ_t max_x Pr[X_t = x | y], where outputs can be listed."""
    try:
        outputs = enumerate_outputs(belief, channel)
    except (OutsideHypotheses, Undecidable):
        return np.ones(1)
    total = 0.0
    for part in outputs.parts():
        best = outputs.marginals(part).max(axis=2).sum(axis=1)
        total += float(outputs.probabilities[part] @ best)
    return np.array([1.0, total])


def _log_blind(belief: Markov, mistakes: int, budget: float) -> float:
    """Return the log of a bound on the success of those who see nothing.

    Matching T − s positions means matching C(T − s, k) subsets of k, of which C(T, k) exist, none
    with a probability above f(k).
    """
    steps = belief.steps
    nothing = Symbols(belief.states, (0,), np.ones((steps, belief.state_count, 1)))
    blind = sightings_of(belief, nothing)
    if blind is None:
        raise TypeError("a release of nothing has no sightings to follow.")
    sums = _match_sums(belief, nothing, blind, budget)
    matched = steps - mistakes
    logs = [
        math.log(sums[size]) - log_choose(matched, size)
        for size in range(1, min(len(sums) - 1, matched) + 1)
    ]
    if len(sums) <= steps:
        largest = position_sets(belief, steps, budget).logs
        logs += [
            log_choose(steps, size) + float(largest[size]) - log_choose(matched, size)
            for size in range(1, matched + 1)
        ]
    return min(logs)
