"""The view of a chain that is seen now and then: the segment around the time that is asked about.

Suppression and counts without noise are of this kind: every symbol either tells the state or is one
silent symbol. For X_t the segment is a sufficient statistic: the last sighting before t (or none)
and the first one at t or after it (or none). Given those two, and what the channel remembers, which
is a function of the former, all else that is seen is independent of X_t. With w(u, x) the
probability that x is seen at u and K the silent kernels under the law in force after (u, x),

    Pr[X_t = a, (u, x), (v, y)]
        = w(u, x) K[(u, x) → (t, a)] · p_t(a) K[(t, a) → (v, y)] (1 − p_v(y)),

and 1 − p_t(a) in place of what follows the dot where a itself is seen at t.
"""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np

from sfumato.beliefs import Markov
from sfumato.channels import (
    Emission,
    RelabelledSuppression,
    RememberingSuppression,
    Suppression,
    Symbols,
)
from sfumato.errors import OutsideHypotheses, Undecidable
from sfumato.inference.markov.events import Gap, TimedEvents
from sfumato.inference.markov.remembered import (
    follow_segments,
    possible_starts,
    remembered_releases,
    worst_remembered_gap,
)
from sfumato.inference.markov.segments import (
    BEGINNING,
    UNIT_ROUNDOFF,
    release_probabilities,
    silent_kernels,
    worst_segment_gap,
)
from sfumato.inference.markov.windows import worst_window_gap
from sfumato.questions.events import BoolArray, Events
from sfumato.values import FloatArray

SMALLEST = 1e-290
"""A joint probability above this has lost nothing to underflow."""

SAME = 1e-13
"""Relative difference up to which two probabilities count as one."""


def as_suppression(channel: Emission) -> Suppression | None:
    """Return the suppression that a channel is, up to the names of its symbols, or None.

    >>> sensor = Symbols(("home", "work"), (0, 1), [[[1.0, 0.0], [0.25, 0.75]]])
    >>> as_suppression(sensor).start.tolist()
    [[1.0, 0.25]]
    """
    if isinstance(channel, RelabelledSuppression):
        return channel.suppression
    if isinstance(channel, Suppression):
        return channel
    if not isinstance(channel, Symbols):
        return None
    silence = []
    for laws in channel.probabilities:  # (M, Y)
        by_many = np.flatnonzero(np.count_nonzero(laws, axis=0) > 1)
        if len(by_many) > 1:
            return None
        silent = laws[:, by_many[0]] if len(by_many) else np.zeros(len(laws))
        shown = np.delete(laws, by_many, axis=1).sum(axis=1)
        if not np.allclose(shown, 1.0 - silent, rtol=SAME, atol=0.0):
            return None  # what is shown would lose its digits as one minus a silence near one
        silence.append(silent)
    return Suppression.memoryless(channel.states, np.array(silence))


def suppression_error(channel: Emission) -> float:
    """Return how far, relatively, `as_suppression` may move the probability of a trace's output.

    >>> suppression_error(Suppression.memoryless(("home", "work"), [[1.0, 0.25]]))
    0.0
    """
    return 1.1 * SAME * channel.steps if isinstance(channel, Symbols) else 0.0


def worst_gap(belief: Any, question: Any, channel: Any) -> Gap | None:
    """Return the largest rise of an event, its supremum taken over each factor of a segment alone.

    No table is built: it is how designs are certified, and serves traces of any length. None where
    only tables know.

    >>> chain = Markov([0.5, 0.5], np.empty((0, 2, 2)), states="sx")
    >>> asked = Events(np.array([[[True, False]]]), ("s",))
    >>> gap = worst_gap(chain, asked, Suppression.memoryless("sx", [[1.0, 1 / 3]]))
    >>> round(gap.value, 12), gap.output
    (0.25, (sf.SUPPRESSED,))
    """
    if not isinstance(question, Events):
        return None
    if isinstance(channel, RelabelledSuppression):
        gap: Any = worst_gap(belief, question, channel.suppression)
        return attrs.evolve(gap, output=channel.to_labels(gap.output))  # type: ignore[no-any-return]
    if not isinstance(channel, Suppression | RememberingSuppression):
        return None
    if question.has_windows:
        return worst_window_gap(belief, channel, question.masks)
    if isinstance(channel, RememberingSuppression):
        return worst_remembered_gap(belief, channel, question.masks)
    return worst_segment_gap(belief, channel, question.masks)


