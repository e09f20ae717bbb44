"""What outputs tell about events, from the table of every trace and output."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from sfumato.beliefs import Markov
from sfumato.channels import Emission, RememberingSuppression
from sfumato.errors import OutsideHypotheses
from sfumato.laws.brute_force import Table, expected_releases, from_table
from sfumato.protocols import Reading
from sfumato.questions import Events

CLOSE = 1e-9
"""A rise so near to δ that rounding decides which side it is on."""


def posterior_gap(
    belief: Markov, question: Events, channel: Emission | RememberingSuppression
) -> Reading:
    """Return max over outputs o and events A of Pr[A | o] − Pr[A]."""

    def worst(table: Table) -> float:
        seen = table.joint.sum(axis=0)
        joint = table.joint[:, seen > 0] / seen[seen > 0]
        rises = [
            joint[inside].sum(axis=0).max() - table.joint[inside].sum()
            for inside in map(table.inside, question.masks)
        ]
        return float(max(rises))

    return from_table(worst, belief, channel)


def breach_rate(
    *,
    belief: Markov,
    question: Events,
    channel: Emission,
    traces: Sequence[Sequence[Hashable]],
    delta: float,
    per: str,
) -> Reading:
    """Return the expected share of sensitive states X_t ∈ A with Pr[A | o] − Pr[A] > δ."""
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


def released_fraction(belief: Markov, channel: Emission | RememberingSuppression) -> Reading:
    """Return the expected number of symbols that are not withheld, over the steps."""
    return Reading(value=expected_releases(belief, channel) / belief.steps, bound="exact")
