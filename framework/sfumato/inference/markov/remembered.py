"""The privacy check of suppression with a hidden memory, one segment at a time.

A release forgets the memory, so $Pr[trace, output]$ is still a product over segments with fixed
ends (see `sfumato.inference.markov.segments`). Inside one, with m the last visit since its start,

    $F_t(m, j) = Pr[⊥…⊥, memory m, X_t = j | start]$

and $J_t(A, m, j)$, the same jointly with event A, go forward in time together: a step of the chain,
then the memory of a visit, then suppression. The posterior of A after the segment is $∑_m J (1 − p)
/ ∑_m F (1 − p)$ at its release, or $∑ J p / ∑ F p$ at the end of the trace. Nothing is assumed
about how the probabilities were chosen.

**Rounding.** All terms are sums of products that are not negative. A step takes at most $M + 1$
roundings for the chain, $V + 1$ for the memory and two for scaling, above and below; with the laws'
own sums as in `segments` that is at most $6(T + 1)(M + V + 4)$ in all. Scaled laws below 1e-250 are
refused, so nothing vanishes by underflow.

**Windows** of times: "in the hospital at some time from 9 to 12". Given the output, segments are
independent, so with $R(a, b)$ the probability that the window's states are avoided in the segment
from release a to release b, that in b included,

    $Pr[no visit | o] = ∏ R$

over the segments of o, and the worst posterior is one minus the least product over all chains of
releases: a shortest path, found backwards in time. R is $J / F$, J being joint with having met none
of the states; a channel without hidden memory is one with none. The gap is $Pr[no visit] − ∏ R$.
The segments of an output take together no more steps than the trace has, so the product errs by at
most twice the error of a posterior above.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.beliefs import Markov
from sfumato.channels.remembering import RememberingSuppression
from sfumato.channels.suppression import Suppression
from sfumato.errors import Undecidable
from sfumato.inference.markov.enumeration import checked_pair
from sfumato.inference.markov.events import Gap, TimedEvents
from sfumato.inference.markov.probabilities import reachable_states
from sfumato.inference.markov.segments import release_probabilities
from sfumato.questions.events import Masks
from sfumato.values import SUPPRESSED, FloatArray

UNIT_ROUNDOFF = 2.0**-53

SMALLEST = 1e-250


@attrs.frozen(eq=False)
class Step:
    """The open segments after the releases of one time, at one later time.

    `law` is F (S, V + 1, M) and `joint` is J (S, E, V + 1, M), both scaled to a total law of one
    before suppression; `mass` (S,) undoes it. `chances` are the suppression probabilities.
    """

    time: int
    states: NDArray[np.intp]  # of the starts, (S,)
    mass: FloatArray
    law: FloatArray
    joint: FloatArray
    chances: FloatArray

    @property
    def shown(self) -> FloatArray:
        """How likely each state is released now, the segment being open, (S, M)."""
        return np.asarray((self.law * (1.0 - self.chances)).sum(axis=1))

    @property
    def silent(self) -> FloatArray:
        """How likely nothing is, (S,)."""
        return np.asarray((self.law * self.chances).sum(axis=(1, 2)))


def follow_segments(
    belief: Markov,
    channel: RememberingSuppression,
    start: int,
    states: NDArray[np.intp],
    events: TimedEvents | None = None,
    *,
    avoided: NDArray[np.bool_] | None = None,
) -> Iterator[Step]:
    """Yield the segments that begin with the release of `states` at `start`, time by time.

    Start −1 is the beginning. Only visits after it are memories: those before are forgotten. With
    states to be `avoided`, (T, M), the one joint law is with having met none of them so far.
    """
    if events is None:
        nothing = np.empty((0, belief.state_count), dtype=bool)
        events = TimedEvents(np.empty(0, dtype=np.intp), nothing)
    forgotten, tables = channel.forgotten(start), channel.tables[start + 1][states]
    shape = len(states), 1 + len(channel.visits) - forgotten, belief.state_count
    law = np.zeros(shape)
    law[:, 0] = belief.initial if start < 0 else belief.matrix(start)[states]
    joint = np.zeros((shape[0], len(events.times), *shape[1:]))
    joint = joint if avoided is None else law[:, None].copy()
    mass = np.ones(len(states))
    for time in range(start + 1, belief.steps):
        for array in (law, joint):
            for state, memory in channel.visits_at(time).items():
                array[..., memory - forgotten, state] = array[..., state].sum(axis=-1)
                array[..., np.arange(shape[1]) != memory - forgotten, state] = 0.0
        now = events.times == time
        joint[:, now] = law[:, None] * events.members[now][:, None]
        if avoided is not None:
            joint[..., avoided[time]] = 0.0
        scale = law.sum(axis=(1, 2))
        scale[scale == 0.0] = 1.0  # an impossible segment stays at zero
        law, joint, mass = (
            law / scale[:, None, None],
            joint / scale[:, None, None, None],
            mass * scale,
        )
        if ((law > 0.0) & (law < SMALLEST)).any() or ((joint > 0.0) & (joint < SMALLEST)).any():
            raise Undecidable("an output has a conditional probability below 1e-250: too small.")
        chances = tables[:, time - start - 1]
        yield Step(time, states, mass, law, joint, chances)
        if time + 1 < belief.steps:
            law = (law * chances) @ belief.matrix(time)
            joint = (joint * chances[:, None]) @ belief.matrix(time)


def remembered_releases(belief: Markov, channel: RememberingSuppression) -> FloatArray:
    """Return Pr[X_t is released, X_t = j], (T, M)."""
    released = np.zeros((belief.steps, belief.state_count))
    for start in range(-1, belief.steps - 1):
        states, weights = possible_starts(released, start)
        for step in follow_segments(belief, channel, start, states):
            released[step.time] += (weights * step.mass) @ step.shown
    return released


def expected_releases(belief: Markov, channel: Suppression | RememberingSuppression) -> float:
    """Return E[number of released states].

    >>> from sfumato.beliefs import Markov
    >>> from sfumato.channels import Suppression
    >>> from sfumato.inference.markov.remembered import expected_releases
    >>> chain = Markov([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], steps=2, states="sx")
    >>> expected_releases(chain, Suppression.memoryless("sx", [[1.0, 0.0], [1.0, 0.5]]))
    0.75
    """
    remembers = isinstance(channel, RememberingSuppression)
    released = remembered_releases if remembers else release_probabilities
    return float(released(belief, channel).sum())  # type: ignore[arg-type]  # of its own kind


def possible_starts(released: FloatArray, start: int) -> tuple[NDArray[np.intp], FloatArray]:
    """Return the states that can be released at `start`, and how likely; −1 is the beginning."""
    if start < 0:
        return np.zeros(1, dtype=np.intp), np.ones(1)
    states = np.flatnonzero(released[start])
    return states, released[start, states]


def remembered_error(belief: Markov, channel: RememberingSuppression) -> float:
    """Return a proved relative error of a posterior; see above."""
    roundings = 6.0 * (belief.steps + 1) * (belief.state_count + len(channel.visits) + 4)
    return roundings * UNIT_ROUNDOFF / (1.0 - roundings * UNIT_ROUNDOFF)


def worst_remembered_gap(
    belief: Markov, channel: RememberingSuppression, masks: ArrayLike | Masks
) -> Gap:
    """Return max Pr[A | o] − Pr[A] over outputs and events of one time each, rounded up.

    >>> import numpy as np
    >>> from sfumato.beliefs import Markov
    >>> from sfumato.channels import RememberingSuppression
    >>> from sfumato.inference.markov.remembered import worst_remembered_gap
    >>> chain = Markov([0.5, 0.5], np.empty((0, 2, 2)), states="sx")
    >>> tables = ([[[[1.0, 1 / 3], [1.0, 1.0]]]],)
    >>> channel = RememberingSuppression("sx", ((0, 0),), tables)
    >>> gap = worst_remembered_gap(chain, channel, [[[True, False]]])
    >>> gap.output, round(gap.value, 12)
    ((sf.SUPPRESSED,), 0.25)
    """
    events = TimedEvents.from_masks(belief, masks)
    priors, there = events.priors(belief), reachable_states(belief)[events.times]
    error = remembered_error(belief, channel)
    # Certain and impossible events stay what they are, whatever is seen.
    live = (events.members & there).any(axis=1) & (~events.members & there).any(axis=1)
    search = _Search(belief, channel, events.only(np.flatnonzero(live)), priors[live])
    event = int(np.flatnonzero(live)[search.event]) if live.any() else 0
    posterior, prior, output = search.posterior, search.prior, search.output()
    if not search.informs:  # no release can happen, or there is nothing to be learnt
        posterior, error = prior, 0.0
    return Gap.of(posterior, prior, error, event=event, output=output)


class _Search:
    """Follows the segments of all releases that can happen, the earliest first."""

    def __init__(
        self,
        belief: Markov,
        channel: RememberingSuppression,
        events: TimedEvents,
        priors: FloatArray,
    ) -> None:
        self._channel, self._events, self._priors = channel, events, priors
        self._over = (belief.steps, 0)
        # Every release that can happen -> the one before it, and one that can follow it.
        self._before: dict[tuple[int, int], tuple[int, int]] = {}
        self._after: dict[tuple[int, int], tuple[int, int]] = {}
        self.posterior, self.prior, self.event = 0.0, 0.0, 0
        self._worst = -np.inf
        self._place: tuple[tuple[int, int], tuple[int, int]] | None = None
        for start in range(-1, belief.steps - 1):
            states = np.array([i for u, i in self._before if u == start] if start >= 0 else [0])
            if len(states):
                self._follow(belief, start, np.sort(states))
        self.informs = bool(self._before) and len(priors) > 0

    def _follow(self, belief: Markov, start: int, states: NDArray[np.intp]) -> None:
        begun = np.flatnonzero(self._events.times > start)
        some = self._events.only(begun)
        for step in follow_segments(belief, self._channel, start, states, some):
            total, shown = step.shown, 1.0 - step.chances
            self._compare(begun, step, total, (step.joint * shown[:, None]).sum(axis=2), start)
            for number, state in zip(*np.nonzero(total), strict=True):
                self._before.setdefault((step.time, int(state)), (start, int(states[number])))
                self._after[start, int(states[number])] = (step.time, int(state))
        total = step.silent[:, None]
        joint = (step.joint * step.chances[:, None]).sum(axis=(2, 3))[..., None]
        ended = attrs.evolve(step, time=self._over[0])
        self._compare(begun, ended, total, joint, start)
        for number in np.flatnonzero(total):
            self._after[start, int(states[number])] = self._over

    def _compare(
        self,
        begun: NDArray[np.intp],
        step: Step,
        total: FloatArray,
        joint: FloatArray,
        start: int,
    ) -> None:
        """Keep the worst rise of the events at these ends, (S, E, ends), if it is so far."""
        if not len(begun):
            return
        ratio = np.divide(joint, total[:, None], out=np.zeros_like(joint), where=total[:, None] > 0)
        passed = (self._events.times[begun] <= step.time)[:, None] & (total[:, None] > 0.0)
        rise = np.where(passed, ratio - self._priors[begun][:, None], -np.inf)
        place = np.unravel_index(int(rise.argmax()), rise.shape)
        if rise[place] > self._worst:
            self._worst, self.event = float(rise[place]), int(begun[place[1]])
            self.posterior, self.prior = float(ratio[place]), float(self._priors[self.event])
            self._place = (start, int(step.states[place[0]])), (step.time, int(place[2]))

    def output(self) -> tuple[object, ...]:
        """Return a complete output in which the worst is seen."""
        symbols: list[object] = [SUPPRESSED] * self._over[0]
        start, end = self._place or ((-1, 0), self._after[-1, 0])
        while start[0] >= 0:
            symbols[start[0]] = self._channel.states[start[1]]
            start = self._before[start]
        while end[0] < self._over[0]:
            symbols[end[0]] = self._channel.states[end[1]]
            end = self._after.get(end, self._over)  # the last state has nothing after it
        return tuple(symbols)


# Windows of times ---------------------------------------------------------------------------------


def worst_window_gap(
    belief: Markov, channel: Suppression | RememberingSuppression, masks: ArrayLike
) -> Gap:
    """Return max Pr[A | o] − Pr[A], A being "X_t lies in the mask for some t", rounded up.

    >>> import numpy as np
    >>> from sfumato.beliefs import Markov
    >>> from sfumato.channels import Suppression
    >>> from sfumato.inference.markov.remembered import worst_window_gap
    >>> chain = Markov([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], steps=2, states="sx")
    >>> channel = Suppression.memoryless("sx", [[1.0, 0.0], [1.0, 0.0]])
    >>> gap = worst_window_gap(chain, channel, np.array([[[True, False]] * 2]))
    >>> round(gap.value, 12), gap.prior, gap.output[0]
    (0.25, 0.75, 'x')
    """
    windows, shown = np.asarray(masks, dtype=bool), channel.shown
    if isinstance(channel, Suppression):
        checked_pair(belief, channel)
        channel = RememberingSuppression.of(channel)
    possible, error = reachable_states(belief), 2.0 * remembered_error(belief, channel)
    informs, found = bool(((channel.tables[0][0] < 1.0) & possible[:, None]).any()), []
    each = zip(windows, unmet_windows(belief, windows).tolist(), strict=True)
    for event, (mask, unmet) in enumerate(each):
        avoided, following, code = _shortest_path(belief, channel, mask, possible)
        output: list[object] = [SUPPRESSED] * belief.steps
        while code != len(following) - 1:
            time, state = divmod(code, belief.state_count)
            output[time], code = shown[state], int(following[code])
        # What cannot happen stays so, and where nothing is shown all does.
        live = informs and bool((mask & possible).any())
        ends = (unmet, avoided, error) if live else (unmet, unmet, 0.0)
        # Of the opposite, which becomes rarer.
        gap = Gap.of(*ends, event=event, output=tuple(output))
        found.append(attrs.evolve(gap, posterior=1.0 - avoided, prior=1.0 - unmet))
    return max(found, key=lambda gap: gap.value)


def unmet_windows(belief: Markov, windows: NDArray[np.bool_]) -> FloatArray:
    """Return Pr[X_t lies in the mask at no time t] of windows (W, T, M)."""
    law = belief.initial * ~windows[:, 0]
    for time in range(belief.steps - 1):
        law = (law @ belief.matrix(time)) * ~windows[:, time + 1]
    return np.asarray(law.sum(axis=1))


def _shortest_path(
    belief: Markov,
    channel: RememberingSuppression,
    mask: NDArray[np.bool_],
    possible: NDArray[np.bool_],
) -> tuple[float, NDArray[np.intp], int]:
    """Return the least Π R, which release follows each on its way, and the first of them."""
    steps, count = possible.shape
    over = steps * count
    least, following = np.ones(over + 1), np.full(over + 1, over)
    for start in range(steps - 2, -2, -1):
        states = np.flatnonzero(possible[start]) if start >= 0 else np.zeros(1, dtype=np.intp)
        products = np.full((len(states), over + 1), np.inf)
        for step in follow_segments(belief, channel, start, states, avoided=mask):
            unmet = (step.joint[:, 0] * (1.0 - step.chances)).sum(axis=1)
            codes = slice(step.time * count, (step.time + 1) * count)
            shown = step.shown
            np.divide(unmet * least[codes], shown, out=products[:, codes], where=shown > 0.0)
        unmet, silent = (step.joint[:, 0] * step.chances).sum(axis=(1, 2)), step.silent
        np.divide(unmet, silent, out=products[:, over], where=silent > 0.0)
        best = products.argmin(axis=1)
        values = products[np.arange(len(states)), best]
        if start >= 0:
            least[start * count + states] = values
            following[start * count + states] = best
    return float(values[0]), following, int(best[0])
