"""The exact worst posterior under suppression, in polynomial time: segments decouple.

Fix an output. Every symbol depends on the present state and on a last release that the output
itself fixes, and a release fixes the state, so Pr[x, o] is a product over *segments*: a release
(or the start), suppressed steps, and the next release (or the end). Hence the posterior of X_t
depends on its own segment alone:

    Pr[X_t ∈ A | o] = Pr[X_t ∈ A, ⊥…⊥, X_v = j | X_u = i] / Pr[⊥…⊥, X_v = j | X_u = i],

where u < t < v and suppression probabilities are those in force after (u, i); at a release it is
0 or 1. The posterior after a prefix is a convex combination of those after its completions. So
the worst posterior over all outputs is the worst over complete segments whose start can be
released at all. (Götz, Nath and Gehrke, MaskIt, 2012, section 4, extended to suppression that
depends on the last release.)

Everything is kept as logarithms, scaled at each step. Only exact zeros are skipped: a release
with probability 1e-13, or an output with probability 1e-400, counts like any other.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sfumato.beliefs.markov import Markov
from sfumato.channels.suppression import Suppression
from sfumato.errors import ParameterError
from sfumato.inference.enumeration import checked_pair
from sfumato.inference.forward_backward import forward_backward
from sfumato.inference.gap import Gap
from sfumato.inference.kernel_check import kernels_keep
from sfumato.inference.output_completion import completed, possible_states
from sfumato.inference.rational_gap import WholeChain
from sfumato.inference.reachable_states import reachable_states
from sfumato.inference.segment_sweep import Segment, SegmentSweep
from sfumato.inference.timed_events import TimedEvents
from sfumato.probabilities import FloatArray
from sfumato.suppressed import SUPPRESSED

RELATIVE_TOLERANCE = 1e-12
"""A posterior may exceed prior + δ by this factor: the rounding of the computation."""


def is_private(belief: Markov, channel: Suppression, masks: ArrayLike, delta: float) -> bool:
    """Whether Pr[A | o] ≤ Pr[A] + δ for every possible output o and every event A.

    The two sides are compared relatively, to 1e-12, never with an absolute tolerance.

    Examples
    --------
    >>> chain = Markov([0.5, 0.5], np.empty((0, 2, 2)), states="sx")
    >>> mask = [[[True, False]]]
    >>> is_private(chain, Suppression.memoryless("sx", [[1.0, 1 / 3]]), mask, delta=0.25)
    True
    >>> is_private(chain, Suppression.memoryless("sx", [[1.0, 0.3]]), mask, delta=0.25)
    False
    """
    if not 0.0 <= delta <= 1.0:
        raise ParameterError(f"delta must lie in [0, 1]; got {delta}.")
    checked_pair(belief, channel)
    events = TimedEvents.from_masks(belief, masks)
    marginals = belief.marginals()
    allowed = (events.probabilities(marginals) + delta) * (1.0 + RELATIVE_TOLERANCE)
    if channel.after is None:
        possible = reachable_states(belief, marginals)
        kept = kernels_keep(belief, channel.start, possible, events, allowed)
        if kept is not None:  # otherwise logarithms have to do it
            return kept
    return bool((_swept(belief, channel, events).posteriors <= allowed).all())


def worst_posteriors(belief: Markov, channel: Suppression, masks: ArrayLike) -> FloatArray:
    """Return max over outputs of Pr[A | o] for every event A, (E,).

    Examples
    --------
    >>> chain = Markov([0.5, 0.5], np.empty((0, 2, 2)), states="sx")
    >>> channel = Suppression.memoryless("sx", [[1.0, 1 / 3]])
    >>> worst_posteriors(chain, channel, [[[True, False]]]).round(12).tolist()
    [0.75]
    """
    return _swept(belief, channel, TimedEvents.from_masks(belief, masks)).posteriors


def worst_segment_gap(belief: Markov, channel: Suppression, masks: ArrayLike) -> Gap:
    """Return max over outputs and events of Pr[A | o] − Pr[A], with the output that attains it.

    Unless the chain is large, the gap of that output is computed in whole numbers and rounded
    once.

    Examples
    --------
    >>> chain = Markov([0.5, 0.5], np.empty((0, 2, 2)), states="sx")
    >>> channel = Suppression.memoryless("sx", [[1.0, 1 / 3]])
    >>> gap = worst_segment_gap(chain, channel, [[[True, False]]])
    >>> gap.output, round(gap.value, 12)
    ((sf.SUPPRESSED,), 0.25)
    """
    events = TimedEvents.from_masks(belief, masks)
    priors = events.priors(belief)
    sweep = _swept(belief, channel, events)
    event = int(np.argmax(sweep.posteriors - priors))
    outputs = _outputs_through(belief, channel, sweep, sweep.segment(event))
    marginals = forward_backward(belief, channel.evidence_batch(outputs)).marginals
    posteriors = events.probabilities(marginals)[:, event]
    worst = int(posteriors.argmax())
    time, output = int(events.times[event]), outputs[worst]
    prior, posterior = float(priors[event]), float(posteriors[worst])
    whole = WholeChain.affordable(belief)
    if (channel.start == 1.0).all():  # never a release: nothing is learnt
        value = 0.0
    elif whole is None:
        value = posterior - prior
    else:
        exact = whole.prior_and_posterior(channel, output, time, events.members[event])
        prior, posterior, value = float(exact[0]), float(exact[1]), float(exact[1] - exact[0])
    return Gap(value, posterior, prior, event, time, output)


def _swept(belief: Markov, channel: Suppression, events: TimedEvents) -> SegmentSweep:
    checked_pair(belief, channel)
    return SegmentSweep(belief, channel, events)


def _outputs_through(
    belief: Markov, channel: Suppression, sweep: SegmentSweep, segment: Segment
) -> list[tuple[Any, ...]]:
    """Return complete outputs that contain the segment, one per state that may end it."""
    prefix: list[Any] = [SUPPRESSED] * segment.end
    last = segment.start
    while last is not None:
        prefix[last[0]] = belief.states[last[1]]
        last = sweep.preceding(last)
    if segment.suppressed_steps == 0:
        return [completed(belief, channel, prefix)]
    if segment.end == belief.steps:
        return [tuple(prefix)]
    may_release = channel.lookup(segment.start, segment.end) < 1.0
    states = np.flatnonzero(possible_states(belief, channel, prefix) & may_release)
    return [completed(belief, channel, [*prefix, belief.states[state]]) for state in states]
