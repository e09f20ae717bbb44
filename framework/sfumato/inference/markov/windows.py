"""What an output can tell about a window of times: "in the hospital at some time from 9 to 12".

Given the output, segments are independent (see `segments`), so with R(a, b) the probability that
the window's states are avoided in the segment from release a to release b, that in b included,

    Pr[no visit | o] = Π R over the segments of o,

and the worst posterior is one minus the least product over all chains of releases: a shortest
path, found backwards in time. R is J / F of `remembered`, J being joint with having met none of the
states; a channel without hidden memory is one with none. The gap is Pr[no visit] − Π R.

**Rounding.** The segments of an output take together no more steps than the trace has, so the
product errs by at most twice the error of a posterior in `remembered`.
"""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.beliefs import Markov
from sfumato.channels.remembering import RememberingSuppression
from sfumato.channels.suppression import Suppression
from sfumato.inference.markov.enumeration import checked_pair
from sfumato.inference.markov.events import Gap
from sfumato.inference.markov.probabilities import reachable_states
from sfumato.inference.markov.remembered import follow_segments, remembered_error
from sfumato.values import SUPPRESSED, FloatArray


def worst_window_gap(
    belief: Markov, channel: Suppression | RememberingSuppression, masks: ArrayLike
) -> Gap:
    """Return max Pr[A | o] − Pr[A], A being "X_t lies in the mask for some t", rounded up.

    >>> chain = Markov([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], steps=2, states="sx")
    >>> channel = Suppression.memoryless("sx", [[1.0, 0.0], [1.0, 0.0]])
    >>> gap = worst_window_gap(chain, channel, np.array([[[True, False]] * 2]))
    >>> round(gap.value, 12), gap.prior, gap.output[0]
    (0.25, 0.75, 'x')
    """
    windows = np.asarray(masks, dtype=bool)
    if isinstance(channel, Suppression):
        checked_pair(belief, channel)
        channel = RememberingSuppression.of(channel)
    possible, error = reachable_states(belief), 2.0 * remembered_error(belief, channel)
    informs, found = bool(((channel.tables[0][0] < 1.0) & possible[:, None]).any()), []
    each = zip(windows, unmet_windows(belief, windows).tolist(), strict=True)
    for event, (mask, unmet) in enumerate(each):
        avoided, output = _shortest_path(belief, channel, mask, possible)
        # What cannot happen stays so, and where nothing is shown all does.
        live = informs and bool((mask & possible).any())
        ends = (unmet, avoided, error) if live else (unmet, unmet, 0.0)
        gap = Gap.of(*ends, event=event, output=output)  # of the opposite, which becomes rarer
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
) -> tuple[float, tuple[object, ...]]:
    """Return the least Π R and an output that attains it."""
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
    return float(values[0]), _output(belief, following, int(best[0]))


def _output(belief: Markov, following: NDArray[np.intp], code: int) -> tuple[object, ...]:
    """Return the output whose releases are `code` and those that follow it."""
    output: list[object] = [SUPPRESSED] * belief.steps
    while code != len(following) - 1:
        time, state = divmod(code, belief.state_count)
        output[time] = belief.states[state]
        code = int(following[code])
    return tuple(output)
