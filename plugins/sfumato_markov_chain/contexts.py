"""Sensitive states of a context stream."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from sfumato.beliefs import Markov
from sfumato.parameters import (
    INDEX,
    LABEL_SET,
    LIST_OF,
    OPTIONAL,
    SWITCH,
    declare,
    parameter,
)
from sfumato.protocols import DeclaredSecret
from sfumato.questions import Events


@declare
class Contexts(DeclaredSecret):
    """Being in a sensitive context at some time: one event for each context and time.

    With ``together=True`` the contexts count as one: "in some sensitive context at time t".

    Reference: Götz, Nath and Gehrke (2012), definition 1.

    >>> Contexts({"hospital", "bar"})
    sf.secrets.contexts(states=['bar', 'hospital'])
    """

    name = "contexts"
    yields = {Markov: Events}  # noqa: RUF012 - a class attribute, never changed

    states: tuple[Hashable, ...] = parameter(LABEL_SET("M"), doc="the sensitive states")
    times: tuple[int, ...] | None = parameter(
        OPTIONAL(LIST_OF(INDEX("T"))), default=None, doc="positions that count; all by default"
    )
    together: bool = parameter(SWITCH, default=False, doc="whether the contexts are one event")

    def question(self, belief: Markov) -> Events:
        """Return one event for each sensitive state and time."""
        unknown = [state for state in self.states if state not in belief.states]
        if unknown:
            raise self.reject("states", f"among {list(belief.states)}", unknown[0])
        times = range(belief.steps) if self.times is None else sorted(set(self.times))
        if times[-1] >= belief.steps:
            raise self.reject("times", f"below the trace length {belief.steps}", times[-1])
        groups = [self.states] if self.together else [(state,) for state in self.states]
        masks, names = [], []
        for group in groups:
            columns = [belief.index(state) for state in group]
            for time in times:
                mask = np.zeros((belief.steps, belief.state_count), dtype=bool)
                mask[time, columns] = True
                masks.append(mask)
                names.append((group[0] if len(group) == 1 else group, time))
        return Events(np.array(masks), tuple(names))
