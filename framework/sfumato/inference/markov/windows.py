"""What an output can tell about a window of times: "in the hospital at some time from 9 to 12".

Given the output, segments are independent (see `segments`), so with R(a, b) the probability that
the window's states are avoided in the segment from release a to release b, that in b included,

    Pr[no visit | o] = Π R over the segments of o,

and the worst posterior is one minus the least product over all chains of releases: a shortest
path, found backwards in time. With K the silent kernels and K' those that also avoid the states,
R = K' / K. The gap is Pr[no visit] − Π R, of two sums of non-negative terms.

**Rounding.** The kernels of all segments of an output take together no more steps than the trace
has, so the product errs by at most twice the error of a posterior in `segments`, or in
`remembered`.
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
from sfumato.inference.markov.remembered import (
    follow_segments,
    possible_starts,
    remembered_error,
    remembered_releases,
)
from sfumato.inference.markov.segments import (
    BEGINNING,
    LOGARITHMS,
    ORDINARY,
    SMALLEST_FACTOR,
    Numbers,
    are_normal,
    check_error,
    silent_kernels,
)
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
    if isinstance(channel, RememberingSuppression):
        released = remembered_releases(belief, channel)
        informs, error = bool(released.any()), 2.0 * remembered_error(belief, channel)
        paths = [(*_remembered_path(belief, channel, mask, released), error) for mask in windows]
    else:
        checked_pair(belief, channel)
        informs = bool(((channel.start < 1.0) & reachable_states(belief)).any())
        paths = [_path(belief, channel, mask) for mask in windows]
    possible, found = reachable_states(belief) & informs, []
    each = zip(windows, paths, unmet_windows(belief, windows).tolist(), strict=True)
    for event, (mask, (avoided, output, error), unmet) in enumerate(each):
        # What cannot happen stays so, and where nothing is shown all does.
        ends = (unmet, avoided, error) if (mask & possible).any() else (unmet, unmet, 0.0)
        gap = Gap.of(*ends, event=event, output=output)  # of the opposite, which becomes rarer
        found.append(attrs.evolve(gap, posterior=1.0 - avoided, prior=1.0 - unmet))
    return max(found, key=lambda gap: gap.value)


def unmet_windows(belief: Markov, windows: NDArray[np.bool_]) -> FloatArray:
    """Return Pr[X_t lies in the mask at no time t] of windows (W, T, M)."""
    law = belief.initial * ~windows[:, 0]
    for time in range(belief.steps - 1):
        law = (law @ belief.matrix(time)) * ~windows[:, time + 1]
    return np.asarray(law.sum(axis=1))


def _path(
    belief: Markov, channel: Suppression, mask: NDArray[np.bool_]
) -> tuple[float, tuple[object, ...], float]:
    """Return the least Π R, an output that attains it, and the relative error of both."""
    tables = (channel.start,) if channel.after is None else (channel.start, channel.after)
    smallest = min(float(table.min(initial=1.0, where=table > 0.0)) for table in tables)
    avoided, output, is_normal = _shortest_path(belief, channel, mask, ORDINARY)
    if is_normal and min(smallest, belief.smallest_probability) >= SMALLEST_FACTOR:
        return avoided, output, 2.0 * check_error(belief)
    avoided, output, _ = _shortest_path(belief, channel, mask, LOGARITHMS)
    return avoided, output, 2.0 * check_error(belief, smallest)


def _remembered_path(
    belief: Markov,
    channel: RememberingSuppression,
    mask: NDArray[np.bool_],
    released: FloatArray,
) -> tuple[float, tuple[object, ...]]:
    """Return the least Π R and an output that attains it, where a hidden memory decides.

    R is J / F of `remembered`, J being joint with having met none of the window's states.
    """
    steps, count = released.shape
    over = steps * count
    least, following = np.ones(over + 1), np.full(over + 1, over)
    for start in range(steps - 2, -2, -1):
        states, _ = possible_starts(released, start)
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


def _shortest_path(
    belief: Markov, channel: Suppression, mask: NDArray[np.bool_], numbers: Numbers
) -> tuple[float, tuple[object, ...], bool]:
    """Return the least Π R, an output that attains it, and whether nothing can have vanished."""
    steps, count = belief.steps, belief.state_count
    over = steps * count
    least = np.full(over + 1, np.inf)
    least[over] = 1.0
    following = np.full(over + 1, over)
    least[over - count : over] = np.where(mask[-1], 0.0, 1.0)  # the last release ends the trace
    for start in range(steps - 2, -2, -1):
        codes = start * count + np.arange(count) if start >= 0 else np.array([BEGINNING])
        if start < 0 or channel.after is None:
            tables = np.broadcast_to(channel.start, (len(codes), steps, count))
        else:
            tables = channel.after[start]
        avoiding = silent_kernels(belief, tables * ~mask, codes[:, None], numbers)[:, 0]
        kernels = silent_kernels(belief, tables, codes[:, None], numbers)[:, 0]
        if numbers is ORDINARY and not (are_normal(kernels) and are_normal(avoiding)):
            return 0.0, (), False
        ratio = numbers.value(numbers.times(avoiding, numbers.inverse(kernels)))
        chances = np.concatenate(
            [tables.reshape(len(codes), -1), np.zeros((len(codes), 1))], axis=1
        )
        possible = (kernels > numbers.zero) & (chances < 1.0)
        products = np.where(possible, ratio * np.where(possible, least, 1.0), np.inf)
        best = products.argmin(axis=1)
        values = products[np.arange(len(codes)), best]
        if start >= 0:
            least[codes] = np.where(mask[start], 0.0, values)
            following[codes] = best
    return float(values[0]), _output(belief, following, int(best[0])), True


def _output(belief: Markov, following: NDArray[np.intp], code: int) -> tuple[object, ...]:
    """Return the output whose releases are `code` and those that follow it."""
    output: list[object] = [SUPPRESSED] * belief.steps
    while code != len(following) - 1:
        time, state = divmod(code, belief.state_count)
        output[time] = belief.states[state]
        code = int(following[code])
    return tuple(output)
