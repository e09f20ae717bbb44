"""What outputs tell about events, from the table of every trace and output."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sfumato.beliefs import Gaussian, Markov
from sfumato.channels import AdditiveGaussian
from sfumato.errors import OutsideHypotheses
from sfumato.laws.brute_force import Table, between, expected_releases, worst_of_tables
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
        found = (_near(belief, one, channel).value for one in question.parts)
        return Reading(value=max(found), bound="exact")

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


def breach_rate(belief: Any, question: Any, channel: Any, *given: Any) -> Reading:
    """Return the expected share of sensitive states X_t ∈ A with Pr[A | o] − Pr[A] > δ.

    Without traces, the chance of such a rise, of the worst event.
    """
    traces, delta, per, _ = given
    if traces is None:
        return _chance_of_breach(belief, question, channel, delta)
    if not isinstance(question, Events) or question.has_windows:
        raise OutsideHypotheses("brute force counts breaches of states, not of windows.")
    table = Table.of(belief, channel)
    seen = table.joint.sum(axis=0)
    breached, sensitive = 0.0, 0
    for path in map(belief.encode, traces):
        outputs = table.joint[table.row(path)]
        if outputs.sum() <= 0:
            raise OutsideHypotheses("brute force knows nothing of a trace that cannot occur.")
        possible = outputs > 0
        for time, state in enumerate(path):
            masks = [mask for mask in question.masks if mask[time, state]]
            sensitive += bool(masks)
            above = np.zeros(int(possible.sum()), dtype=bool)
            for mask in masks:
                inside = table.joint[table.inside(mask)]
                rise = inside[:, possible].sum(axis=0) / seen[possible] - inside.sum()
                if (np.abs(rise - delta) < CLOSE).any():
                    raise OutsideHypotheses("a rise is too close to δ for brute force to decide.")
                above |= rise > delta
            breached += float(outputs[possible][above].sum() / outputs.sum())
    whole = sensitive if per == "sensitive_state" else len(traces) * belief.steps
    if whole == 0:
        raise OutsideHypotheses("no sensitive state occurs.")
    return Reading(value=breached / whole, bound="exact")


def _chance_of_breach(belief: Any, question: Any, channel: Any, delta: float) -> Reading:
    if isinstance(belief, Gaussian):
        return _breach_of_values(belief, question, channel, delta)

    def chance(joint: FloatArray, asked: Any) -> float:
        seen, found = joint.sum(axis=0), [0.0]
        for row in asked.events:
            rise = joint[row, seen > 0] / seen[seen > 0] - joint[row].sum()
            if (np.abs(rise - delta) < CLOSE).any() and 0.0 < joint[row].sum() < 1.0 - CLOSE:
                raise OutsideHypotheses("a rise is too close to δ for brute force to decide.")
            found.append(math.fsum(seen[seen > 0][rise > delta + CLOSE]))
        return max(found)

    return worst_of_tables(belief, question, channel, chance)


def _breach_of_values(belief: Gaussian, question: Any, channel: Any, delta: float) -> Reading:
    """Return Pr[p(m) > Pr[A] + δ] of the worst place, on a grid of posterior means and places."""
    asked: list[tuple[Any, float, float | None]]
    if isinstance(question, Nearness):
        asked = [(((one.entry,),), one.radius, one.place) for one in question.parts]
    else:
        pairs = zip(question.groups, question.radii, strict=True)
        asked = [(group, radius, None) for group, radius in pairs]
    found = [0.0]
    for group, radius, place in asked:
        if len(group) > 1 or len(group[0]) > 1:
            raise OutsideHypotheses("brute force knows breaches of one real value.")
        (entry,), ball = group[0], Displacements((group,), radius)
        left = float(entries_left(belief, ball, channel)[0][0, 0])
        whole = float(belief.covariance.diagonal()[entry])
        if not 0.0 < left < whole:
            raise OutsideHypotheses("brute force knows breaches of a value that is partly told.")
        spread, deviation = math.sqrt(whole - left), math.sqrt(left)
        places = np.linspace(0.0, radius + 6.0 * deviation + 9.0 * spread, 2_001)
        if place is not None:
            places = np.array([place - (0.0 if belief.mean is None else belief.mean[entry])])
        found += [_rate(one, radius, spread, deviation, delta) for one in places]
    worst = max(found)
    return between(max(0.0, worst - GRID), min(1.0, worst + GRID))


GRID = 5e-3
"""How far sums over a grid of posterior means and places may be from the truth."""


def _rate(place: float, radius: float, spread: float, deviation: float, delta: float) -> float:
    """Return how often a posterior mean, N(0, spread²), makes |X − place| ≤ radius that likely."""
    from scipy.stats import norm

    means = spread * norm.ppf((np.arange(2_000) + 0.5) / 2_000)
    ends = place - radius, place + radius
    rise = norm.cdf((ends[1] - means) / deviation) - norm.cdf((ends[0] - means) / deviation)
    whole = math.hypot(spread, deviation)
    prior = norm.cdf(ends[1] / whole) - norm.cdf(ends[0] / whole)
    return float((rise > prior + delta).mean())


def released_fraction(belief: Markov, question: Any, channel: Any) -> Reading:
    """Return the expected number of symbols that are not withheld, over the steps."""
    del question
    return Reading(value=expected_releases(belief, channel) / belief.steps, bound="exact")
