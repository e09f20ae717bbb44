"""Gaussian losses from their definitions, in exact arithmetic, for tiny traces."""

from __future__ import annotations

import math
from typing import Any

import flint
import numpy as np

from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.errors import OutsideHypotheses
from sfumato.laws.brute_force import between, crossing, worst_of_pairs
from sfumato.laws.exact_gaussian import (
    as_array,
    as_float,
    in_exact_numbers,
    noise_of,
    part,
    posterior_covariance,
    worst_squares,
)
from sfumato.protocols import Reading
from sfumato.questions import Displacements
from sfumato.values import FloatArray


def renyi(belief: Any, question: Any, channel: Any, order: float) -> Reading:
    """Return the divergence of the worst pair: of its two Gaussian releases, or of its two laws."""
    if isinstance(question, Displacements):
        low, high = worst_squares(belief, question, channel)
        if math.isinf(order):
            return Reading(value=math.inf if high > 0 else 0.0, bound="exact")
        return between(order / 2 * low, order / 2 * high)
    return worst_of_pairs(belief, question, channel, lambda p, q: _divergence(p, q, order))


def _divergence(p: FloatArray, q: FloatArray, order: float) -> float:
    """Return log Σ p^λ q^{1−λ} / (λ − 1), its terms kept as logarithms."""
    some = p > 0
    if (q[some] == 0).any():
        return math.inf
    logs = np.log(p[some]), np.log(q[some])
    if math.isinf(order):
        return float((logs[0] - logs[1]).max())
    if order == 1.0:
        return max(0.0, math.fsum(p[some] * (logs[0] - logs[1])))
    terms = order * logs[0] + (1 - order) * logs[1]
    top = float(terms.max())
    return max(0.0, top + math.log(math.fsum(np.exp(terms - top)))) / (order - 1)


def odds_gap(belief: Any, question: Any, channel: Any, *given: Any) -> Reading:
    """Return the gap exceeded with chance δ, or its expectation ½ΔᵀMΔ, whatever is converted.

    The expectation m is the Rényi divergence as if of order one, and the gap grows with it.
    """
    delta, _, expected, _ = given
    if not isinstance(question, Displacements):
        if expected:
            raise OutsideHypotheses("brute force knows the expected gap of real values only.")
        return worst_of_pairs(belief, question, channel, lambda p, q: _gap_of_laws(p, q, delta))
    mean = renyi(belief, question, channel, 1.0)
    if expected:
        return mean
    return between(*(log_odds_quantile(end, delta) for end in (mean.floor, mean.ceiling)))


def _gap_of_laws(p: FloatArray, q: FloatArray, delta: float) -> float:
    """Return the smallest |log p/q| that is exceeded with chance at most δ."""
    some = p > 0
    with np.errstate(divide="ignore"):
        gaps = np.abs(np.log(p[some]) - np.log(q[some]))
    beyond = np.array([math.fsum(p[some][gaps > g * (1 + 1e-9)]) for g in gaps])
    if (np.abs(beyond - delta) < 1e-9).any():
        raise OutsideHypotheses("a chance is too close to δ for brute force.")
    return float(gaps[beyond <= delta].min())


def log_odds_quantile(mean: float, delta: float) -> float:
    """Return g with Pr[|G| > g] = δ for G ~ N(m, 2m), in balls of 200 bits.

    Given one of two secrets Δ apart, log p(Z | s)/p(Z | s') is Gaussian of mean m = ½ΔᵀMΔ and
    variance 2m: the release is N(a, K) or N(b, K), and the log-ratio is linear in it.

    >>> from sfumato_renyi.brute_force import log_odds_quantile
    >>> round(log_odds_quantile(0.02, 4.75e-10), 3)
    1.251
    """
    if mean == 0 or math.isinf(mean):
        return mean

    def exceeds(gap: float) -> bool:
        scale = 2 * flint.arb(mean).sqrt()  # a deviation of √2 √(2m)
        beyond = sum(((flint.arb(gap) + end) / scale).erfc() for end in (mean, -mean)) / 2
        return bool(beyond > delta)

    with flint.ctx.workprec(200):
        return crossing(exceeds, mean + 120 * math.sqrt(mean))


def posterior_interval(
    belief: Gaussian, question: Displacements, channel: AdditiveGaussian
) -> Reading:
    """Return 2√λ_min(V_SS) of the narrowest group; the mean where the groups are all times."""
    left = in_exact_numbers(
        belief, channel, lambda sigma, gamma: _widths(posterior_covariance(sigma, gamma), question)
    )
    every = [(belief.entries_at(time),) for time in range(belief.times)]
    mean = len(left) > 1 and sorted(set(question.groups)) == every
    return Reading(value=float(np.mean(left)) if mean else min(left), bound="exact")


def _widths(covariance: Any, question: Displacements) -> list[float]:
    found = []
    for group in dict.fromkeys(question.groups):
        entries = [entry for ball in group for entry in ball]
        block = as_array(part(covariance, entries, entries))
        smallest = float(np.linalg.eigvalsh(block)[0])
        if len(entries) > 1 and smallest < 1e-6 * float(block.diagonal().max()):
            raise OutsideHypotheses("float64 does not settle brute force's smallest eigenvalue.")
        found.append(2.0 * math.sqrt(max(smallest, 0.0)))
    return found


def mean_squared_error(belief: Any, question: Any, channel: AdditiveGaussian) -> Reading:
    """Return tr Γ / n, added up in fractions."""
    del belief, question
    noise = noise_of(channel)
    total = sum((noise[i, i] for i in range(channel.entries)), flint.fmpq(0))
    return Reading(value=as_float(total / channel.entries), bound="exact")
