"""The segment around a time that is asked about, of suppression that remembers; and its roundings.

A segment is the last sighting before t (or none) and the first one at t or after it (or none).
Given those two, and what the channel remembers, which is a function of the former, all else that is
seen is independent of X_t. With w(u, x) the probability that x is seen at u and K the silent
kernels under the law in force after (u, x),

    Pr[X_t = a, (u, x), (v, y)]
        = w(u, x) K[(u, x) → (t, a)] · p_t(a) K[(t, a) → (v, y)] (1 − p_v(y)),

and 1 − p_t(a) in place of what follows the dot where a itself is seen at t. A hidden memory is not
seen: it is added up at the end of every segment. Without memory the factors on either side of the
dot are told apart: see `sides`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sfumato.beliefs import Markov
from sfumato.channels import (
    RememberingSuppression,
    Suppression,
)
from sfumato.errors import OutsideHypotheses, Undecidable
from sfumato.inference.markov.events import Gap, TimedEvents
from sfumato.inference.markov.remembered import (
    follow_segments,
    possible_starts,
    remembered_releases,
    worst_remembered_gap,
    worst_window_gap,
)
from sfumato.inference.markov.segments import (
    UNIT_ROUNDOFF,
    worst_segment_gap,
)
from sfumato.questions.events import BoolArray, Events
from sfumato.values import FloatArray

SMALLEST = 1e-290
"""A joint probability above this has lost nothing to underflow."""


def worst_gap(belief: Any, question: Any, channel: Any) -> Gap | None:
    """Return the largest rise of an event, its supremum taken over each factor of a segment alone.

    No table is built: it is how designs are certified, and serves traces of any length. None where
    only tables know.

    >>> import numpy as np
    >>> from sfumato.beliefs import Markov
    >>> from sfumato.channels import Suppression
    >>> from sfumato.questions import Events
    >>> from sfumato.views.segments import worst_gap
    >>> chain = Markov([0.5, 0.5], np.empty((0, 2, 2)), states="sx")
    >>> asked = Events(np.array([[[True, False]]]), ("s",))
    >>> gap = worst_gap(chain, asked, Suppression.memoryless("sx", [[1.0, 1 / 3]]))
    >>> round(gap.value, 12), gap.output
    (0.25, (sf.SUPPRESSED,))
    """
    if not isinstance(question, Events):
        return None
    if not isinstance(channel, Suppression | RememberingSuppression):
        return None
    if question.has_windows:
        return worst_window_gap(belief, channel, question.masks)
    if isinstance(channel, RememberingSuppression):
        return worst_remembered_gap(belief, channel, question.kept)
    return worst_segment_gap(belief, channel, question.kept)


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
    if least_above_zero(joint) < SMALLEST:
        raise Undecidable("an outcome has a probability below 1e-290: too small for float64.")
    return joint


def least_above_zero(numbers: FloatArray) -> float:
    """Return the smallest number above zero, one if there is none."""
    least = float(numbers.min(initial=1.0))
    return least if least > 0.0 else float(numbers.min(initial=1.0, where=numbers > 0.0))


def require_products(*factors: FloatArray) -> None:
    """Refuse factors of which a product may vanish because float64 cannot hold it."""
    if math.prod(map(least_above_zero, factors)) < SMALLEST:
        raise Undecidable("an outcome may have a probability below 1e-290: too small for float64.")


def marginals_up_to(belief: Markov, time: int) -> FloatArray:
    """Return Pr[X_u = x], (T, M), of which none up to the time may have vanished in float64."""
    marginals = belief.marginals()
    for before in range(time):
        require_products(marginals[before], belief.matrix(before))
    return marginals


def remembered_joint(
    belief: Markov, channel: RememberingSuppression, time: int, members: BoolArray, most: int
) -> FloatArray:
    """Return Pr[value of X_t, segment], (R, O), for values given by their states, (R, M).

    >>> import numpy as np
    >>> from sfumato.beliefs import Markov
    >>> from sfumato.channels import RememberingSuppression, Suppression
    >>> from sfumato.views.segments import remembered_joint
    >>> chain = Markov([0.5, 0.5], np.empty((0, 2, 2)), states="sx")
    >>> channel = RememberingSuppression.of(Suppression.memoryless("sx", [[1.0, 0.5]]))
    >>> remembered_joint(chain, channel, 0, np.eye(2, dtype=bool), 10**6).tolist()
    [[0.0, 0.5], [0.25, 0.25]]
    """
    seen = remembered_releases(belief, channel)
    ends = (belief.steps - time - 1) * belief.state_count + 1
    entries = len(members) * (1 + int(np.count_nonzero(seen[:time]))) * ends
    if entries > most:
        raise OutsideHypotheses(
            f"a table of segments has {entries:,} numbers, more than {most:,}: ask about fewer "
            "states or a shorter trace."
        )
    parts = [members * seen[time]]
    asked = TimedEvents(np.full(len(members), time), members)
    for start in range(-1, time):
        states, weights = possible_starts(seen, start)
        if not len(states):
            continue
        for step in follow_segments(belief, channel, start, states, asked):
            require_products(weights, step.mass, step.joint, step.chances)
            joint = step.joint * (weights * step.mass)[:, None, None, None]
            if step.time > time:
                shown = (joint * (1.0 - step.chances)[:, None]).sum(axis=2)  # (S, R, M)
                parts.append(shown.transpose(1, 0, 2).reshape(len(members), -1))
        parts.append((joint * step.chances[:, None]).sum(axis=(2, 3)).T)
    whole = np.concatenate(parts, axis=1)
    return require_no_underflow(np.compress(whole.any(axis=0), whole, axis=1))