def joint_error(belief: Markov, memories: int = 0) -> float:
    """Return a proved relative error of every joint probability of a view.

    All terms are products and sums of numbers that are not negative: relative errors add up. A
    sighting's probability is a sum over the sightings before it, T deep, of at most T·M terms, and
    each silent step takes M + 1 roundings, and one for each hidden memory that is added up; stored
    laws sum to one up to 2M more. Together fewer than 12 (T + 1)(T + M + memories + 2).
    """
    terms = belief.steps + belief.state_count + memories + 2
    roundings = 12.0 * (belief.steps + 1) * terms
    return roundings * UNIT_ROUNDOFF / (1.0 - roundings * UNIT_ROUNDOFF)


def require_no_underflow(joint: FloatArray) -> FloatArray:
    """Return the probabilities, unless one may have vanished because float64 cannot hold it."""
    if joint.min(initial=1.0) < SMALLEST and joint.min(initial=1.0, where=joint > 0.0) < SMALLEST:
        raise Undecidable("an outcome has a probability below 1e-290: too small for float64.")
    return joint


def _compress(joint: FloatArray) -> FloatArray:
    """Return the outcomes that are possible."""
    some = joint.any(axis=0)  # rows stay contiguous, as by `joint[:, some]` they would not
    return joint if some.all() else np.compress(some, joint, axis=1)


def _check_size(entries: int, most: int) -> None:
    if entries > most:
        raise OutsideHypotheses(
            f"a table of segments has {entries:,} numbers, more than {most:,}: ask about fewer "
            "states or a shorter trace."
        )


def require_products(*factors: FloatArray) -> None:
    """Refuse factors of which a product may vanish because float64 cannot hold it."""
    least = [float(factor.min(initial=1.0, where=factor > 0.0)) for factor in factors]
    if math.prod(least) < SMALLEST:
        raise Undecidable("an outcome may have a probability below 1e-290: too small for float64.")


def marginals_up_to(belief: Markov, time: int) -> FloatArray:
    """Return Pr[X_u = x], (T, M), of which none up to the time may have vanished in float64."""
    marginals = belief.marginals()
    for before in range(time):
        require_products(marginals[before], belief.matrix(before))
    return marginals


