"""How far a chain's probabilities can bend between the ends of a cell of parameters.

The probability of a path is a product of entries of the initial law and the transition matrix. Let
$ω(x; θ)$ be such products and $J = ∑ c_x ω(x; θ)$ any sum of them with c ≥ 0, such as the
probability of a value of the secret together with an outcome. Then $(log J)'$ is a mean of $(log
ω)'$, and

    $(log J)'' = mean of (log ω)'' + variance of (log ω)',$

so with $(log ω)'$ in a range of width R and $(log ω)''$ in $[k, k']$, $k ≤ 0 ≤ k'$, the logarithm
of a quotient of two such sums has a slope of at most R and a second derivative of at most $c = k' −
k + R²/4$ in size. Over a cell of width w it is therefore within $c w²/8$, its *bend*, of its linear
interpolation between the ends of the cell; and geometric means are below arithmetic ones by a
factor of at most $exp(R²w²/8)$, the *turn* (Hoeffding's lemma). Several parameters are taken one
after the other, and their bends and turns add up.

A stationary initial law is, up to its sum, a sum over spanning trees of products of M − 1
transitions (the Markov chain tree theorem): its products count among the others.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from sfumato.inference.taylor import Taylor, TaylorNumbers
from sfumato.matrices.matrix import ROUNDOFF, Array
from sfumato.prior_classes.families import Box

OUTWARDS = 1 + 1e-12
"""Sums of bounds are themselves rounded: each is raised by more than that."""


@attrs.frozen(eq=False)
class Bends:
    """For every cell, how far logarithms of quotients of probabilities bend and turn over it."""

    bends: Array
    turns: Array
    axes: Any  # (cells,): the parameter that matters most, to be halved first


def bound_bends(box: Box, steps: int, lows: Array, highs: Array) -> Bends | None:
    """Return the bends over cells (count, parameters) of a box; None if its chain has no formula.

    They are infinite where a transition is possible in only a part of the cell.

    >>> import numpy as np
    >>> import sfumato as sf
    >>> from sfumato.inference.markov.interval_chains import bound_bends
    >>> from sfumato.prior_classes.families import boxes_of
    >>> [box] = boxes_of(sf.priors.line_chain(states=3, tau=sf.Interval(0.5, 1.0), steps=4))
    >>> bound_bends(box, 4, np.array([[0.5]]), np.array([[0.51]])).bends.round(4)
    array([0.0007])
    """
    centres = (lows + highs) / 2
    widths = np.maximum(highs - centres, centres - lows) * (1 + 4 * ROUNDOFF)
    numbers = TaylorNumbers(lows.shape[1], 2)
    with np.errstate(all="ignore"):  # what is not finite proves nothing, and is cut again
        given = [
            numbers.parameter(i, centres[:, i], widths[:, i], over_cell=True)
            for i in range(lows.shape[1])
        ]
        found = box.abstract(given).formula(numbers)
        if not isinstance(found, tuple):
            return None
        initial, matrix = found
        each = [
            _along(numbers, axis, initial, matrix, (steps, len(lows)))
            for axis in range(lows.shape[1])
        ]
    bends, turns = (np.nan_to_num(np.array(part), nan=np.inf) for part in zip(*each, strict=True))
    # Members hold rounded laws: the stationary one to 8 M³ units, a product of others to 2 M + 16.
    count = matrix.nrows()
    rounding = 2 * ROUNDOFF * (8 * count**3 + steps * (2 * count + 16))
    total = bends.sum(axis=0) * OUTWARDS + 2 * rounding
    axes = np.argmax(np.nan_to_num(bends + turns, posinf=1e300), axis=0)
    return Bends(total, turns.sum(axis=0) * OUTWARDS, axes)


def _along(
    numbers: TaylorNumbers,
    axis: int,
    initial: Taylor | None,
    matrix: Taylor,
    sizes: tuple[int, int],
) -> tuple[Array, Array]:
    """Return the bend and the turn along one parameter, in whose units a cell has width two."""
    steps, cells = sizes
    moves = _logarithms(numbers, axis, matrix, cells)  # (4, M, M, cells)
    states = moves.shape[1]
    start = np.zeros((4, states, cells))
    if initial is not None:
        start = _logarithms(numbers, axis, initial, cells)[:, 0]
    ends = np.zeros((4, cells))  # of the slopes and of the second derivatives, along any path
    for i, pick in enumerate((np.min, np.max, np.min, np.max)):
        ends[i] = pick([_extreme_path(start[i], moves[i], steps, pick), ends[i]], axis=0)
        if initial is None:
            apart = moves[i][~np.eye(states, dtype=bool)]
            ends[i] += (states - 1) * pick(apart, axis=0, initial=0.0)
    spread = ends[1] - ends[0]
    return (ends[3] - ends[2] + spread**2 / 4) / 2, spread**2 / 2


def _extreme_path(start: Array, moves: Array, steps: int, pick: Any) -> Array:
    """Return the smallest or largest sum along a path: (cells,) from (M, cells), (M, M, cells)."""
    reached = start
    for _ in range(steps - 1):
        reached = pick(reached[:, None] + moves, axis=0)
    return np.asarray(pick(reached, axis=0))


def _logarithms(numbers: TaylorNumbers, axis: int, entries: Taylor, cells: int) -> Array:
    """Return the ends of (log p)' and of (log p)'' of every entry p: (4, rows, columns, cells).

    An entry that is zero all over the cells is on no path, and counts as a constant.
    """
    shape = (*entries.middle.shape[1:3], cells)
    if entries.is_constant:
        return np.zeros((4, *shape))
    places = [
        numbers.exponents.index(tuple(power * (i == axis) for i in range(numbers.parameters)))
        for power in range(3)
    ]
    middle = np.array([np.broadcast_to(entries.middle[p], shape) for p in places])
    radius = np.array([np.broadcast_to(entries.radius[p], shape) for p in places]) * OUTWARDS
    (p_low, slope_low, curve_low), (p_high, slope_high, curve_high) = (
        middle - radius,
        middle + radius,
    )
    sure = np.where(p_low > 0, p_low, np.nan)
    slopes = np.array(
        [slope_low / sure, slope_low / p_high, slope_high / sure, slope_high / p_high]
    )
    curves = 2 * np.array([curve_low / sure, curve_low / p_high])
    above = 2 * np.array([curve_high / sure, curve_high / p_high])
    least, most = slopes.min(axis=0), slopes.max(axis=0)
    squares = np.maximum(least**2, most**2)
    nearest = np.where(least * most > 0, np.minimum(least**2, most**2), 0.0)
    found = np.array([least, most, curves.min(axis=0) - squares, above.max(axis=0) - nearest])
    never = np.all(middle == 0, axis=0)
    return np.where(never, 0.0, found)
