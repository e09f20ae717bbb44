"""A question taken apart: the same kind of secret, at each single time of the trace."""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatch
from typing import Any

import numpy as np

from sfumato.questions.displacements import Displacements
from sfumato.questions.events import Events

ByTime = Mapping[str, Mapping[int, Any]]


@singledispatch
def by_time(question: Any, belief: Any) -> ByTime:
    """Return, for each thing that is asked, the question about it at every single time.

    A question that has no times, such as one about a whole trajectory, gives nothing.
    Packages with questions of their own register how those are taken apart.

    >>> from sfumato.beliefs import Gaussian
    >>> from sfumato.matrices import Diagonal
    >>> belief = Gaussian(Diagonal(np.ones(3)))
    >>> list(by_time(Displacements(groups=(((1,),),), radii=1.0), belief)["any value"])
    [0, 1, 2]
    """
    del question, belief
    return {}


@by_time.register
def _(question: Displacements, belief: Any) -> ByTime:
    """Ask of every time of the trace, whatever times the question names, by its widest radius."""
    radius = max(question.radii)
    return {
        "any value": {
            time: Displacements(groups=((belief.entries_at(time),),), radii=radius)
            for time in range(belief.times)
        }
    }


@by_time.register
def _(question: Events, belief: Any) -> ByTime:
    """Ask of every event by itself, at its own time, or at each of its times for a window."""
    found: dict[str, dict[int, Events]] = {}
    for mask, name in zip(question.masks, question.names, strict=True):
        times = np.flatnonzero(mask.any(axis=1))
        states = [str(belief.states[state]) for state in np.flatnonzero(mask[times[0]])]
        row = " or ".join(states) if len(times) == 1 else str(name)
        alone = Events(mask[None], (name,))
        found.setdefault(row, {}).update(dict.fromkeys(map(int, times), alone))
    return found
