"""What is seen on either side of a time, for channels without memory: independent given the state.

With what is seen before t, at t and after t as three pieces, Pr[X_t = x, seen] = π_t(x) times the
product of their laws given x. A piece is built from its far end: with b(x) the law of what is seen
from u + 1 on given X_{u+1} = x, that from u on given X_u is e_u(y | x) Σ_x' P(x, x') b(x'), and the
past is the same under the chain reversed. Pieces that have too many outcomes are condensed: those
that are alike are put into groups.

From below only the group is told: post-processing. From above: with a_o(x) the law of an outcome,
d = Σ a_o that of its group and s_o = min_x a_o(x)/d(x), each a_o is s_o d and a rest that is not
negative. So a channel that tells the group with chance S = Σ s_o and else the state itself can be
turned into the one that was given: it is an erasure of the state, S being Doeblin's coefficient of
the group. What the state at u + 1 tells of that at u is still veiled by the chain.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs import Markov
from sfumato.channels import Emission
from sfumato.errors import OutsideHypotheses
from sfumato.inference.markov.segments import UNIT_ROUNDOFF
from sfumato.values import FloatArray
from sfumato.views.segments import marginals_up_to, require_products


class TooMany(OutsideHypotheses):
    """There are more outcomes than may be listed."""


FAR = 256
"""How many outcomes are kept at times so far away that they need not be told apart by symbols."""


def reversed_matrix(belief: Markov, time: int, marginals: FloatArray) -> FloatArray:
    """Return Pr[X_time = x' | X_time+1 = x], (x, x'); nothing where x is impossible.

    >>> chain = Markov([1.0, 0.0], [[0.5, 0.5], [0.0, 1.0]], steps=2)
    >>> reversed_matrix(chain, 0, chain.marginals()).tolist()
    [[1.0, 0.0], [1.0, 0.0]]
    """
    now, whole = marginals[time : time + 2]
    joint = now[:, None] * belief.matrix(time)
    return np.asarray(np.divide(joint, whole, out=np.zeros_like(joint), where=whole > 0).T)


class Sides:
    """The pieces around one time: from below some outcomes are merged, from above some are told.

    >>> from sfumato.channels import Symbols
    >>> chain = Markov([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], steps=2)
    >>> channel = Symbols(chain.states, "ab", [[[0.75, 0.25], [0.25, 0.75]]] * 2)
    >>> past, now, future = Sides(chain, channel, 0).pieces(most=10, told=False)
    >>> past.tolist(), future.round(3).tolist()
    ([[1.0], [1.0]], [[0.7, 0.3], [0.3, 0.7]])
    """

    def __init__(self, belief: Markov, channel: Emission, time: int) -> None:
        self._time, self._belief = time, belief
        self._marginals = marginals_up_to(belief, time)
        self._symbols = [np.exp(channel.next_evidence((), u)).T for u in range(belief.steps)]
        self._roundings = 4.0 * belief.steps * (belief.state_count + 2)

    @property
    def prior(self) -> FloatArray:
        """Pr[X_t = x], (M,)."""
        return np.asarray(self._marginals[self._time])

    @property
    def error(self) -> float:
        """A proved relative error of the numbers of all pieces so far, and of their products."""
        return self._roundings * UNIT_ROUNDOFF / (1.0 - self._roundings * UNIT_ROUNDOFF)

    def pieces(self, most: int, *, told: bool | None) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the laws before, at and after the time given its state, (M, O) each.

        Each side has at most so many outcomes, condensed from below, or with `told` from above.
        With None it is `TooMany` if there are more.
        """
        time, steps = self._time, len(self._symbols)
        chain, shown, back = self._belief, self._symbols, range(time - 1, -1, -1)
        after = [(chain.matrix(u), shown[u + 1]) for u in range(time, steps - 1)]
        before = [(reversed_matrix(chain, u, self._marginals), shown[u]) for u in back]
        sides = [self._side(moves, most, told=told) for moves in (before, after)]
        return sides[0], self._symbols[time], sides[1]

    def listed(self, most: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the laws of all that can be seen, unless their table has more numbers."""
        past, now, future = self.pieces(max(1, self._room(most)), told=None)
        if past.shape[1] * future.shape[1] > self._room(most):
            raise TooMany(f"there are more outcomes than a table of {most} numbers holds.")
        return past, now, future

    def _room(self, most: int) -> int:
        """Return how many outcomes both sides may have together in a table of so many numbers."""
        return most // self._symbols[self._time].size

    def most(self, budget: int) -> int:
        """Return how many outcomes each side may have in a table of so many numbers."""
        return max(math.isqrt(self._room(budget)), 2 * len(self.prior))

    def joint(self, pieces: tuple[FloatArray, FloatArray, FloatArray]) -> FloatArray:
        """Return Pr[X_t = x, seen], (M, O)."""
        past, now, future = pieces
        require_products(self.prior, past, now, future)
        known = (past * self.prior[:, None])[:, :, None] * now[:, None]
        joint = (known[..., None] * future[:, None, None]).reshape(len(past), -1)
        return np.compress(joint.any(axis=0), joint, axis=1)

    def _side(
        self, moves: list[tuple[FloatArray, FloatArray]], most: int, *, told: bool | None
    ) -> FloatArray:
        """Return the law of all that is seen on one side, (M, O); moves lead away from the time."""
        room = [most]
        for matrix, symbols in moves[:-1]:
            least = 2 * len(matrix) * symbols.shape[1]
            fits = room[-1] >= least
            room.append(room[-1] // symbols.shape[1] if fits else FAR)
        if told is None:
            room = [most] * len(moves)
        laws = np.ones((len(self.prior), 1))
        for (matrix, symbols), outcomes in zip(
            moves[::-1], room[len(moves) - 1 :: -1], strict=False
        ):
            require_products(symbols, laws)
            seen = (symbols[:, :, None] * laws[:, None, :]).reshape(len(laws), -1)
            self._roundings += seen.shape[1] + len(laws) + 4.0
            seen = np.compress(seen.any(axis=0), seen, axis=1)
            if told is None and seen.shape[1] > outcomes:
                raise TooMany(f"there are more than {most} outcomes on one side of the time.")
            seen = seen if told is None else condense(seen, outcomes, told=told)
            require_products(matrix, seen)
            laws = matrix @ seen
        return laws


def condense(laws: FloatArray, most: int, *, told: bool) -> FloatArray:
    """Return laws (M, O) with at most so many outcomes, from below, or from above with `told`.

    >>> laws = np.array([[0.5, 0.4, 0.1], [0.4, 0.5, 0.1]])
    >>> condense(laws, 1, told=False).round(9).tolist()
    [[1.0], [1.0]]
    >>> condense(laws, 3, told=True).round(9).tolist() == laws.tolist()
    True
    >>> condense(laws, 1, told=True).round(9).tolist()
    [[0.9, 0.1, 0.0], [0.9, 0.0, 0.1]]
    """
    if laws.shape[1] <= most:
        return laws
    group = _groups(laws, max(1, most - len(laws) if told else most))
    member = np.zeros((laws.shape[1], int(group.max()) + 1))
    member[np.arange(len(group)), group] = 1.0
    whole = laws @ member
    if not told:
        return np.asarray(whole)
    of = whole[:, group]
    shares = np.divide(laws, of, out=np.ones_like(laws), where=of > 0.0).min(axis=0)
    # A little less than all, by what rounding may have added.
    kept = np.bincount(group, shares) * (1.0 - 4.0 * (len(group) + 4.0) * UNIT_ROUNDOFF)
    lost = np.diag((whole * (1.0 - kept)).sum(axis=1))
    condensed = np.concatenate([whole * kept, lost], axis=1)
    return np.compress(condensed.any(axis=0), condensed, axis=1)


def _groups(laws: FloatArray, count: int) -> NDArray[np.intp]:
    """Return a group for each column: that of the nearest of `count` columns far from one another.

    Distances are largest differences of the logarithms of directions.
    """
    with np.errstate(divide="ignore"):
        logs = np.maximum(np.log(laws / laws.sum(axis=0)), -1e3)
    centre = int(laws.sum(axis=0).argmax())
    nearest, group = np.full(laws.shape[1], np.inf), np.zeros(laws.shape[1], dtype=np.intp)
    for number in range(count):
        away = np.abs(logs - logs[:, centre, None]).max(axis=0)
        closer = away < nearest
        nearest[closer], group[closer] = away[closer], number
        centre = int(nearest.argmax())
        if nearest[centre] == 0.0:
            break
    return group
