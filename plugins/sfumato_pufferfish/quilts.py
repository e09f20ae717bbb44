"""The Markov quilt mechanism's noise: how far away a state must be to say little of X_i.

A quilt of X_i in a chain is {X_{i−a}, X_{i+b}}, either of them alone, or nothing. Given it, what
lies outside is independent of X_i. Its influence is e = max over values of the quilt and pairs of
possible states of log Pr[quilt | X_i = s]/Pr[quilt | X_i = s'], and with n nodes inside, X_i among
them, its score is n/(ε − e). The noise has scale max over i of the smallest score, times the
sensitivity.

A quilt with n nodes inside has a score of at least n/ε, so once a score S is found only quilts with
n < εS are of interest: a window. In a stationary chain the nodes with a whole window on either side
are all alike, and one of them is looked at.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs import Markov
from sfumato.errors import OutsideHypotheses
from sfumato.matrices.matrix import ROUNDOFF
from sfumato.values import FloatArray
from sfumato.views.segments import marginals_up_to, require_products

FIRST, WIDEST = 16, 4096
"""How far a window reaches at first, doubled until no quilt beyond it can be better, and at most:
a wider quilt is not looked for, which errs upwards."""

ROUNDING = 1e-12
"""What a score may lack by rounding, for each unit; it is added."""

SMALLEST = 1e-270
"""A probability above this has lost nothing to underflow."""

STILL = 1e-13
"""By which share of it one step may move the law of a state of a stationary chain: rounding, which
is added. Rare states count as much as others, so a small total variation is not enough."""


class _Side:
    """The influences of X_{i±1}, X_{i±2}, ... on X_i, pair by pair, found as far as needed."""

    def __init__(self, influences: Iterator[FloatArray]) -> None:
        self._rest, self._known = influences, list[FloatArray]()

    def nearest(self, count: int) -> FloatArray:
        """Return the influences of the nearest states, then that of none, (count + 1, ...)."""
        self._known += itertools.islice(self._rest, max(0, count - len(self._known)))
        shape = self._known[0].shape if self._known else (1, 1)
        return np.array([*self._known[:count], np.zeros(shape)])


BoolArray = NDArray[np.bool_]
Sides = Callable[[int], tuple[_Side, _Side]]


def quilt_scale(
    belief: Markov, epsilon: float, times: Iterable[int] | None = None, form: str = "exact"
) -> float:
    """Return the scale of the noise for a count that one state moves by one.

    `times` are the nodes whose states are secret, all by default; the form "approximate" bounds the
    influences by the chain's spectral gap.
    """
    steps = belief.steps
    nodes = range(steps) if times is None else sorted(set(times))
    sides = _bounded(belief) if form == "approximate" else _exact(belief)
    if not (form == "approximate" or _is_still(belief)):
        return max(_best_score(node, steps, epsilon, sides)[0] for node in nodes)
    inner, one_sided = _best_score(steps // 2, steps, epsilon, sides)
    if len(nodes) == steps and not one_sided:
        # Wherever the middle's two-sided quilt reaches beyond an end, the quilt without that side
        # has no more nodes inside and no more influence: no node has a larger score.
        return inner
    reach = math.ceil(inner * epsilon)  # with as much room, a node has the middle one's quilts
    ends = [node for node in nodes if min(node, steps - 1 - node) < reach]
    scores = [_best_score(node, steps, epsilon, sides)[0] for node in ends]
    return max(scores + [inner] * (len(ends) < len(nodes)))


def _best_score(node: int, steps: int, epsilon: float, sides: Sides) -> tuple[float, bool]:
    """Return the smallest score of a quilt of X_node, by windows, and whether it has one side."""
    best, reach = (math.nextafter(steps / epsilon, math.inf), False), FIRST
    rooms, both = (node, steps - 1 - node), sides(node)
    while True:
        tables = [side.nearest(min(reach, room)) for side, room in zip(both, rooms, strict=True)]
        best = min(best, _best_in_window(tables, rooms, epsilon))
        if reach >= min(best[0] * epsilon, max(rooms), WIDEST):
            return best
        reach *= 2


def _best_in_window(
    tables: list[FloatArray], rooms: tuple[int, int], epsilon: float
) -> tuple[float, bool]:
    """Return the smallest score of quilts within a window, and whether it has one side only."""
    left, right = tables
    influence = np.zeros((len(left), len(right)))
    for pair in np.ndindex(max(left.shape, right.shape)[1:]):  # a table of all pairs is large
        one, other = (t[(slice(None), *pair)] if t.shape[1] > 1 else t[:, 0, 0] for t in tables)
        np.maximum(influence, one[:, None] + other, out=influence)
    # A state at distance k leaves k − 1 nodes on its side inside; none leaves all of them.
    widths = [np.append(np.arange(len(t) - 1), room) for t, room in zip(tables, rooms, strict=True)]
    inside = widths[0][:, None] + widths[1] + 1
    with np.errstate(invalid="ignore"):
        slack = epsilon - influence - ROUNDING * (epsilon + influence)
    scores = np.divide(inside, slack, out=np.full(slack.shape, math.inf), where=slack > 0.0)
    place = np.unravel_index(int(np.argmin(scores)), scores.shape)
    ends = [one == len(table) - 1 for one, table in zip(place, tables, strict=True)]
    return float(scores[place]), ends[0] != ends[1]


def _influences(
    matrices: Iterable[FloatArray], possible: BoolArray, drift: float = 0.0
) -> Iterator[FloatArray]:
    """Yield max_x log Pr[x | s]/Pr[x | s'], (M, M), over states s, s' that are possible.

    `matrices` are multiplied. Each product's entries are sums of positive numbers: a step adds
    M + 2 roundings to a ratio, and the marginals that the matrices were made of may be off by a
    share `drift`. What may have vanished by underflow tells everything.
    """
    law = np.eye(len(possible))
    can = law > 0.0
    for steps, matrix in enumerate(matrices, 1):
        law, can = law @ matrix, can @ (matrix > 0.0)
        lost = can & (law < SMALLEST)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            quotients = np.where(law[:, None] > 0.0, law[:, None] / law, 0.0)
            quotients[lost[:, None] | lost] = math.inf
            ratios = np.log(quotients.max(axis=2))
        ratios += 4.0 * steps * (len(law) + 2) * ROUNDOFF + 2.0 * drift
        yield np.where(possible[:, None] & possible, ratios, 0.0)


def _is_still(belief: Markov) -> bool:
    """Whether no marginal differs from the first by more than rounding, as a share of it."""
    if belief.steps == 1 or not belief.is_homogeneous:
        return belief.steps == 1
    moved, held = belief.initial @ belief.matrix(0), belief.initial > 0.0
    if (held @ (belief.matrix(0) > 0.0) != held).any():  # not by underflow, either
        return False
    return bool((np.abs(moved - belief.initial) <= STILL * belief.initial).all())


def _exact(belief: Markov) -> Sides:
    """Return the influences before and after a node, from the chain's own laws."""
    if _is_still(belief):
        laws, possible = (
            np.broadcast_to(belief.initial, (2, belief.state_count)),
            belief.initial > 0,
        )
        one = belief.steps == 1
        step = np.eye(belief.state_count) if one else belief.matrix(0)
        back = step if one else belief.reversed_matrix(0, laws)
        require_products(belief.initial, step)
        before = _Side(_influences(itertools.repeat(back), possible, STILL))
        alike = before, _Side(_influences(itertools.repeat(step), possible))
        return lambda _: alike
    marginals = marginals_up_to(belief, belief.steps - 1)
    rounding = 4.0 * belief.steps * (belief.state_count + 2) * ROUNDOFF

    def around(node: int) -> tuple[_Side, _Side]:
        before = (belief.reversed_matrix(t, marginals) for t in range(node - 1, -1, -1))
        after = (belief.matrix(t) for t in range(node, belief.steps - 1))
        possible = marginals[node] > 0.0
        return _Side(_influences(before, possible, rounding)), _Side(_influences(after, possible))

    return around


def _bounded(belief: Markov) -> Sides:
    """Return bounds on the influences from the spectral gap g and π_min, for any start.

    With Δ_k = e^{−gk/2}/π_min every k-step probability is π_y(1 ± Δ_k), so a state k steps later
    has an influence of at most log((1 + Δ_k)/(1 − Δ_k)), one k steps before at most twice that. g
    is 2 min (1 − |λ|) over the other eigenvalues λ of a reversible P, else min (1 − λ) of P P*.
    """
    if not belief.is_homogeneous or belief.steps == 1:
        raise OutsideHypotheses("the approximate form takes one transition matrix; use 'exact'.")
    matrix = belief.matrix(0)
    law = _stationary(matrix)
    flow = law[:, None] * matrix
    reversible = np.allclose(flow, flow.T, rtol=1e-9, atol=1e-15)
    root = np.sqrt(law)
    symmetric = root[:, None] * matrix / root
    sizes = np.linalg.svd(symmetric, compute_uv=False)  # of reversible P, the moduli |λ|
    second = float(sizes[1]) if len(sizes) > 1 else 0.0
    gap = 2.0 * (1.0 - second) if reversible else 1.0 - second**2

    def bounds(factor: float) -> Iterator[FloatArray]:
        for steps in itertools.count(1):
            left = math.exp(-gap * steps / 2.0) / float(law.min())
            bound = factor * math.log1p(2.0 * left / (1.0 - left)) if left < 1.0 else math.inf
            yield np.array([[bound]])

    both = _Side(bounds(2.0)), _Side(bounds(1.0))
    return lambda _: both


def _stationary(matrix: FloatArray) -> FloatArray:
    """Return the law with π P = π, if every state has some of it."""
    size = len(matrix)
    system = np.vstack([matrix.T - np.eye(size), np.ones(size)])
    law = np.linalg.lstsq(system, np.append(np.zeros(size), 1.0), rcond=None)[0]
    if np.linalg.matrix_rank(system) < size or law.min() < 1e-9:
        raise OutsideHypotheses(
            "the approximate form takes a chain that comes to every state; use the form 'exact'."
        )
    return np.asarray(law)