class Segments:
    """The segments of one chain under a suppression without memory, for any time."""

    def __init__(self, belief: Markov, channel: Suppression, most: int) -> None:
        self._belief, self._channel, self._most = belief, channel, most
        self._seen = release_probabilities(belief, channel)
        steps, count = self._seen.shape
        if (steps * count + 1) ** 2 > most:
            raise OutsideHypotheses(
                f"{steps} steps of {count} states have too many segments to list; take at "
                f"most {(math.isqrt(most) - 1) // count} steps."
            )
        self._starts = np.append(BEGINNING, np.flatnonzero(self._seen.ravel() > 0.0))
        self._weights = np.append(1.0, self._seen.ravel()[self._starts[1:]])
        every = np.arange(BEGINNING, steps * count)[None]
        self._kernels = silent_kernels(belief, channel.start[None], every)[0]
        require_products(self._kernels, channel.start, belief.transitions)

    def joint(self, time: int, members: BoolArray) -> FloatArray:
        """Return Pr[value of X_t, segment], (R, O), for values given by their states, (R, M).

        >>> chain = Markov([0.5, 0.5], np.empty((0, 2, 2)), states="sx")
        >>> channel = Suppression.memoryless("sx", [[1.0, 0.5]])
        >>> Segments(chain, channel, 10**6).joint(0, np.eye(2, dtype=bool)).tolist()
        [[0.0, 0.5], [0.25, 0.25]]
        """
        into, after = self._around(time)
        _check_size(len(members) * into.shape[0] * after.shape[1], self._most)
        told = members * self._seen[time]  # seen at t: what was seen before does not matter
        after = self._channel.start[time][:, None] * after
        require_products(into, after)
        joint = np.empty((len(members), told.shape[1] + len(into) * after.shape[1]))
        joint[:, : told.shape[1]] = require_no_underflow(told)
        for own, row in zip(members, joint[:, told.shape[1] :], strict=True):
            np.matmul(into[:, own], after[own], out=row.reshape(len(into), -1))
        return _compress(joint)

    def pieces(self, time: int) -> tuple[FloatArray, ...]:
        """Return the laws of what is seen before, at and after t given X_t, (M, O) each."""
        silent = self._channel.start[time]
        into, after = self._around(time)
        prior = self._belief.marginals()[time]
        past = np.divide(
            into.T, prior[:, None], out=np.zeros_like(into.T), where=prior[:, None] > 0
        )
        now = np.concatenate([np.diag(1.0 - silent), silent[:, None]], axis=1)
        return past, now, after

    def _around(self, time: int) -> tuple[FloatArray, FloatArray]:
        """Return Pr[start u, x, then X_t = a], (S, M), and Pr[end v, y | X_t = a], (M, E)."""
        count = self._belief.state_count
        here = slice(time * count, (time + 1) * count)
        before = self._starts < time * count
        into = self._weights[before, None] * self._kernels[self._starts[before] + 1, here]
        onward = self._kernels[1 + time * count : 1 + (time + 1) * count]
        first = (time + 1) * count
        shown = np.append((1.0 - self._channel.start).ravel()[first:], 1.0)
        return into, onward[:, first:] * shown


class RememberedSegments:
    """The segments of a chain whose suppression depends on its last release and a hidden memory.

    The memory is not seen: it is added up at the end of every segment.
    """

    def __init__(self, belief: Markov, channel: RememberingSuppression, most: int) -> None:
        self._belief, self._channel, self._most = belief, channel, most
        self._seen = remembered_releases(belief, channel)

    def joint(self, time: int, members: BoolArray) -> FloatArray:
        """Return Pr[value of X_t, segment], (R, O), as `Segments.joint` does.

        >>> chain = Markov([0.5, 0.5], np.empty((0, 2, 2)), states="sx")
        >>> channel = RememberingSuppression.of(Suppression.memoryless("sx", [[1.0, 0.5]]))
        >>> RememberedSegments(chain, channel, 10**6).joint(0, np.eye(2, dtype=bool)).tolist()
        [[0.0, 0.5], [0.25, 0.25]]
        """
        ends = (self._belief.steps - time - 1) * self._belief.state_count + 1
        starts = 1 + int(np.count_nonzero(self._seen[:time]))
        _check_size(len(members) * starts * ends, self._most)
        parts = [members * self._seen[time]]
        asked = TimedEvents(np.full(len(members), time), members)
        for start in range(-1, time):
            states, weights = possible_starts(self._seen, start)
            if not len(states):
                continue
            for step in follow_segments(self._belief, self._channel, start, states, asked):
                require_products(weights, step.mass, step.joint, step.chances)
                joint = step.joint * (weights * step.mass)[:, None, None, None]
                if step.time > time:
                    shown = (joint * (1.0 - step.chances)[:, None]).sum(axis=2)  # (S, R, M)
                    parts.append(shown.transpose(1, 0, 2).reshape(len(members), -1))
            parts.append((joint * step.chances[:, None]).sum(axis=(2, 3)).T)
        return require_no_underflow(_compress(np.concatenate(parts, axis=1)))
