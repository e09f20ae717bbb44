"""Gaussian losses from their definitions, in exact arithmetic, for tiny traces."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import flint
import numpy as np

from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.errors import OutsideHypotheses
from sfumato.laws.brute_force import between, crossing
from sfumato.laws.exact_gaussian import (
    as_array,
    as_float,
    in_exact_numbers,
    noise_of,
    part,
    posterior_covariance,
    solve,
)
from sfumato.protocols import Reading
from sfumato.questions import Displacements
from sfumato.questions.displacements import Group
from sfumato.values import FloatArray

ASCENTS = 40
"""Rounds of the ascent that looks for the worst of several balls."""


def renyi_divergence(
    belief: Gaussian, question: Displacements, channel: AdditiveGaussian, order: float
) -> Reading:
    """Return sup over the allowed Δ of the Rényi divergence of the two releases.

    Given X_S = x the release is N(Ãx, C + Γ) with Ã = Σ_{:,S}Σ_SS⁻¹ and C = Σ − ÃΣ_{S,:}, so two
    hypotheses Δ apart have divergence (λ/2)(ÃΔ)ᵀ(C + Γ)⁻¹(ÃΔ).
    """

    def of_numbers(sigma: Any, gamma: Any) -> tuple[float, float]:
        ends = np.array([_largest_form(_information(sigma, gamma, g), g) for g in question.groups])
        low, high = (order / 2 * np.square(question.radii)[:, None] * ends).max(axis=0).tolist()
        return low, high

    return between(*in_exact_numbers(belief, channel, of_numbers))


def _information(sigma: Any, gamma: Any, group: Group) -> Any:
    """Return Ãᵀ(C + Γ)⁻¹Ã."""
    secret, every = [entry for ball in group for entry in ball], range(sigma.nrows())
    cross = part(sigma, every, secret)
    weights = solve(part(sigma, secret, secret), cross.transpose()).transpose()
    return weights.transpose() * solve(sigma - weights * cross.transpose() + gamma, weights)


def _largest_form(information: Any, group: Group) -> tuple[float, float]:
    """Return two ends of sup ΔᵀMΔ over unit balls: signs for scalars, eigenvalues for one ball."""
    matrix = as_array(information)
    matrix = (matrix + matrix.T) / 2
    if len(group) == 1:
        return (float(np.linalg.eigvalsh(matrix)[-1]),) * 2
    if any(len(ball) > 1 for ball in group):
        return _several_balls(matrix, [len(ball) for ball in group])
    signs = np.array(list(itertools.product((1.0, -1.0), repeat=len(matrix))))
    return (float(np.einsum("si,ij,sj->s", signs, matrix, signs).max()),) * 2


def _several_balls(matrix: FloatArray, sizes: Sequence[int]) -> tuple[float, float]:
    """Return what an ascent reaches, and Σ_kl ‖M_kl‖, which nothing exceeds.

    One ball at a time: ΔᵀMΔ is convex in Δ_k, so replacing Δ_k by the unit vector along its
    gradient never lowers it.
    """
    ends = np.cumsum([0, *sizes])
    balls = [slice(a, b) for a, b in itertools.pairwise(ends)]
    high = sum(float(np.linalg.norm(matrix[one, other], 2)) for one in balls for other in balls)
    low = 0.0
    starts = np.random.default_rng(0).standard_normal((2 * len(matrix), len(matrix)))
    for point in (*np.linalg.eigh(matrix)[1].T, *starts):
        for _ in range(ASCENTS):
            for ball in balls:
                gradient = matrix[ball] @ point
                point[ball] = gradient / max(float(np.linalg.norm(gradient)), 1e-300)
        low = max(low, float(point @ matrix @ point))
    return low, high


def odds_gap(
    belief: Gaussian, question: Displacements, channel: AdditiveGaussian, delta: float | None
) -> Reading:
    """Return the gap exceeded with chance δ, or without δ its expectation ½ΔᵀMΔ.

    The expectation m is the Rényi divergence as if of order one, and the gap grows with it.
    """
    mean = renyi_divergence(belief, question, channel, 1.0)
    if delta is None:
        return mean
    return between(*(log_odds_quantile(end, delta) for end in (mean.floor, mean.ceiling)))


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
    mean = len(left) > 1 and sorted(question.groups) == every
    return Reading(value=float(np.mean(left)) if mean else min(left), bound="exact")


def _widths(covariance: Any, question: Displacements) -> list[float]:
    found = []
    for group in question.groups:
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
