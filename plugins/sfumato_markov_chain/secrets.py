"""What state traces hide: sensitive contexts, and the whole trajectory."""

from __future__ import annotations

import itertools
from collections.abc import Hashable

import numpy as np

from sfumato.beliefs import Markov
from sfumato.parameters import (
    INDEX,
    LABEL_SET,
    LIST_OF,
    OPTIONAL,
    SWITCH,
    WHOLE,
    declare,
    parameter,
)
from sfumato.protocols import Secret
from sfumato.questions import Events, Guess
from sfumato.questions.events import Masks


@declare
class Contexts(Secret):
    """Being in a sensitive context at some time: one event for each context and time.

    With ``together=True`` the contexts count as one: "in some sensitive context at time t".
    With ``window=True`` the times count as one: "in that context at some of these times".
    Its pairs are being in the context against not being there, in this order: what can raise the
    belief in it. With ``both_ways=True`` the other order counts too.

    A window spans several segments: `suppress_optimal` and `suppress_set_labels` refuse it, the
    other suppressions are designed for it. δ/w at each of its w times does not give δ for the
    window. What follows from $Pr[X_t = s | o] ≤ Pr[X_t = s] + δ/w$ is, by the union bound,

    $Pr[∃t: X_t = s | o] ≤ ∑_t Pr[X_t = s | o] ≤ ∑_t Pr[X_t = s] + δ$,

    and $∑_t Pr[X_t = s]$ exceeds the prior of the window, $Pr[∃t: X_t = s]$, wherever s may last.

    Reference: Götz, Nath and Gehrke (2012), definition 1 and the remarks after it.

    >>> import sfumato as sf
    >>> day = sf.priors.markov_chain("stationary", [[0.8, 0.2], [0.5, 0.5]], 6, ["home", "bar"])
    >>> secret = sf.secrets.contexts({"bar"})
    >>> release = sf.mechanisms.suppress_sensitive().protect(day, secret)
    >>> print(sf.measures.posterior_gap().loss(day, secret, release))
    posterior gap [probability] = 0.714286
    """

    name = "contexts"
    yields = {Markov: Events}  # noqa: RUF012 - a class attribute, never changed

    states: tuple[Hashable, ...] = parameter(LABEL_SET("M"), doc="the sensitive states")
    times: tuple[int, ...] | None = parameter(
        OPTIONAL(LIST_OF(INDEX("T"))), default=None, doc="positions that count; all by default"
    )
    together: bool = parameter(SWITCH, default=False, doc="whether the contexts are one event")
    window: bool = parameter(SWITCH, default=False, doc="whether the times are one event")
    both_ways: bool = parameter(
        SWITCH, default=False, doc="whether being elsewhere must also look like being there"
    )

    def question(self, belief: Markov) -> Events:
        """Return one event for each sensitive state and time."""
        unknown = [state for state in self.states if state not in belief.states]
        if unknown:
            raise self.reject("states", f"among {list(belief.states)}", unknown[0])
        times = range(belief.steps) if self.times is None else sorted(set(self.times))
        if times[-1] >= belief.steps:
            raise self.reject("times", f"below the trace length {belief.steps}", times[-1])
        groups = [self.states] if self.together else [(state,) for state in self.states]
        spans = [tuple(times)] if self.window else [(time,) for time in times]
        names = tuple(
            tuple(part[0] if len(part) == 1 else part for part in both)
            for both in itertools.product(groups, spans)
        )
        rows = np.array(
            [np.isin(range(belief.state_count), list(map(belief.index, group))) for group in groups]
        )
        masks = Masks(
            (len(names), belief.steps, belief.state_count),
            np.repeat(np.arange(len(names)), len(spans[0])),
            np.tile(times, len(groups)),
            np.repeat(rows, len(times), axis=0),
        )
        return Events(masks, names, self.both_ways)


@declare
class Trajectory(Secret):
    """The whole trace: a guess succeeds if it differs in at most `mistakes` positions.

    Reference: Koga, Meehan and Chaudhuri (2024), the reconstruction attack.

    >>> import sfumato as sf
    >>> walk, secret = sf.priors.line_chain(states=5, tau=0.5, steps=4), sf.secrets.trajectory()
    >>> release = sf.mechanisms.sensor_counts(2).protect(walk, secret)
    >>> print(sf.measures.reconstruction().loss(walk, secret, release))
    reconstruction success [probability] = 0.0662797
    """

    name = "trajectory"
    yields = {Markov: Guess}  # noqa: RUF012 - a class attribute, never changed

    mistakes: int = parameter(WHOLE, default=0, doc="positions that may be wrong")

    def question(self, belief: Markov) -> Guess:
        """Return the guessing game."""
        if self.mistakes > belief.steps:
            raise self.reject("mistakes", f"at most the trace length {belief.steps}", self.mistakes)
        return Guess(self.mistakes)
