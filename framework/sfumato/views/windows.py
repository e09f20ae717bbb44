"""The view of any finite emission: all outputs where they are few, else a window from both sides.

Let W be the outputs at the times from `first` to `last`, around those that are asked about.
Forgetting the other outputs is post-processing, so every loss that obeys data processing is at
least that of W. Telling the states just outside the window as well makes all other outputs
independent of the secret, so Z is a post-processing of that, and every such loss is at most that of
W with both states told. What the channel remembers when the window begins is a function of earlier
outputs: it is part of what is seen from either side.

Two beginnings of an output of the same memory, under which secret and state have proportional laws,
are one: what follows cannot tell them apart, and they say the same of the secret. A sighting makes
all beginnings so but for the segments that cover the times which are asked about.
"""

from __future__ import annotations

from collections.abc import Hashable

import attrs
import numpy as np

from sfumato.beliefs import Markov
from sfumato.channels import Emission
from sfumato.channels.emission import MemorylessEmission
from sfumato.inference.markov.enumeration import IntArray, checked_pair
from sfumato.inference.markov.segments import UNIT_ROUNDOFF
from sfumato.questions.events import BoolArray
from sfumato.values import FloatArray
from sfumato.views.segments import (
    joint_error,
    marginals_up_to,
    require_no_underflow,
    require_products,
)
from sfumato.views.sides import TooMany


@attrs.frozen(eq=False)
class _Front:
    """Everything seen so far: Pr[seen n, secret so far r, X_t = m], and what is remembered."""

    laws: FloatArray  # (N, R, M)
    memories: tuple[Hashable, ...]  # the distinct memories
    groups: IntArray  # the number of each prefix's memory, (N,)


