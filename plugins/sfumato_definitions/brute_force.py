"""The same numbers from their definitions: every trace and output, densities, exact covariances."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sfumato.beliefs import Gaussian
from sfumato.errors import OutsideHypotheses
from sfumato.laws.brute_force import between, worst_of_pairs, worst_of_tables
from sfumato.laws.exact_gaussian import ball_success, entries_left, gaussian_distances
from sfumato.protocols import Reading
from sfumato.questions import Displacements, Nearness
from sfumato.values import FloatArray

FAR = 40.0
"""Deviations between two normal laws beyond which float64 sees no overlap."""

STEPS = 400_000
"""Points of a density, so many that the kink of a maximum does not show."""


def densities(distance: float) -> tuple[FloatArray, FloatArray]:
    """Return the masses of N(μ, 1) and N(0, 1) on a fine grid of points."""
    if distance > FAR:
        raise OutsideHypotheses("the two normal laws are too far apart for brute force.")
    x, step = np.linspace(-12.0, distance + 12.0, STEPS, retstep=True)
    scale = float(step) / math.sqrt(2.0 * math.pi)
    return np.exp(-((x - distance) ** 2) / 2) * scale, np.exp(-(x**2) / 2) * scale


def of_pairs(
    belief: Any, question: Any, channel: Any, loss: Callable[[FloatArray, FloatArray], float]
) -> Reading:
    """Return the loss of the worst pair."""
    if isinstance(question, Displacements):
        return between(
            *(loss(*densities(x)) for x in gaussian_distances(belief, question, channel))
        )
    return worst_of_pairs(belief, question, channel, loss)


def hockey_stick(belief: Any, question: Any, channel: Any, epsilon: float) -> Reading:
    """Return Σ_o max(0, p(o) − e^ε q(o)) of the worst pair."""

    def excess(p: FloatArray, q: FloatArray) -> float:
        return math.fsum(
            max(0.0, a - np.exp(epsilon) * b) if b else a for a, b in zip(p, q, strict=True)
        )

    return of_pairs(belief, question, channel, excess)


def advantage(belief: Any, question: Any, channel: Any) -> Reading:
    """Return half of Σ_o |p(o) − q(o)| of the worst pair."""
    return of_pairs(belief, question, channel, lambda p, q: math.fsum(abs(p - q)) / 2.0)


def power(belief: Any, question: Any, channel: Any, alpha: float) -> Reading:
    """Return the smallest t α + Σ max(0, p − t q) over t: the dual of the best test's program."""

    def best(p: FloatArray, q: FloatArray) -> float:
        from scipy.optimize import minimize_scalar

        def dual(t: float) -> float:
            return t * alpha + float(np.maximum(p - t * q, 0.0).sum())

        some = q > 0
        with np.errstate(over="ignore"):
            ratios = np.unique(np.append(p[some] / q[some], 0.0))
        ratios = ratios[np.isfinite(ratios)]
        if len(ratios) < 5000:  # the dual is piecewise linear with its kinks here
            return min(map(dual, ratios.tolist()))
        coarse = ratios[:: len(ratios) // 500]
        place = int(np.argmin([dual(t) for t in coarse.tolist()]))
        ends = float(coarse[max(place - 1, 0)]), float(coarse[min(place + 1, len(coarse) - 1)])
        return float(minimize_scalar(dual, bounds=ends, method="bounded").fun)

    return of_pairs(belief, question, channel, best)


def of_guess(
    belief: Any, question: Any, channel: Any, loss: Callable[[FloatArray, Any], float]
) -> Reading:
    """Return the largest loss over the secret variables, each with its table."""
    if isinstance(question, Nearness):
        raise OutsideHypotheses("brute force looks at states, or at pairs of real values.")
    return worst_of_tables(belief, question, channel, loss)


def _best(joint: FloatArray, asked: Any) -> float:
    columns = joint.T.tolist()
    return math.fsum(
        max(sum(x for x, hit in zip(column, hits, strict=True) if hit) for hits in asked.hits)
        for column in columns
    )


def bayes_success(belief: Any, question: Any, channel: Any, within: float | None) -> Reading:
    """Return the success of the best guess."""
    if isinstance(belief, Gaussian) and isinstance(question, Displacements):
        return ball_success(belief, question, channel, within)
    return of_guess(belief, question, channel, _best)


def bayes_leakage(belief: Any, question: Any, channel: Any) -> Reading:
    """Return the ratio of the successes with and without what is seen."""
    if isinstance(belief, Gaussian) and isinstance(question, Displacements):
        return ball_success(belief, question, channel, None, ratio=True)

    def ratio(joint: FloatArray, asked: Any) -> float:
        return _best(joint, asked) / _best(joint.sum(axis=1, keepdims=True), asked)

    return of_guess(belief, question, channel, ratio)


def g_vulnerability(belief: Any, question: Any, channel: Any, gain: FloatArray) -> Reading:
    """Return Σ_o max_w Σ_s gain[w, s] Pr[s, o]."""

    def best(joint: FloatArray, asked: Any) -> float:
        if gain.shape[1] != len(asked.members):
            raise OutsideHypotheses("the gains are not those of the secret's values.")
        return math.fsum(max(float(row @ column) for row in gain) for column in joint.T)

    return of_guess(belief, question, channel, best)


def maximal_leakage(belief: Any, question: Any, channel: Any) -> Reading:
    """Return log Σ_o max_s Pr[o | s]; of real values infinite unless nothing is told."""
    if isinstance(question, Displacements):
        return _infinite_unless_silent(belief, question, channel)

    def leak(joint: FloatArray, asked: Any) -> float:
        del asked
        laws = [row / math.fsum(row) for row in joint if row.sum() > 0]
        return math.log(math.fsum(max(column) for column in zip(*laws, strict=True)))

    return of_guess(belief, question, channel, leak)


def pointwise_leakage(belief: Any, question: Any, channel: Any) -> Reading:
    """Return log max Pr[s | o] / Pr[s]; of real values infinite unless nothing is told."""
    if isinstance(question, Displacements):
        return _infinite_unless_silent(belief, question, channel)

    def leak(joint: FloatArray, asked: Any) -> float:
        del asked
        rows, seen = [row for row in joint if row.sum() > 0], joint.sum(axis=0)
        return math.log(
            max(float((row[seen > 0] / seen[seen > 0]).max()) / math.fsum(row) for row in rows)
        )

    return of_guess(belief, question, channel, leak)


def _infinite_unless_silent(belief: Any, question: Any, channel: Any) -> Reading:
    told = max(gaussian_distances(belief, question, channel)) > 0
    return Reading(value=math.inf if told else 0.0, bound="exact")


def expected_error(belief: Any, question: Any, channel: Any, metric: Any) -> Reading:
    """Return the smallest expected distance of a guess, of the secret that is known best."""
    if isinstance(question, Displacements):
        left = entries_left(belief, question, channel)
        if isinstance(metric, str) and metric == "squared":
            return Reading(value=min(float(np.trace(v)) for v in left), bound="exact")
        if isinstance(metric, str) and all(len(v) == 1 for v in left):
            value = min(math.sqrt(2.0 * float(v[0, 0]) / math.pi) for v in left)
            return Reading(value=value, bound="exact")
        raise OutsideHypotheses("brute force knows no such error of real values.")

    def away(joint: FloatArray, asked: Any) -> float:
        table = 1.0 - asked.hits.astype(float) if isinstance(metric, str) else metric
        if table.shape[1] != len(asked.members):
            raise OutsideHypotheses("the distances are not those of the secret's values.")
        return -math.fsum(min(float(row @ column) for row in table) for column in joint.T)

    found = of_guess(belief, question, channel, away)
    return between(-found.ceiling, -found.floor)
