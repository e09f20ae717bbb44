"""The privacy check of suppression: what an output can tell, one segment at a time.

A *segment* is a release (or the beginning), suppressed steps, and the next release (or the end of
the trace). Given the output, every decision depends on the present state and on a last release
that the output fixes, so $Pr[trace, output]$ is a product over segments with fixed ends, and the
posterior of $X_t$ depends on its own segment alone. With the silent kernels

    $K[(u, i), (v, j)] = Pr[X_v = j, ⊥ at u+1, …, v−1 | X_u = i]$

under the suppression probabilities p in force after $(u, i)$,

    $Pr[X_t = a, ⊥…⊥, X_v = j | X_u = i] = K[(u, i), (t, a)] · p_t(a) · K[(t, a), (v, j)],$

and the posterior of an event is a sum of those over $K[(u, i), (v, j)]$. The posterior after a
prefix is a mixture of those after its completions, so no prefix is worse than all complete outputs.

**Rounding.** All terms are products and sums of numbers that are not negative, so relative errors
add up and nothing cancels: with $u = 2^{−53}$, n roundings multiply a result by a factor within $1
± n u / (1 − n u)$. One step of a kernel takes $M + 1$ roundings (a product with p, one with the
transition, $M − 1$ additions in whatever order), so at most T steps and the end of a posterior's
numerator and denominator take $2(T + 2)(M + 1)$. Stored laws sum to one up to a factor of $1 ± 2 M
u$, which enters at most T times above and below: $4 T M$ more. Together at most $6(T + 1)(M + 1)$;
a prior takes fewer. Underflow is excluded: unless every factor exceeds 1e-40 and every kernel
1e-130, the whole check is done in logarithms. There a step loses in addition at most $8 + 4Λ$
roundings, Λ being the largest logarithm in size (exp and log err by at most four each, and their
arguments by $Λ u$), which $6(T + 1)(M + 1)(2 + Λ)$ covers; Λ is at most T times those of the
smallest transition and of the smallest suppression probability together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.beliefs import Markov
from sfumato.channels.suppression import Suppression
from sfumato.errors import OutsideHypotheses
from sfumato.inference.markov.enumeration import checked_pair, complete_output
from sfumato.inference.markov.events import Gap, TimedEvents
from sfumato.inference.markov.probabilities import log_of, log_product, reachable_states
from sfumato.questions.events import Masks
from sfumato.values import SUPPRESSED, FloatArray

IntArray = NDArray[np.intp]

BEGINNING, NEVER = -1, -2
"""The codes of the beginning and of no release; a release has the code time · M + state."""

SMALLEST, SMALLEST_FACTOR = 1e-130, 1e-40
"""Kernels and factors above these do not underflow: 1e-130 · 1e-40 · 1e-130, the least product of
two kernels and a probability, is a normal number."""

UNIT_ROUNDOFF = 2.0**-53

HELD = 1_000_000
"""How many kernels are held at a time."""

MOST_PLACES = 10_000
"""How many steps x states a chain may have whose segments are all followed."""


# Kernels ------------------------------------------------------------------------------------------


@attrs.frozen
class Numbers:
    """How probabilities are kept: as they are, or as logarithms, which never underflow."""

    zero: float
    of: Callable[[FloatArray], FloatArray]
    times: np.ufunc
    add: np.ufunc
    product: Callable[[FloatArray, FloatArray], FloatArray]
    inverse: Callable[[FloatArray], FloatArray]  # zero of zero
    value: Callable[[Any], Any]  # as ordinary numbers


def _reciprocal(numbers: FloatArray) -> FloatArray:
    return np.divide(1.0, numbers, out=np.zeros_like(numbers), where=numbers > 0.0)


def _negative(logs: FloatArray) -> FloatArray:
    return np.where(logs > -np.inf, -logs, -np.inf)


def _log_product(rows: FloatArray, matrix: FloatArray) -> FloatArray:
    return log_product(rows, matrix, float(matrix.min(initial=1.0, where=matrix > 0.0)))


ORDINARY = Numbers(0.0, np.asarray, np.multiply, np.add, np.matmul, _reciprocal, np.asarray)
LOGARITHMS = Numbers(-np.inf, log_of, np.add, np.logaddexp, _log_product, _negative, np.exp)


def silent_kernels(
    belief: Markov, tables: FloatArray, origins: IntArray, numbers: Numbers = ORDINARY
) -> FloatArray:
    """Return K[g, r, (v, j)] for the r-th origin under the g-th table, (G, R, T·M + 1).

    Column v·M + j is X_v = j after silence; the last column is silence until the trace is over.
    Entries with v ≤ u are zero. Tables hold the probability of silence, (G, T, M): of suppression,
    or 0 and 1 where a sensor sees some states. Origins are codes u·M + i, or `BEGINNING`, (G, R);
    their times ascend, and are the same for every table.
    """
    steps, count = tables.shape[1:]
    matrix = np.full((*origins.shape, steps * count + 1), numbers.zero)
    laws = matrix[..., :-1].reshape(*origins.shape, steps, count)  # a view: (g, r, v, j)
    times = origins[0] // count
    begun = np.searchsorted(times, np.arange(steps + 1)).tolist()  # origins before each time
    laws[:, : begun[0], 0] = numbers.of(belief.initial)
    released = slice(begun[0], begun[-2])
    places = times[released], origins[:, released] % count
    laws[:, np.arange(len(times))[released], times[released] + 1] = numbers.of(
        belief.transitions[places]
    )
    chances = numbers.of(tables)[:, None]
    for time in range(steps - 1):
        now = slice(begun[time])
        hidden = numbers.times(laws[:, now, time], chances[:, :, time])
        laws[:, now, time + 1] = numbers.product(hidden, belief.matrix(time))
    lasting = slice(begun[-2])
    hidden = numbers.times(laws[:, lasting, -1], chances[:, :, -1])
    matrix[:, lasting, -1] = numbers.add.reduce(hidden, axis=-1)
    matrix[:, begun[-2] :, -1] = numbers.of(np.ones(()))
    return matrix


def release_probabilities(belief: Markov, channel: Suppression) -> FloatArray:
    """Return Pr[X_t is released, X_t = j], (T, M): what a chain that is seen now and then shows.

    Where decisions depend on the last release, it is a recursion over last releases (u, i): a
    silent mass waits after each, and what is released at t leaves it.
    """
    if channel.after is None:
        return np.asarray(belief.marginals() * (1.0 - channel.start))
    released = np.zeros((belief.steps, belief.state_count))
    for start in range(-1, belief.steps - 1):
        if start < 0:
            tables, waiting = channel.start[None], belief.initial[None]
        else:
            tables = channel.after[start]  # (M, T, M): by last state, time, state
            waiting = released[start][:, None] * belief.matrix(start)
        for time in range(start + 1, belief.steps):
            released[time] += (waiting * (1.0 - tables[:, time])).sum(axis=0)
            if time + 1 < belief.steps:
                waiting = (waiting * tables[:, time]) @ belief.matrix(time)
    return released


# The check ----------------------------------------------------------------------------------------


def check_error(belief: Markov, smallest_chance: float | None = None) -> float:
    """Return the proved relative error of a posterior or prior found by the check.

    In logarithms if the smallest suppression probability above zero is given.

    >>> import numpy as np
    >>> from sfumato.beliefs import Markov
    >>> from sfumato.inference.markov.segments import check_error
    >>> check_error(Markov([0.5, 0.5], np.eye(2), steps=24)) < 1e-13
    True
    """
    roundings = 6.0 * (belief.steps + 1) * (belief.state_count + 1)
    if smallest_chance is not None:
        logs = math.log(belief.smallest_probability) + math.log(smallest_chance)
        roundings *= 2.0 - belief.steps * logs
    return roundings * UNIT_ROUNDOFF / (1.0 - roundings * UNIT_ROUNDOFF)


def check_length(belief: Markov) -> None:
    """Refuse a chain so long that its segments, of which it has (T·M)², would take hours."""
    if belief.steps * belief.state_count > MOST_PLACES:
        raise OutsideHypotheses(
            f"segments are followed through chains of up to {MOST_PLACES:,} steps x states; got "
            f"{belief.steps:,} x {belief.state_count:,}: take at most "
            f"{max(1, MOST_PLACES // belief.state_count):,} steps."
        )


def worst_segment_gap(belief: Markov, channel: Suppression, masks: ArrayLike | Masks) -> Gap:
    """Return where Pr[A | o] − Pr[A] is largest over all possible outputs o and events A.

    >>> import numpy as np
    >>> from sfumato.beliefs import Markov
    >>> from sfumato.channels import Suppression
    >>> from sfumato.inference.markov.segments import worst_segment_gap
    >>> chain = Markov([0.5, 0.5], np.empty((0, 2, 2)), states="sx")
    >>> channel = Suppression.memoryless("sx", [[1.0, 1 / 3]])
    >>> gap = worst_segment_gap(chain, channel, [[[True, False]]])
    >>> gap.output, round(gap.posterior, 12), gap.floor <= 0.25 <= gap.ceiling < 0.25 + 1e-13
    ((sf.SUPPRESSED,), 0.75, True)
    """
    checked_pair(belief, channel)
    check_length(belief)
    events = TimedEvents.from_masks(belief, masks)
    sweep = _Sweep(belief, channel, events, ORDINARY)
    return (sweep if sweep.is_ordinary else _Sweep(belief, channel, events, LOGARITHMS)).worst()


@attrs.frozen
class _Found:
    """A gap, rounded up, and where: the event, and the codes of the releases around it."""

    gap: float
    posterior: float
    event: int
    start: int
    end: int


class _Sweep:
    """Follows all segments: of a memoryless channel at once, otherwise by the last release.

    A sweep in ordinary numbers that is not `is_ordinary`
    has found nothing: something might have vanished by underflow.
    """

    def __init__(
        self,
        belief: Markov,
        channel: Suppression,
        events: TimedEvents,
        numbers: Numbers,
    ) -> None:
        self._belief, self._channel, self._numbers = belief, channel, numbers
        self._count = belief.state_count
        marginals = belief.marginals()
        # Events in the order of time, and the places of all their states.
        self._order = np.argsort(events.times, kind="stable")
        self._events = events.only(self._order)
        self._priors = self._events.probabilities(marginals)
        tables = (channel.start,) if channel.after is None else (channel.start, channel.after)
        smallest = min(float(table.min(initial=1.0, where=table > 0.0)) for table in tables)
        self.is_ordinary = min(smallest, belief.smallest_probability) > SMALLEST_FACTOR
        self._error = check_error(belief, smallest if numbers is LOGARITHMS else None)
        owners, states = np.nonzero(self._events.members)
        self._places = self._events.times[owners] * self._count + states
        self._firsts = np.searchsorted(owners, np.arange(len(self._priors) + 1))
        # The times of events, and the first event of each.
        self._times, begins = np.unique(self._events.times, return_index=True)
        self._cuts = np.append(begins, len(self._priors)).tolist()
        # Every release that can happen -> the release before it in some output.
        self._previous = np.full(marginals.size, NEVER)
        # Some output leaves an event as it is, so no worst gap is below zero.
        self._worst = _Found(0.0, 0.0, 0, BEGINNING, BEGINNING)
        # Certain and impossible events stay what they are, exactly, whatever is seen.
        possible = reachable_states(belief, marginals)
        inside, there = self._events.members, possible[self._events.times]
        self._open = np.asarray((inside & there).any(axis=1) & (~inside & there).any(axis=1))
        self._slopes = np.where(self._open, 1.0 + self._error, 0.0)
        self._offsets = np.where(self._open, self._priors * (self._error - 1.0), -1.0)
        if self.is_ordinary or numbers is LOGARITHMS:
            self._run(possible)

    def worst(self) -> Gap:
        """Return the worst that was found, with a complete output that leads to it."""
        found, over, belief = self._worst, self._previous.size, self._belief
        prior = float(self._priors[found.event])
        posterior, error = max(found.posterior, prior), self._error  # some output leaves it
        if (self._previous == NEVER).all() or not self._open.any():
            posterior, error = prior, 0.0  # no release can happen, or there is nothing to be learnt
        until = belief.steps if found.end == over else found.end // self._count + 1
        prefix: list[Any] = [SUPPRESSED] * until
        code = found.end if 0 <= found.end < over else found.start
        while code != BEGINNING:
            time, state = divmod(code, self._count)
            prefix[time] = self._channel.shown[state]
            code = found.start if code == found.end else int(self._previous[code])
        output = complete_output(belief, self._channel, prefix)
        event = int(self._order[found.event])
        return Gap.of(posterior, prior, error, event=event, output=output)

    def _at_most(self, posteriors: FloatArray, events: slice) -> FloatArray:
        """Return gaps of E events, (E,), rounded up, for their posteriors."""
        return np.asarray(posteriors * self._slopes[events] + self._offsets[events])

    def _run(self, possible: NDArray[np.bool_]) -> None:
        """Examine every table with the segments that begin under it, the earliest first."""
        channel, count = self._channel, self._count
        if channel.after is None:
            released = np.flatnonzero((channel.start < 1.0) & possible)
            for starts in self._blocks(np.append(BEGINNING, released), 1):
                self._examine(channel.start[None], starts[None])
        else:
            self._examine(channel.start[None], np.array([[BEGINNING]]))
            for time in range(self._belief.steps - 1):
                states = np.flatnonzero(self._previous[time * count : (time + 1) * count] != NEVER)
                for starts in self._blocks(time * count + states, 1 + len(self._places)):
                    self._examine(channel.after[time, starts % count], starts[:, None])
        self._reveal()

    def _blocks(self, starts: IntArray, rows: int) -> Iterator[IntArray]:
        """Yield starts that take so many rows of kernels each, few enough to be held at once."""
        stride = max(1, HELD // (rows * self._previous.size))
        for begin in range(0, len(starts), stride):
            yield starts[begin : begin + stride]

    def _examine(self, tables: FloatArray, starts: IntArray) -> None:
        """Compare the events with all N segments from `starts` (G, A) under the tables (G, T, M).

        There is one table for all starts, or one start under each table.
        """
        numbers, belief, count = self._numbers, self._belief, self._count
        chances = tables.reshape(len(tables), -1)
        open_ = silent_kernels(belief, tables, starts, numbers).reshape(starts.size, -1)
        starts = starts.ravel()
        reached = (open_[:, :-1] > numbers.zero) & (chances < 1.0)
        self._note(starts, reached)
        first = int(np.searchsorted(self._times, starts[0] // count, "right"))
        firsts = (self._firsts - self._firsts[self._cuts[first]]).tolist()
        places = self._places[len(self._places) - firsts[-1] :]
        origins = np.broadcast_to(places, (len(tables), len(places)))
        inside = silent_kernels(belief, tables, origins, numbers)
        if numbers is ORDINARY:
            self.is_ordinary &= are_normal(open_) and are_normal(inside)
        if not len(places) or (numbers is ORDINARY and not self.is_ordinary):
            return
        into = numbers.times(open_[:, places], numbers.of(chances)[:, places]).T
        ends = np.append(np.flatnonzero(reached.any(axis=0)), self._previous.size)
        closing = numbers.inverse(open_[:, ends])
        closing[:, :-1][~reached[:, ends[:-1]]] = numbers.zero
        out_of = inside.swapaxes(0, 1)[..., ends]
        begun = np.searchsorted(starts, self._times * count).tolist()
        ended = np.searchsorted(ends, (self._times + 1) * count).tolist()
        for number in range(first, len(self._times)):
            events = slice(*self._cuts[number : number + 2])
            states = slice(firsts[events.start], firsts[events.stop])
            before, after = slice(begun[number]), slice(ended[number], None)
            onward = out_of[states, :, after] if len(tables) == 1 else out_of[states, before, after]
            ratios = numbers.times(into[states, before, None], onward)
            if len(ratios) > events.stop - events.start:
                owners = self._firsts[events]
                ratios = numbers.add.reduceat(ratios, owners - owners[0])
            ratios = numbers.times(ratios, closing[before, after], out=ratios)
            self._compare(events, starts[before], ends[after], ratios)

    def _note(self, starts: IntArray, reached: NDArray[np.bool_]) -> None:
        """Note the releases that can follow, each with a release before it."""
        fresh = np.flatnonzero(reached.any(axis=0) & (self._previous == NEVER))
        self._previous[fresh] = starts[reached[:, fresh].argmax(axis=0)]

    def _compare(self, events: slice, starts: IntArray, ends: IntArray, ratios: FloatArray) -> None:
        """Keep the worst of the events of one time, with posteriors (E, N, B), if it is so far."""
        posteriors = self._numbers.value(ratios.max(axis=(1, 2)))
        gaps = self._at_most(posteriors, events)
        event = int(gaps.argmax())
        if gaps[event] > self._worst.gap:
            start, end = divmod(int(ratios[event].argmax()), len(ends))
            self._worst = _Found(
                gap=float(gaps[event]),
                posterior=float(posteriors[event]),
                event=events.start + event,
                start=int(starts[start]),
                end=int(ends[end]),
            )

    def _reveal(self) -> None:
        """Look at the releases that are themselves part of an event."""
        released = (self._previous != NEVER).reshape(-1, self._count)
        shown = self._events.members & released[self._events.times]
        gaps = self._at_most(shown.any(axis=1).astype(float), slice(None))
        event = int(gaps.argmax())
        if gaps[event] > self._worst.gap:
            place = int(self._events.times[event] * self._count + shown[event].argmax())
            start = int(self._previous[place])
            self._worst = _Found(float(gaps[event]), 1.0, event, start, place)


def are_normal(kernels: FloatArray) -> bool:
    """Whether nothing can have vanished by underflow."""
    return bool(np.count_nonzero(kernels > 0.0) == np.count_nonzero(kernels > SMALLEST))
