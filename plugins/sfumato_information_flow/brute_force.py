"""Capacities and entropies from the table of every trace and output, by other means."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from sfumato.errors import OutsideHypotheses
from sfumato.laws.brute_force import from_table, secret_tables
from sfumato.protocols import Reading
from sfumato.questions import Nearness
from sfumato.values import FloatArray

MOST = 5_000
"""Numbers of a channel, at most, for the convex solver."""


def _worst(belief: Any, question: Any, channel: Any, loss: Any, worse: Any = max) -> Reading:
    """Return the worst ``loss(joint)`` over the secret variables."""
    if isinstance(question, Nearness):
        raise OutsideHypotheses("brute force looks at states.")
    return from_table(
        lambda one: worse(loss(joint) for _, joint in secret_tables(one, question)), belief, channel
    )


def _laws(joint: FloatArray) -> list[list[float]]:
    return [(row / math.fsum(row)).tolist() for row in joint if row.sum() > 0]


def bayes_capacity(belief: Any, question: Any, channel: Any, form: str) -> Reading:
    """Return the largest ratio, or difference, of successes over laws uniform on a set."""

    def largest(joint: FloatArray) -> float:
        laws, best = _laws(joint), 1.0 if form == "multiplicative" else 0.0
        for size in range(1, len(laws) + 1):
            for some in itertools.combinations(laws, size):
                after = math.fsum(max(column) for column in zip(*some, strict=True)) / size
                gain = after * size if form == "multiplicative" else after - 1.0 / size
                best = max(best, gain)
        return best

    return _worst(belief, question, channel, largest)


def shannon_capacity(belief: Any, question: Any, channel: Any) -> Reading:
    """Return max over laws of H(O) − H(O | S), by a general convex solver."""
    from scipy.optimize import minimize

    def capacity(joint: FloatArray) -> float:
        laws = np.array(_laws(joint))
        if len(laws) == 1:
            return 0.0
        if laws.size > MOST:
            raise OutsideHypotheses("there are too many outputs for a convex solver.")
        own = [math.fsum(-p * math.log(p) for p in law if p > 0) for law in laws.tolist()]

        def told(weights: FloatArray) -> tuple[float, FloatArray]:
            """Return the information under weights, and its slopes: D(ℓ_s ‖ q) less it."""
            law = weights / weights.sum()
            mixed = law @ laws
            logs = np.log(mixed, out=np.zeros_like(mixed), where=mixed > 0.0)
            each = -laws @ logs - own
            return float(law @ each), (each - law @ each) / weights.sum()

        start = np.ones(len(laws))
        scale = max(told(start)[0], 1e-12)  # so that tiny capacities are solved as well as large

        def missed(weights: FloatArray) -> tuple[float, FloatArray]:
            value, slopes = told(weights)
            return -value / scale, -slopes / scale

        found = minimize(
            missed,
            start,  # one start will do: the information is concave in the law
            jac=True,
            method="SLSQP",
            bounds=[(1e-12, 1.0)] * len(laws),
            options={"ftol": 1e-16, "maxiter": 500},
        )
        return told(found.x)[0]

    return _worst(belief, question, channel, capacity)


def remaining_entropy(belief: Any, question: Any, channel: Any) -> Reading:
    """Return H(S, O) − H(O)."""

    def entropy(masses: FloatArray) -> float:
        return math.fsum(-p * math.log(p) for p in masses.ravel().tolist() if p > 0.0)

    def left(joint: FloatArray) -> float:
        return max(0.0, entropy(joint) - entropy(joint.sum(axis=0)))

    return _worst(belief, question, channel, left, min)


def guessing_entropy(belief: Any, question: Any, channel: Any) -> Reading:
    """Return the expected number of questions, of every outcome by the best order of all."""

    def questions(joint: FloatArray) -> float:
        if len(joint) > 6:
            raise OutsideHypotheses("there are too many orders of asking for brute force.")
        ranks = np.array(list(itertools.permutations(range(1, len(joint) + 1))), dtype=float)
        return math.fsum((ranks @ joint).min(axis=0).tolist())

    return _worst(belief, question, channel, questions, min)
