"""Segments of suppressed steps that are still open, and the events inside them."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.beliefs import Markov
from sfumato.channels.suppression import LastRelease, Suppression
from sfumato.errors import ParameterError
from sfumato.inference.markov.enumeration import checked_pair, completed, possible_states
from sfumato.inference.markov.events import Gap, TimedEvents
from sfumato.inference.markov.memoryless import kernels_keep
from sfumato.inference.markov.probabilities import (
    log_of,
    log_product,
    log_sum,
    reachable_states,
    row_maxima,
)
from sfumato.inference.markov.rational import WholeChain
from sfumato.inference.markov.smoothing import forward_backward
from sfumato.values import SUPPRESSED, FloatArray

IntArray = NDArray[np.intp]

NO_RELEASE = -1
"""The code of the beginning, before any release; a release has the code time · M + state."""


@attrs.define(eq=False)
class OpenSegments:
    """A starts under each of G tables of suppression probabilities, at one time.

    Laws are logarithms, scaled by factors that cancel in
    Pr[event, state] / Pr[state] = Σ_k weights · rows / arrivals.

    Parameters
    ----------
    starts
        The code of the release that opened each segment, (G · A,).
    arrivals
        Law of the state on arrival, all since the start being suppressed, (G, A, M).
    events
        The numbers of the E events met so far.
    rows
        Law of the state on arrival given the k-th state of an event, (K, G, E, M).
    weights
        Probability of the k-th state of an event, (K, G, A, E).

    Examples
    --------
    >>> segments = OpenSegments.begin(np.array([NO_RELEASE]), np.log([[[0.5, 0.5]]]), 1)
    >>> segments.suppress(np.log([[1.0, 0.5]]))
    >>> segments.begin_events(np.array([0]), np.array([[True, False]]))
    >>> np.exp(segments.final_log_posteriors()).round(12).tolist()
    [[0.666666666667]]
    """

    starts: IntArray
    arrivals: FloatArray
    events: IntArray
    rows: FloatArray
    weights: FloatArray

    @classmethod
    def begin(cls, starts: IntArray, arrivals: FloatArray, width: int) -> OpenSegments:
        """Open segments under tables of their own, for events of at most `width` states."""
        tables, count, states = arrivals.shape
        return cls(
            starts,
            arrivals,
            np.empty(0, dtype=np.intp),
            np.empty((width, tables, 0, states)),
            np.empty((width, tables, count, 0)),
        )

    def reached(self, may_release: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which states each segment may be ended by, (G · A, M)."""
        reached = (self.arrivals > -np.inf) & may_release[:, None]
        return np.asarray(reached.reshape(len(self.starts), -1))

    def log_posteriors(self, may_release: NDArray[np.bool_]) -> FloatArray:
        """Return the largest log Pr[event | segment] over releases that end it, (G · A, E)."""
        # Infinity where the segment cannot end: the ratio is zero there.
        possible = (self.arrivals > -np.inf) & may_release[:, None]
        ends = np.where(possible, self.arrivals, np.inf)
        return self._largest(np.moveaxis(ends, -1, 0), np.moveaxis(self.rows, -1, 0))

    def final_log_posteriors(self) -> FloatArray:
        """Return log Pr[event | segment] for segments that last until the trace is over."""
        ends = log_sum(self.arrivals)
        ends = np.where(ends > -np.inf, ends, np.inf)
        return self._largest(ends[None], log_sum(self.rows)[None])

    def _largest(self, ends: FloatArray, rows: FloatArray) -> FloatArray:
        """Maximise Σ_k over the leading axis: ends (M, G, A), rows (M, K, G, E)."""
        used = (ends < np.inf).any(axis=(1, 2))
        pairs = zip(ends[used, :, :, None], rows[used][:, :, :, None], strict=True)
        if len(self.weights) == 1:  # one state per event: nothing to sum, so no exponentials
            largest = np.full(self.weights.shape[1:], -np.inf)
            ratio = np.empty_like(largest)
            for end, row in pairs:
                np.subtract(row[0], end, out=ratio)
                np.maximum(largest, ratio, out=largest)
            largest += self.weights[0]
        else:
            largest = np.zeros(self.weights.shape[1:])
            for end, row in pairs:
                np.maximum(largest, np.exp(self.weights + (row - end)).sum(axis=0), out=largest)
            largest = log_of(largest)
        return largest.reshape(len(self.starts), -1)

    def suppress(self, log_chances: FloatArray) -> None:
        """Condition on suppression now, with log-probabilities (G, M)."""
        self.arrivals = self.arrivals + log_chances[:, None]
        self.rows = self.rows + log_chances[:, None]

    def begin_events(self, events: IntArray, members: NDArray[np.bool_]) -> None:
        """Follow the events of the present time, (E, M) sets of states, from here on."""
        width, tables, _, states = self.rows.shape
        rows = np.full((width, tables, len(events), states), -np.inf)
        weights = np.full((width, *self.arrivals.shape[:2], len(events)), -np.inf)
        for number, member in enumerate(members):
            for k, state in enumerate(np.flatnonzero(member)):
                rows[k, :, number, state] = 0.0
                weights[k, :, :, number] = self.arrivals[:, :, state]
        self.events = np.concatenate([self.events, events])
        self.rows = np.concatenate([self.rows, rows], axis=2)
        self.weights = np.concatenate([self.weights, weights], axis=3)

    def exchange_starts(self, codes: IntArray, state_count: int) -> None:
        """Under a single table: drop segments that are impossible now, open those released now.

        No event so far lies inside a segment that opens now.
        """
        alive = (self.arrivals[0] > -np.inf).any(axis=-1)
        arrivals = np.full((1, len(codes), state_count), -np.inf)
        arrivals[0, np.arange(len(codes)), codes % state_count] = 0.0
        weights = np.full((len(self.weights), 1, len(codes), len(self.events)), -np.inf)
        self.starts = np.concatenate([self.starts[alive], codes])
        self.arrivals = np.concatenate([self.arrivals[:, alive], arrivals], axis=1)
        self.weights = np.concatenate([self.weights[:, :, alive], weights], axis=2)

    def step(self, matrix: FloatArray, smallest: float) -> None:
        """Move all laws one step on, and scale them."""
        self.arrivals = log_product(self.arrivals, matrix, smallest)
        self.rows = log_product(self.rows, matrix, smallest)
        scales, row_scales = row_maxima(self.arrivals), row_maxima(self.rows)
        self.arrivals = self.arrivals - scales
        self.rows = self.rows - row_scales
        self.weights = self.weights + (row_scales[:, :, None, :, 0] - scales)


