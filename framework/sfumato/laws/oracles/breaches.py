"""Breaches of given traces, counted over every output that a channel can give them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sfumato.beliefs import Markov
from sfumato.channels import Emission
from sfumato.laws.oracles.markov_tables import Table
from sfumato.laws.violation import NotHere
from sfumato.questions import Events

CLOSE = 1e-9
"""A rise so near to δ that rounding decides which side it is on."""


def breach_rate(
    *,
    belief: Markov,
    question: Events,
    channel: Emission,
    traces: Sequence[Sequence[Any]],
    delta: float,
    per: str,
) -> float:
    """Return the expected share of sensitive states X_t ∈ A with Pr[A | o] − Pr[A] > δ."""
    if question.has_windows:
        raise NotHere("the oracle counts states, not windows")
    table = Table.of(belief, channel)
    seen = table.joint.sum(axis=0)
    breached = sensitive = length = 0.0
    for trace in traces:
        path = tuple(int(code) for code in belief.encode(trace))
        row = table.joint[table.traces.index(path)]
        if row.sum() <= 0:
            raise NotHere("the oracle knows nothing of a trace that cannot occur")
        length += len(path)
        for mask in question.masks:
            time = int(np.flatnonzero(mask.any(axis=1))[0])
            if not mask[time, path[time]]:
                continue
            sensitive += 1
            inside = np.array([mask[time, other[time]] for other in table.traces])
            possible = row > 0
            rise = table.joint[inside][:, possible].sum(axis=0) / seen[possible]
            rise -= table.joint[inside].sum()
            if (np.abs(rise - delta) < CLOSE).any():
                raise NotHere("a rise is too close to δ for the oracle to decide")
            breached += float(row[possible][rise > delta].sum() / row.sum())
    whole = sensitive if per == "sensitive_state" else length
    if whole == 0:
        raise NotHere("no sensitive state occurs")
    return breached / whole
