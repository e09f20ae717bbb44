"""The largest log-ratio of outputs up to a time, from it on, or of all, from every trace."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sfumato.beliefs import Markov
from sfumato.channels import Emission
from sfumato.errors import OutsideHypotheses
from sfumato.laws.brute_force import Table, secret_tables
from sfumato.protocols import Reading
from sfumato.values import FloatArray


def temporal_leakage(belief: Markov, question: Any, channel: Emission, part: str) -> Reading:
    """Return max log Pr[seen | s]/Pr[seen | s'] over the pairs that are asked about."""
    table = Table.of(belief, channel)
    worst = 0.0
    for asked, joint in secret_tables(table, question):
        time = asked.times[0]
        if len(asked.times) > 1:
            raise OutsideHypotheses("brute force looks at single times.")
        slices = {"total": slice(None), "backward": slice(time + 1), "forward": slice(time, None)}
        seen = [output[slices[part]] for output in table.outputs]
        numbers = {one: number for number, one in enumerate(dict.fromkeys(seen))}
        places = np.array([numbers[one] for one in seen])
        rows = [np.bincount(places, row) for row in joint]
        for one, other in asked.pairs.tolist():
            worst = max(worst, _ratio(rows[one], rows[other]))
    return Reading(value=worst, bound="exact", how="brute force")


def _ratio(p: FloatArray, q: FloatArray) -> float:
    if not (p.any() and q.any()):
        return 0.0
    pairs = zip((p / math.fsum(p)).tolist(), (q / math.fsum(q)).tolist(), strict=True)
    return max((math.log(a / b) if b else math.inf) for a, b in pairs if a)
