"""Gaussian losses from their definitions, in exact arithmetic, for tiny traces."""

from __future__ import annotations

import math
from typing import Any

import flint
import numpy as np

from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.errors import OutsideHypotheses
from sfumato.laws.brute_force import between, crossing, worst_of_tables
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
from sfumato.questions import Displacements, Nearness
from sfumato.values import FloatArray


def renyi_divergence(belief: Any, question: Any, channel: Any, order: float) -> Reading:
    """Return the divergence of the worst pair: of its two Gaussian releases, or of its two laws."""
    if isinstance(question, Displacements):
        low, high = worst_squares(belief, question, channel)
        if math.isinf(order):
            return Reading(value=math.inf if high > 0 else 0.0, bound="exact")
        return between(order / 2 * low, order / 2 * high)
    if isinstance(question, Nearness):
        raise OutsideHypotheses("brute force looks at states, or at pairs of real values.")

    def divergence(joint: FloatArray, asked: Any) -> float:
        rows = [row / math.fsum(row) if row.sum() > 0 else None for row in joint]
        pairs = [(rows[i], rows[j]) for i, j in asked.pairs.tolist()]
        found = [_divergence(p, q, order) for p, q in pairs if p is not None and q is not None]
        return max(found, default=0.0)

    return worst_of_tables(belief, question, channel, divergence)


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


def odds_gap(belief: Any, question: Any, channel: Any, delta: float | None) -> Reading:
    """Return the gap exceeded with chance δ, or without δ its expectation ½ΔᵀMΔ.

    The expectation m is the Rényi divergence as if of order one, and the gap grows with it.
    """
    if not isinstance(question, Displacements):
        return _gap_of_states(belief, question, channel, delta)
    mean = renyi_divergence(belief, question, channel, 1.0)
    if delta is None:
        return mean
    return between(*(log_odds_quantile(end, delta) for end in (mean.floor, mean.ceiling)))


def _gap_of_states(belief: Any, question: Any, channel: Any, delta: float | None) -> Reading:
    """Return the smallest |log p/q| of the worst pair that is exceeded with chance at most δ."""
    if delta is None or isinstance(question, Nearness):
        raise OutsideHypotheses("brute force knows the expected gap of real values only.")

    def gap(joint: FloatArray, asked: Any) -> float:
        found = [0.0]
        for one, other in asked.pairs.tolist():
            p, q = joint[one], joint[other]
            if p.sum() > 0 and q.sum() > 0:
                p, q = p / math.fsum(p), q / math.fsum(q)
                some = p > 0
                with np.errstate(divide="ignore"):
                    gaps = np.abs(np.log(p[some]) - np.log(q[some]))
                beyond = [math.fsum(p[some][gaps > g * (1 + 1e-9)]) for g in gaps]
                if any(abs(mass - delta) < 1e-9 for mass in beyond):
                    raise OutsideHypotheses("a chance is too close to δ for brute force.")
                kept = [float(g) for g, mass in zip(gaps, beyond, strict=True) if mass <= delta]
                found.append(min(kept))
        return max(found)

    return worst_of_tables(belief, question, channel, gap)


def log_odds_quantile(mean: float, delta: float) -> float:
    """Return g with Pr[|G| > g] = δ for G ~ N(m, 2m), in balls of 200 bits.

    Given one of two secrets Δ apart, log p(Z | s)/p(Z | s') is Gaussian of mean m = ½ΔᵀMΔ and
    variance 2m: the release is N(a, K) or N(b, K), and the log-ratio is linear in it.

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


def mean_squared_error(channel: AdditiveGaussian) -> Reading:
    """Return tr Γ / n, added up in fractions."""
    noise = noise_of(channel)
    total = sum((noise[i, i] for i in range(channel.entries)), flint.fmpq(0))
    return Reading(value=as_float(total / channel.entries), bound="exact")
