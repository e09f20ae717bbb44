"""What is seen on either side of a time, for channels without memory: independent given the state.

With what is seen before t, at t and after t as three pieces,

    $Pr[X_t = x, seen] = Pr[X_t = x, past] Pr[now | x] Pr[future | x].$

A piece is built from its far end: with $b(x)$ the law of what is seen from $u + 1$ on given that
$X_{u+1} = x$, that from u on given $X_u$ is $e_u(y | x) ∑_{x'} P(x, x') b(x')$, and likewise
forwards. A symbol that only one state emits is a *sighting* of it: given that state, all that is
seen further away is independent of $X_t$, so the sighting stands for all of it. Where all symbols
of a step but one are sightings, as for suppression and counts without noise, a piece is the
*segment* up to the nearest sighting and has at most $T M + 1$ outcomes.

Pieces that have too many outcomes are condensed: those that are alike are put into groups. From
below only the group is told: post-processing. From above: with $a_o(x)$ the law of an outcome, $d =
∑ a_o$ that of its group and $s_o = min_x a_o(x)/d(x)$, each $a_o$ is $s_o d$ and a rest that is not
negative. So a channel that tells the group with chance $S = ∑ s_o$ and else the state itself can be
turned into the one that was given: it is an erasure of the state, S being Doeblin's coefficient of
the group. What the state at $u + 1$ tells of that at u is still veiled by the chain.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs import Markov
from sfumato.channels import Emission, Suppression, Symbols
from sfumato.channels.emission import MemorylessEmission
from sfumato.errors import OutsideHypotheses
from sfumato.inference.markov.segments import UNIT_ROUNDOFF
from sfumato.questions.events import BoolArray
from sfumato.values import FloatArray
from sfumato.views.segments import least_above_zero, require_no_underflow, require_products

Pieces = tuple[FloatArray, FloatArray, FloatArray]
"""Pr[X_t = x, past], Pr[now | x] and Pr[future | x], (M, O) each."""

FAR = 256
"""How many outcomes are kept at times so far away that they need not be told apart by symbols."""


class TooMany(OutsideHypotheses):
    """There are more outcomes than may be listed."""


Shown = tuple[FloatArray, FloatArray]
"""How often each state is sighted, (M,), and Pr[symbol | state] of all other symbols, (M, Y)."""


def symbol_laws(channel: Emission) -> list[Shown] | None:
    """Return what each step shows of the states, or None of a channel with a memory."""
    if isinstance(channel, Suppression):
        return None if channel.after is not None else [(1.0 - p, p[:, None]) for p in channel.start]
    if not isinstance(channel, MemorylessEmission):
        return None
    found = []
    for time in range(channel.steps):
        laws = (
            channel.probabilities[time]
            if isinstance(channel, Symbols)
            else np.exp(channel.next_evidence((), time)).T
        )
        states = np.count_nonzero(laws, axis=0)
        found.append((laws[:, states == 1].sum(axis=1), laws[:, states > 1]))
    return found


class Sides:
    """The pieces around every time: from below some outcomes are merged, from above some are told.

    Exactly, those of one time are found from those of the next; condensed, each time's for itself.

    >>> from sfumato.beliefs import Markov
    >>> from sfumato.channels import Symbols
    >>> from sfumato.views.sides import Sides, symbol_laws
    >>> chain = Markov([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], steps=2)
    >>> channel = Symbols(chain.states, "ab", [[[0.75, 0.25], [0.25, 0.75]]] * 2)
    >>> past, now, future = Sides(chain, symbol_laws(channel)).pieces(0, most=10, told=False)
    >>> past.tolist(), future.round(3).tolist()
    ([[0.5], [0.5]], [[0.7, 0.3], [0.3, 0.7]])
    """

    def __init__(self, belief: Markov, shown: list[Shown]) -> None:
        self._belief, self._shown, self.prior = belief, shown, belief.marginals()
        self._pasts: list[FloatArray] = [belief.initial[:, None]]
        self._futures: list[FloatArray] = [np.ones((belief.state_count, 1))]  # of the last time
        sights = belief.state_count if any(sighted.any() for sighted, _ in shown) else 0
        most = sights and sights + max(others.shape[1] for _, others in shown)
        self._roundings = 4.0 * belief.steps * (belief.state_count + most + 2)
        each = itertools.chain(*shown)
        self._least = belief.smallest_probability * min(map(least_above_zero, each))

    @property
    def error(self) -> float:
        """A proved relative error of the numbers of all pieces so far, and of their products.

        A step takes M + 2 roundings. A sighting takes as many as there are Y symbols, and stands
        for laws that as stored sum to one up to 2(M + Y) a step.
        """
        return self._roundings * UNIT_ROUNDOFF / (1.0 - self._roundings * UNIT_ROUNDOFF)

    def _step(
        self, laws: FloatArray, time: int, *, ahead: bool, most: int = 0, told: bool = False
    ) -> FloatArray:
        """Return the laws, (M, O), of what is known of those and of what is seen at the time.

        They are given the state one step nearer; condensed if only so many outcomes are wanted.
        """
        sighted, others = self._shown[time]
        require_products(laws, np.array([self._least]))
        sights = np.diag(sighted if ahead else sighted * self.prior[time])
        rest = (others[:, :, None] * laws[:, None]).reshape(len(laws), -1)
        seen = np.concatenate([sights, rest], axis=1)
        seen = np.compress(seen.any(axis=0), seen, axis=1)
        if most:
            self._roundings += seen.shape[1] + len(laws) + 4.0
            seen = condense(seen, most, told=told)
        matrix = self._belief.matrix(time - 1) if ahead else self._belief.matrix(time).T
        return np.asarray(matrix @ seen)

    def listed(self, time: int, most: int) -> Pieces:
        """Return the laws of all that can be seen, unless their table has more numbers."""
        room = most // max(1, self._shown[time][1].size)
        last, pasts, futures = len(self._shown) - 1, self._pasts, self._futures
        while len(pasts) <= time and pasts[-1].shape[1] <= room:
            pasts.append(self._step(pasts[-1], len(pasts) - 1, ahead=False))
        while len(futures) <= last - time and futures[-1].shape[1] <= room:
            futures.append(self._step(futures[-1], last - len(futures) + 1, ahead=True))
        if len(pasts) <= time or len(futures) <= last - time:
            raise TooMany(f"there are more than {room} outcomes on one side of the time.")
        past, future = pasts[time], futures[last - time]
        if past.shape[1] * future.shape[1] > room:
            raise TooMany(f"there are more outcomes than a table of {most} numbers holds.")
        return past, self._now(time), future

    def most(self, time: int, budget: int) -> int:
        """Return how many outcomes each side may have in a table of so many numbers."""
        return max(math.isqrt(budget // self._now(time).size), 2 * len(self._now(time)))

    def _now(self, time: int) -> FloatArray:
        """Return Pr[symbol | X_t = x], sightings first, (M, O)."""
        sighted, others = self._shown[time]
        return np.concatenate([np.diag(sighted)[:, sighted > 0.0], others], axis=1)

    def pieces(self, time: int, most: int, *, told: bool) -> Pieces:
        """Return the pieces, each side with at most so many outcomes: from above with `told`."""
        past = self._side(range(time), most, told=told)
        future = self._side(range(len(self._shown) - 1, time, -1), most, told=told)
        return past, self._now(time), future

    def _side(self, times: range, most: int, *, told: bool) -> FloatArray:
        """Return the condensed law of all that is seen at some times, the farthest one first."""
        ahead = times.step < 0
        laws = (self._futures if ahead else self._pasts)[0]
        sizes = [self._now(time).shape[1] for time in times][::-1]
        room = [most]
        for size in sizes[:-1]:
            room.append(room[-1] // size if room[-1] >= 2 * len(laws) * size else FAR)
        for time, outcomes in zip(times, room[len(sizes) - 1 :: -1], strict=False):
            laws = self._step(laws, time, ahead=ahead, most=outcomes, told=told)
        return laws

    def given(self, time: int, pieces: Pieces) -> Pieces:
        """Return the laws of all three pieces given X_t = x; nothing where x is impossible."""
        past, now, future = pieces
        prior = self.prior[time][:, None]
        return np.divide(past, prior, out=np.zeros_like(past), where=prior > 0.0), now, future

    def joint(self, time: int, pieces: Pieces, members: BoolArray) -> FloatArray:
        """Return Pr[value of X_t, seen], (R, O), for values given by their states, (R, M).

        >>> import numpy as np
        >>> from sfumato.beliefs import Markov
        >>> from sfumato.views.sides import Sides
        >>> chain = Markov([0.5, 0.5], np.empty((0, 2, 2)), states="sx")
        >>> sides = Sides(chain, [(np.array([0.0, 0.5]), np.array([[1.0], [0.5]]))])
        >>> sides.joint(0, sides.listed(0, 100), np.eye(2, dtype=bool)).tolist()
        [[0.0, 0.5], [0.25, 0.25]]
        """
        past, _, future = pieces
        sighted, others = self._shown[time]
        require_products(past, others, future)
        told = require_no_underflow(members * (self.prior[time] * sighted))
        block = past.shape[1] * future.shape[1]
        joint = np.empty((len(members), told.shape[1] + block * others.shape[1]))
        joint[:, : told.shape[1]] = told
        ends = itertools.count(told.shape[1], block)
        for begin, symbol in zip(ends, others.T, strict=False):
            known = past * symbol[:, None]
            for own, row in zip(members, joint[:, begin : begin + block], strict=True):
                np.matmul(known[own].T, future[own], out=row.reshape(past.shape[1], -1))
        some = joint.any(axis=0)  # rows stay contiguous, as by `joint[:, some]` they would not
        return joint if some.all() else np.compress(some, joint, axis=1)


def condense(laws: FloatArray, most: int, *, told: bool) -> FloatArray:
    """Return laws (M, O) with at most so many outcomes, from below, or from above with `told`.

    >>> import numpy as np
    >>> from sfumato.views.sides import condense
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
