"""What outputs tell about events, from the table of every trace and output."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from sfumato.beliefs import Gaussian, Markov
from sfumato.channels import AdditiveGaussian, Emission, RememberingSuppression
from sfumato.errors import OutsideHypotheses
from sfumato.laws.brute_force import Table, expected_releases, worst_of_tables
from sfumato.laws.exact_gaussian import ball_success, entries_left
from sfumato.protocols import Reading
from sfumato.questions import Displacements, Events, Nearness
from sfumato.values import FloatArray

CLOSE = 1e-9
"""A rise so near to δ that rounding decides which side it is on."""


def posterior_gap(belief: Any, question: Any, channel: Any) -> Reading:
    """Return max over outputs o and events A of Pr[A | o] − Pr[A]."""
    if isinstance(question, Displacements):
        return ball_success(belief, question, channel, None)
    if isinstance(question, Nearness):
        return _near(belief, question, channel)

    def rise(joint: FloatArray, asked: Any) -> float:
        seen = joint.sum(axis=0)
        posteriors = joint[:, seen > 0] / seen[seen > 0]
        return max(float(posteriors[row].max() - joint[row].sum()) for row in asked.events)

    return worst_of_tables(belief, question, channel, rise)


def _near(belief: Gaussian, question: Nearness, channel: AdditiveGaussian) -> Reading:
    """Return the rise for someone whose posterior mean is the place itself."""
    ball = Displacements((((question.entry,),),), question.radius)
    entry, centre = question.entry, 0.0 if belief.mean is None else belief.mean[question.entry]
    left = float(entries_left(belief, ball, channel)[0][0, 0])
    own = math.sqrt(float(belief.covariance.diagonal()[entry]) * 2.0)
    ends = [(question.place + side * question.radius - centre) / own for side in (-1, 1)]
    prior = (math.erf(ends[1]) - math.erf(ends[0])) / 2.0
    if left <= 0.0:
        return Reading(value=1.0 - prior, bound="exact")
    return Reading(value=math.erf(question.radius / math.sqrt(2.0 * left)) - prior, bound="exact")


def breach_rate(
    *,
    belief: Markov,
    question: Events,
    channel: Emission,
    traces: Sequence[Sequence[Hashable]] | None,
    delta: float,
    per: str,
) -> Reading:
    """Return the expected share of sensitive states X_t ∈ A with Pr[A | o] − Pr[A] > δ.

    Without traces, the chance of such a rise, of the worst event.
    """
    if traces is None:
        return _chance_of_breach(belief, question, channel, delta)
    if question.has_windows:
        raise OutsideHypotheses("brute force counts breaches of states, not of windows.")
    table = Table.of(belief, channel)
    seen = table.joint.sum(axis=0)
    breached, sensitive = 0.0, 0
    for path in map(belief.encode, traces):
        outputs = table.joint[table.row(path)]
        if outputs.sum() <= 0:
            raise OutsideHypotheses("brute force knows nothing of a trace that cannot occur.")
        possible = outputs > 0
        for mask in question.masks:
            if not mask[np.arange(belief.steps), path].any():
                continue
            sensitive += 1
            inside = table.joint[table.inside(mask)]
            rise = inside[:, possible].sum(axis=0) / seen[possible] - inside.sum()
            if (np.abs(rise - delta) < CLOSE).any():
                raise OutsideHypotheses("a rise is too close to δ for brute force to decide.")
            breached += float(outputs[possible][rise > delta].sum() / outputs.sum())
    whole = sensitive if per == "sensitive_state" else len(traces) * belief.steps
    if whole == 0:
        raise OutsideHypotheses("no sensitive state occurs.")
    return Reading(value=breached / whole, bound="exact")


def _chance_of_breach(belief: Any, question: Any, channel: Any, delta: float) -> Reading:
    if isinstance(belief, Gaussian):
        raise OutsideHypotheses("brute force counts breaches of states.")

    def chance(joint: FloatArray, asked: Any) -> float:
        seen, found = joint.sum(axis=0), [0.0]
        for row in asked.events:
            rise = joint[row, seen > 0] / seen[seen > 0] - joint[row].sum()
            if (np.abs(rise - delta) < CLOSE).any() and 0.0 < joint[row].sum() < 1.0 - CLOSE:
                raise OutsideHypotheses("a rise is too close to δ for brute force to decide.")
            found.append(math.fsum(seen[seen > 0][rise > delta + CLOSE]))
        return max(found)

    return worst_of_tables(belief, question, channel, chance)


def released_fraction(belief: Markov, channel: Emission | RememberingSuppression) -> Reading:
    """Return the expected number of symbols that are not withheld, over the steps."""
    return Reading(value=expected_releases(belief, channel) / belief.steps, bound="exact")
