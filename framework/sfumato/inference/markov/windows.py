"""What an output can tell about a window of times: "in the hospital at some time from 9 to 12".

Given the output, segments are independent (see `segments`), so with R(a, b) the probability that
the window's states are avoided in the segment from release a to release b, that in b included,

    Pr[no visit | o] = Π R over the segments of o,

and the worst posterior is one minus the least product over all chains of releases: a shortest
path, found backwards in time. With K the silent kernels and K' those that also avoid the states,
R = K' / K. The gap is Pr[no visit] − Π R, of two sums of non-negative terms.

**Rounding.** The kernels of all segments of an output take together no more steps than the trace
has, so the product errs by at most twice the error of a posterior in `segments`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.beliefs import Markov
from sfumato.channels.suppression import Suppression
from sfumato.inference.markov.enumeration import checked_pair
from sfumato.inference.markov.events import Gap
from sfumato.inference.markov.probabilities import reachable_states
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
from sfumato.values import SUPPRESSED


def worst_window_gap(belief: Markov, channel: Suppression, masks: ArrayLike) -> Gap:
    """Return max Pr[A | o] − Pr[A], A being "X_t lies in the mask for some t", rounded up.

    >>> chain = Markov([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], steps=2, states="sx")
    >>> channel = Suppression.memoryless("sx", [[1.0, 0.0], [1.0, 0.0]])
    >>> gap = worst_window_gap(chain, channel, np.array([[[True, False]] * 2]))
    >>> round(gap.value, 12), gap.prior, gap.output[0]
    (0.25, 0.75, 'x')
    """
    checked_pair(belief, channel)
    tables = (channel.start,) if channel.after is None else (channel.start, channel.after)
    smallest = min(float(table.min(initial=1.0, where=table > 0.0)) for table in tables)
    found = [_gap(belief, channel, smallest, mask) for mask in np.asarray(masks, dtype=bool)]
    gaps = [gap.value for gap in found]
    worst = found[int(np.argmax(gaps))]
    return Gap(
        value=worst.value,
        posterior=worst.posterior,
        prior=worst.prior,
        event=int(np.argmax(gaps)),
        output=worst.output,
        relative_error=worst.relative_error,
    )


def _gap(belief: Markov, channel: Suppression, smallest: float, mask: NDArray[np.bool_]) -> Gap:
    """Return the gap of one window."""
    numbers = ORDINARY
    avoided, output, is_normal = _shortest_path(belief, channel, mask, ORDINARY)
    if not is_normal or min(smallest, belief.smallest_probability) < SMALLEST_FACTOR:
        numbers = LOGARITHMS
        avoided, output, _ = _shortest_path(belief, channel, mask, LOGARITHMS)
    law = belief.initial * ~mask[0]
    for time in range(belief.steps - 1):
        law = (law @ belief.matrix(time)) * ~mask[time + 1]
    unmet = float(law.sum())
    error = 2.0 * check_error(belief, smallest if numbers is LOGARITHMS else None)
    gap, margin = max(0.0, unmet - avoided), error * (unmet + avoided)
    possible = reachable_states(belief)
    if not (mask & possible).any() or not ((channel.start < 1.0) & possible).any():
        gap = margin = 0.0  # what cannot happen stays so, and where nothing is shown all does
    ceiling, floor = min(1.0, gap + margin), max(0.0, gap - margin)
    return Gap(
        value=ceiling,
        posterior=1.0 - avoided,
        prior=1.0 - unmet,
        event=0,
        output=output,
        relative_error=0.0 if ceiling == 0.0 else (ceiling - floor) / ceiling,
    )


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
    output: list[object] = [SUPPRESSED] * steps
    code = int(best[0])
    while code != over:
        time, state = divmod(code, count)
        output[time] = belief.states[state]
        code = int(following[code])
    return float(values[0]), tuple(output), True
