"""One sweep through time over all segments of a suppression channel at once."""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs.markov import Markov
from sfumato.channels.suppression import LastRelease, Suppression
from sfumato.inference.log_products import log_of
from sfumato.inference.open_segments import NO_RELEASE, OpenSegments
from sfumato.inference.timed_events import TimedEvents
from sfumato.probabilities import FloatArray

IntArray = NDArray[np.intp]


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
