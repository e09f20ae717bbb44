"""Reconstruction and information, from the table of every trace and output."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sfumato.beliefs import Gaussian, Markov
from sfumato.channels import AdditiveGaussian, Emission
from sfumato.errors import OutsideHypotheses
from sfumato.laws.brute_force import Table, from_table, worst_of_tables
from sfumato.laws.exact_gaussian import as_float, entries_left, in_exact_numbers, leading_pivots
from sfumato.protocols import Reading
from sfumato.questions import Displacements, Guess, Nearness
from sfumato.values import FloatArray

MOST_PAIRS = 2_000_000
"""Pairs of a trace and a guess, at most."""


def reconstruction(belief: Markov, question: Guess, channel: Emission) -> Reading:
    """Return Σ_o max over guesses g of Pr[d(X, g) ≤ mistakes, o]."""

    def best(table: Table) -> float:
        if len(table.traces) ** 2 > MOST_PAIRS:
            raise OutsideHypotheses("there are too many guesses for brute force.")
        wrong = (table.traces[:, None, :] != table.traces[None, :, :]).sum(axis=2)
        success = (wrong <= question.mistakes).astype(float) @ table.joint
        return float(success.max(axis=0).sum())

    return from_table(best, belief, channel)


def mutual_information(belief: Gaussian | Markov, channel: Any) -> Reading:
    """Return I(X; O) in nats, summed over all pairs; for Gaussian traces ½ log(det K / det Γ)."""
    if isinstance(belief, Gaussian):
        return _of_determinants(belief, channel)
    return from_table(table_information, belief, channel)


def information_about_secret(belief: Any, question: Any, channel: Any) -> Reading:
    """Return I(S; O) of the worst secret variable; of real values ½ log(det Σ_SS / det V_SS)."""
    if isinstance(question, Displacements):
        found = []
        for group, left in zip(
            question.groups, entries_left(belief, question, channel), strict=True
        ):
            entries = [entry for ball in group for entry in ball]
            own = belief.covariance.block(entries, entries)
            if min(np.linalg.eigvalsh(matrix)[0] for matrix in (own, left)) < 1e-6:
                raise OutsideHypotheses("float64 does not settle brute force's determinants.")
            found.append(float(np.linalg.slogdet(own)[1] - np.linalg.slogdet(left)[1]) / 2)
        return Reading(value=max(found), bound="exact")
    if isinstance(question, Nearness):
        raise OutsideHypotheses("brute force looks at states, or at real values.")

    def told(joint: FloatArray, asked: Any) -> float:
        del asked
        values, outputs = np.nonzero(joint)
        ratio = joint[values, outputs] / joint.sum(axis=1)[values] / joint.sum(axis=0)[outputs]
        return math.fsum(joint[values, outputs] * np.log(ratio))

    return worst_of_tables(belief, question, channel, told)


def table_information(table: Table) -> float:
    """Return Σ Pr[x, o] log(Pr[x, o] / (Pr[x] Pr[o]))."""
    traces, outputs = np.nonzero(table.joint)
    joint = table.joint[traces, outputs]
    # Three logarithms: the product of two tiny marginals could vanish.
    gain = (
        np.log(joint)
        - np.log(table.joint.sum(axis=1)[traces])
        - np.log(table.joint.sum(axis=0)[outputs])
    )
    return float((joint * gain).sum())


def _of_determinants(belief: Gaussian, channel: AdditiveGaussian) -> Reading:
    def of_numbers(sigma: Any, gamma: Any) -> float:
        pairs = [leading_pivots(sigma + gamma), leading_pivots(gamma)]
        if not all(len(pivots) == belief.entries and pivots[-1] > 0 for pivots in pairs):
            raise OutsideHypotheses("brute force needs noise that is certainly definite.")
        ratios = (as_float(k / g) for k, g in zip(*pairs, strict=True))
        return 0.5 * math.fsum(map(math.log, ratios))

    return Reading(value=in_exact_numbers(belief, channel, of_numbers), bound="exact")