@attrs.frozen(eq=False)
class Window:
    """The outputs from `first` to `last`; with `told`, also the states just outside.

    >>> from sfumato.beliefs import Markov
    >>> from sfumato.channels import Symbols
    >>> from sfumato.views.windows import Window
    >>> chain = Markov([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], steps=2)
    >>> channel = Symbols(chain.states, "ab", [[[0.75, 0.25], [0.25, 0.75]]] * 2)
    >>> Window(chain, channel, 0, 0, told=False, most=100).joint((0,)).tolist()
    [[0.375, 0.125], [0.125, 0.375]]
    """

    belief: Markov
    channel: Emission
    first: int
    last: int
    told: bool
    most: int
    _merged: list[float] = attrs.field(init=False, factory=list)

    @classmethod
    def around(
        cls, belief: Markov, channel: Emission, times: tuple[int, ...], width: int, **more: object
    ) -> Window:
        """Return the window that reaches `width` steps beyond the times."""
        first, last = max(0, times[0] - width), min(belief.steps - 1, times[-1] + width)
        return cls(belief, channel, first, last, **more)  # type: ignore[arg-type]

    @property
    def error(self) -> float:
        """A proved relative error of the tables so far, and of posteriors after each merging."""
        return joint_error(self.belief) + sum(self._merged)

    def joint(self, times: tuple[int, ...], mask: BoolArray | None = None) -> FloatArray:
        """Return Pr[X at the times, what is seen], (M^k, O); the last time changes fastest.

        With a mask, (T, M), the two rows are whether X lies in it at one of the times or at none.
        """
        checked_pair(self.belief, self.channel)
        front = self._before()
        for time in range(self.first, self.last + 1):
            if time in times:
                front = self._split(front) if mask is None else self._meet(front, mask[time])
            front = self._extend(front, time)
            if time < self.last or (self.told and time < self.belief.steps - 1):
                matrix = self.belief.matrix(time)
                require_products(front.laws, matrix)
                front = attrs.evolve(front, laws=front.laws @ matrix)
        if self.told and self.last < self.belief.steps - 1:
            joint = front.laws.transpose(1, 0, 2).reshape(front.laws.shape[1], -1)
        else:
            joint = front.laws.sum(axis=2).T
        return require_no_underflow(np.compress(joint.any(axis=0), joint, axis=1))

    def _before(self) -> _Front:
        """Return what is known when the window begins: a memory, and the state before if told."""
        laws, memories = self._remembered()
        if self.first == 0:
            return _Front(laws[:, None], memories, np.arange(len(memories)))
        matrix = self.belief.matrix(self.first - 1)
        require_products(laws, matrix)
        if not self.told:
            return _Front((laws @ matrix)[:, None], memories, np.arange(len(memories)))
        number, state = np.nonzero(laws)
        told = laws[number, state][:, None, None] * matrix[state][:, None]
        return _Front(told, memories, number)

    def _remembered(self) -> tuple[FloatArray, tuple[Hashable, ...]]:
        """Return Pr[memory, X just before the window], (N, M), and the memories.

        A channel that remembers nothing stands at once where the window begins.
        """
        laws = self.belief.initial[None]
        memories: list[Hashable] = [()]
        if self.first == 0:
            return laws, tuple(memories)
        if isinstance(self.channel, MemorylessEmission):
            before = self.first - 1
            return marginals_up_to(self.belief, before)[before][None], tuple(memories)
        for time in range(self.first):
            if time > 0:
                require_products(laws, self.belief.matrix(time - 1))
                laws = laws @ self.belief.matrix(time - 1)
            sums: dict[Hashable, FloatArray] = {}
            for memory, law in zip(memories, laws, strict=True):
                evidence = np.exp(self.channel.next_evidence(memory, time))
                require_products(evidence, law)
                shown = evidence * law
                for symbol, part in zip(self.channel.outputs()[time], shown, strict=True):
                    if part.any():
                        after = self.channel.remember(memory, time, symbol)
                        sums[after] = sums.get(after, 0.0) + part
            self._check(len(sums) * self.belief.state_count)
            memories, laws = list(sums), np.stack(list(sums.values()))
        return laws, tuple(memories)

    def _split(self, front: _Front) -> _Front:
        """Make the present state part of the secret: r becomes r·M + m."""
        seen, values, count = front.laws.shape
        self._check(seen * values * count * count)
        split = front.laws[..., None] * np.eye(count)
        return attrs.evolve(front, laws=split.reshape(seen, values * count, count))

    def _meet(self, front: _Front, mask: BoolArray) -> _Front:
        """Note whether the present state lies in the mask: the rows are met, and not yet met."""
        laws = front.laws
        met = laws[:, :-1].sum(axis=1) + laws[:, -1] * mask
        return attrs.evolve(front, laws=np.stack([met, laws[:, -1] * ~mask], axis=1))

    def _extend(self, front: _Front, time: int) -> _Front:
        """See one more symbol."""
        symbols = self.channel.outputs()[time]
        evidence = np.exp(
            np.stack([self.channel.next_evidence(memory, time) for memory in front.memories])
        )
        self._check(front.laws.size * len(symbols))
        require_products(front.laws, evidence)
        laws = front.laws[:, None] * evidence[front.groups][:, :, None, :]  # (N, Y, R, M)
        number, symbol = np.nonzero(laws.any(axis=(2, 3)))
        moves = [
            [self.channel.remember(memory, time, one) for one in symbols]
            for memory in front.memories
        ]
        known: dict[Hashable, int] = {}
        after = np.array([[known.setdefault(m, len(known)) for m in row] for row in moves])
        groups = after[front.groups[number], symbol]
        return self._merge(_Front(laws[number, symbol], tuple(known), groups))

    def _merge(self, front: _Front) -> _Front:
        """Make one of the beginnings whose laws rounding cannot tell from proportional ones."""
        close = 2.0 * joint_error(self.belief)
        shapes = front.laws.reshape(len(front.laws), -1)
        shapes = shapes / shapes.sum(axis=1, keepdims=True)
        marks = shapes @ (0.5 + np.modf(np.arange(1, shapes.shape[1] + 1) * 0.6180339887)[0])
        order = np.lexsort((marks, front.groups))
        shapes, groups = shapes[order], front.groups[order]
        begins = np.append(True, (np.diff(groups) > 0) | (np.diff(marks[order]) > 4.0 * close))
        apart = begins
        while apart.any():  # one that is unlike the first of its own begins anew
            first = shapes[np.flatnonzero(begins)[np.cumsum(begins) - 1]]
            apart = (np.abs(shapes - first) > close * first).any(axis=1)
            begins = begins | apart
        starts = np.flatnonzero(begins)
        if len(starts) == len(order):
            return front
        longest = int(np.diff(np.append(starts, len(order))).max())
        self._merged.append(close + longest * UNIT_ROUNDOFF)
        laws = np.add.reduceat(front.laws[order], starts, axis=0)
        return _Front(laws, front.memories, groups[starts])

    def _check(self, entries: int) -> None:
        if entries > self.most:
            raise TooMany(
                f"the outputs from time {self.first} to {self.last} are too many to list: "
                f"{entries} numbers where {self.most} may be held; take fewer states or symbols."
            )