@attrs.frozen
class Segment:
    """Suppressed steps after the release `start` (None: from the beginning) until `end`.

    At time `end` there is a release, or the trace is over. Where no step lies between, the
    segment stands for the release itself.

    Examples
    --------
    >>> Segment((2, 0), 5).suppressed_steps, Segment(None, 1).suppressed_steps
    (2, 1)
    """

    start: LastRelease
    end: int

    @property
    def suppressed_steps(self) -> int:
        """How many steps lie strictly between."""
        return self.end - 1 - (-1 if self.start is None else self.start[0])


class SegmentSweep:
    """The worst posterior of every event, and a segment that attains it.

    Per table of probabilities, T steps, n states and E events cost of the order of T n² E
    operations, and comparing them over the A starts that share the table T A n E, with
    A = T n for a memoryless channel.

    Parameters
    ----------
    belief, channel, events
        Whose outputs, and what must not be learnt from them.

    Examples
    --------
    >>> chain = Markov([0.5, 0.5], np.empty((0, 2, 2)), states="sx")
    >>> events = TimedEvents.from_masks(chain, [[[True, False]]])
    >>> sweep = SegmentSweep(chain, Suppression.memoryless("sx", [[1.0, 1 / 3]]), events)
    >>> sweep.posteriors.round(12).tolist(), sweep.segment(0)
    ([0.75], Segment(start=None, end=1))
    """

    def __init__(self, belief: Markov, channel: Suppression, events: TimedEvents) -> None:
        self._belief = belief
        self._channel = channel
        self._events = events
        self._width = int(events.members.sum(axis=1).max())
        self._starts = np.full(len(events.times), NO_RELEASE)
        self._ends = np.zeros(len(events.times), dtype=np.intp)
        self._log_posteriors: FloatArray = np.full(len(events.times), -np.inf)
        # Every release that can happen -> the release that came before it in some output.
        self._predecessor: dict[int, int] = {}
        self._run_from_the_beginning()
        if channel.after is not None:
            for time in range(belief.steps - 1):
                self._run_after_releases_at(time)

    @property
    def posteriors(self) -> FloatArray:
        """The largest Pr[event | output] of every event over all outputs, (E,)."""
        return np.exp(self._log_posteriors)

    def segment(self, event: int) -> Segment:
        """Return a segment in which the event has its worst posterior."""
        return Segment(self._release(int(self._starts[event])), int(self._ends[event]))

    def preceding(self, release: tuple[int, int]) -> LastRelease:
        """Return the last release before this one in some output that contains both."""
        time, state = release
        return self._release(self._predecessor[time * self._belief.state_count + state])

    def _release(self, code: int) -> LastRelease:
        return None if code == NO_RELEASE else divmod(code, self._belief.state_count)

    def _run_from_the_beginning(self) -> None:
        arrivals = log_of(self._belief.initial)[None, None]
        front = OpenSegments.begin(np.array([NO_RELEASE]), arrivals, self._width)
        self._run(front, 0, self._channel.start[None])

    def _run_after_releases_at(self, time: int) -> None:
        """Each state released at `time` has a table of its own; do them side by side."""
        count = self._belief.state_count
        states = [state for state in range(count) if time * count + state in self._predecessor]
        if states and self._channel.after is not None:
            codes = np.array([time * count + state for state in states])
            arrivals = log_of(self._belief.matrix(time)[states])[:, None]
            front = OpenSegments.begin(codes, arrivals, self._width)
            self._run(front, time + 1, self._channel.after[time, states])

    def _run(self, front: OpenSegments, begin: int, tables: FloatArray) -> None:
        """Follow segments that are open at `begin` under the tables, (G, T, M)."""
        belief = self._belief
        for time in range(begin, belief.steps):
            may_release = tables[:, time] < 1.0
            self._record(front, front.log_posteriors(may_release), time)
            released = self._note_releases(front, may_release, time)
            front.suppress(log_of(tables[:, time]))
            events = np.flatnonzero(self._events.times == time)
            front.begin_events(events, self._events.members[events])
            if time < belief.steps - 1:
                if self._channel.after is None:
                    front.exchange_starts(released, belief.state_count)
                front.step(belief.matrix(time), belief.smallest_probability)
        self._record(front, front.final_log_posteriors(), belief.steps)

    def _record(self, front: OpenSegments, log_posteriors: FloatArray, end: int) -> None:
        """Keep what is worse than anything so far; log-posteriors are (starts, events)."""
        places = log_posteriors.argmax(axis=0)
        values = log_posteriors[places, np.arange(len(places))]
        better = values > self._log_posteriors[front.events]
        events = front.events[better]
        self._log_posteriors[events] = values[better]
        self._starts[events] = front.starts[places[better]]
        self._ends[events] = end

    def _note_releases(
        self, front: OpenSegments, may_release: NDArray[np.bool_], time: int
    ) -> IntArray:
        """Note the releases possible now, which reveal the state; return their codes."""
        reached = front.reached(may_release)
        states = np.flatnonzero(reached.any(axis=0))
        codes = time * self._belief.state_count + states
        for code, predecessor in zip(
            codes, front.starts[reached[:, states].argmax(axis=0)], strict=True
        ):
            self._predecessor.setdefault(int(code), int(predecessor))
        for event in np.flatnonzero(self._events.times == time):
            revealing = codes[self._events.members[event, states]]
            if len(revealing):
                self._log_posteriors[event] = 0.0
                self._starts[event], self._ends[event] = revealing[0], time + 1
        return codes


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


def expected_releases(belief: Markov, channel: Suppression) -> float:
    """Return E[number of released states].

    Let ρ(u, i) be the chance that state i is released at time u.
    The chance W_t(j) that nothing was released since and X_t = j follows the chain through the
    suppressed steps, and what is released at t adds W_t(j)(1 − p_t(j)) to ρ(t, j).
    """
    if channel.after is None:
        return float((belief.marginals() * (1.0 - channel.start)).sum())
    released = np.zeros((belief.steps, belief.state_count))
    silent = belief.initial
    for time in range(belief.steps):
        released[time] += silent * (1.0 - channel.start[time])
        if time + 1 < belief.steps:
            silent = (silent * channel.start[time]) @ belief.matrix(time)
    for start in range(belief.steps - 1):
        table = channel.after[start]  # (M, T, M): by last state, time, state
        waiting = released[start][:, None] * belief.matrix(start)
        for time in range(start + 1, belief.steps):
            released[time] += (waiting * (1.0 - table[:, time])).sum(axis=0)
            if time + 1 < belief.steps:
                waiting = (waiting * table[:, time]) @ belief.matrix(time)
    return float(released.sum())
