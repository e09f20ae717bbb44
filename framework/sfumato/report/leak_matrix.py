"""What the release at each time says, alone, of the secret at each time."""

from __future__ import annotations

import time as clock
from collections.abc import Mapping
from typing import Any

from sfumato.errors import OutsideHypotheses
from sfumato.inference.glimpses import glimpses
from sfumato.protocols.loss import Reading

LeakMatrix = dict[tuple[int, int], Reading]
"""By the time of the secret and the time of the release."""


def leak_matrix(
    measure: Any,
    belief: Any,
    channel: Any,
    questions: Mapping[int, Any],
    *,
    times: list[int],
    until: float,
) -> LeakMatrix:
    """Return the readings for all pairs of `times`; refuse what has none or would take too long.

    Scenarios that are equal, as those at equal distances of a stationary trace, are read once.
    """
    known: dict[Any, Reading] = {}
    found: LeakMatrix = {}
    for glimpse in glimpses(belief, channel, {time: questions[time] for time in times}, times):
        scenario = (glimpse.belief, glimpse.question, glimpse.channel)
        if scenario not in known:
            if clock.monotonic() > until:
                raise OutsideHypotheses("too many")
            known[scenario] = measure.evaluate(*scenario)
        found[glimpse.secret, glimpse.released] = known[scenario]
    if not found:
        raise OutsideHypotheses("its single releases have no law of their own")
    return found
