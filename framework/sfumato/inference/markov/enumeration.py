"""Every output and every trace of positive probability, where there are few enough."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs import Markov
from sfumato.channels import Emission
from sfumato.errors import Incompatible, OutsideHypotheses, Undecidable
from sfumato.inference.markov.probabilities import SMALL, is_risky, log_of
from sfumato.inference.markov.smoothing import forward_backward
from sfumato.values import FloatArray

IntArray = NDArray[np.intp]

DEFAULT_LIMIT = 100_000
"""How many outputs or traces are listed before refusing."""


@attrs.frozen(eq=False, repr=False)
class Outputs:
    """All N outputs of positive probability, with what is needed to reason about each."""

    belief: Markov
    channel: Emission
    codes: IntArray  # (N, T) positions in the alphabets channel.outputs()
    log_probabilities: FloatArray  # log Pr[o], (N,)
    # Evidence is shared: _tables[t][_memories[n, t], codes[n, t]] is row t of output n.
    _memories: IntArray
    _tables: tuple[FloatArray, ...]

    def __len__(self) -> int:
        return len(self.codes)

    def __repr__(self) -> str:
        return f"Outputs({len(self)} of {self.channel!r})"

    @property
    def probabilities(self) -> FloatArray:
        """Pr[o], (N,)."""
        return np.exp(self.log_probabilities)

    def observed(self, number: int) -> tuple[Any, ...]:
        """Return one output as symbols."""
        alphabets = self.channel.outputs()
        return tuple(alphabets[t][code] for t, code in enumerate(self.codes[number]))

    def log_evidence(self, part: slice = slice(None)) -> FloatArray:
        """Return the evidence of some outputs, (n, T, M)."""
        rows = [
            table[self._memories[part, time], self.codes[part, time]]
            for time, table in enumerate(self._tables)
        ]
        return np.stack(rows, axis=1)

    def marginals(self, part: slice = slice(None)) -> FloatArray:
        """Return Pr[X_t = m | o] for some outputs, (n, T, M)."""
        return forward_backward(self.belief, self.log_evidence(part)).marginals

    def parts(self, entries: int = 4_000_000) -> list[slice]:
        """Return slices small enough to hold `entries` marginals at a time."""
        stride = max(1, entries // (self.belief.steps * self.belief.state_count))
        return [slice(begin, begin + stride) for begin in range(0, len(self), stride)]


def checked_pair(belief: Markov, channel: Emission) -> None:
    """Raise unless belief and channel speak of the same states and steps.

    >>> from sfumato.beliefs import Markov
    >>> from sfumato.channels import Suppression
    >>> from sfumato.inference.markov.enumeration import checked_pair
    >>> chain = Markov([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], steps=3)
    >>> checked_pair(chain, Suppression.memoryless((0, 1), [[0.0, 1.0]]))
    Traceback (most recent call last):
    sfumato.errors.Incompatible: belief and channel must have the same steps; got 3 and 1.
    """
    if belief.steps != channel.steps:
        raise Incompatible(
            f"belief and channel must have the same steps; got {belief.steps} and {channel.steps}."
        )
    if belief.states != channel.states:
        raise Incompatible(
            f"belief and channel must have the same states in the same order; got "
            f"{belief.states} and {channel.states}."
        )


def enumerate_outputs(belief: Markov, channel: Emission, limit: int = DEFAULT_LIMIT) -> Outputs:
    """Return every output of positive probability.

    Prefixes are extended breadth first, all at once: with f(m) = Pr[X_t = m | prefix], the next
    symbol y has probability Σ_m f(m) Pr[y | m, memory], a matrix product for all prefixes of one
    memory. A positive prefix has a positive continuation, so the number of prefixes never
    exceeds the number of outputs, and refusing costs no more than `limit` prefixes.

    Raises
    ------
    OutsideHypotheses
        If there are more than `limit` outputs, or the alphabet is not finite.
    Undecidable
        If a conditional probability below 1e-100 appears: a product might vanish.

    >>> from sfumato.beliefs import Markov
    >>> from sfumato.channels import Suppression
    >>> from sfumato.inference.markov.enumeration import enumerate_outputs
    >>> chain = Markov([0.5, 0.5], [[1.0, 0.0], [0.0, 1.0]], steps=2, states="sx")
    >>> outputs = enumerate_outputs(chain, Suppression.memoryless("sx", [[1.0, 0.5], [1.0, 0.0]]))
    >>> [(outputs.observed(n), float(p.round(12))) for n, p in enumerate(outputs.probabilities)]
    [(('x', 'x'), 0.25), ((sf.SUPPRESSED, 'x'), 0.25), ((sf.SUPPRESSED, sf.SUPPRESSED), 0.5)]
    """
    checked_pair(belief, channel)
    if belief.smallest_probability < SMALL:
        raise Undecidable("a transition has a probability below 1e-100: too small to multiply.")
    alphabets = channel.outputs()
    nothing = np.zeros((1, 0), np.intp)
    front = _Front(nothing, nothing, np.zeros(1), belief.initial[None])
    memories: list[Hashable] = [()]
    group = np.zeros(1, dtype=np.intp)
    tables = []
    for time, alphabet in enumerate(alphabets):
        if time > 0:
            front = attrs.evolve(front, states=front.states @ belief.matrix(time - 1))
        table = np.stack([channel.next_evidence(memory, time) for memory in memories])
        tables.append(table)
        if is_risky(table).any() or is_risky(log_of(front.states)).any():
            raise Undecidable("an output has a conditional probability below 1e-100: too small.")
        front, parents = _extend(front, np.exp(table), group, limit)
        moves = [[channel.remember(memory, time, y) for y in alphabet] for memory in memories]
        memories, group = _regroup(moves, group[parents], front.codes[:, -1])
    return Outputs(
        belief, channel, front.codes, front.log_probabilities, front.memories, tuple(tables)
    )


@attrs.frozen(eq=False)
class _Front:
    """All positive prefixes of one length: symbols, memories, log Pr and law of the state."""

    codes: IntArray
    memories: IntArray
    log_probabilities: FloatArray
    states: FloatArray


def _extend(
    front: _Front, likelihoods: FloatArray, group: IntArray, limit: int
) -> tuple[_Front, IntArray]:
    """Return the front one symbol later, and the parent of each of its prefixes."""
    chances = np.empty((len(group), likelihoods.shape[1]))
    order = np.argsort(group, kind="stable")
    cuts = np.flatnonzero(np.diff(group[order])) + 1
    for members in np.split(order, cuts):
        chances[members] = front.states[members] @ likelihoods[group[members[0]]].T
    parents, symbols = np.nonzero(chances > 0.0)
    if len(parents) > limit:
        raise OutsideHypotheses(
            f"exact enumeration lists at most limit = {limit} outputs; there are at least "
            f"{len(parents)}, so take fewer steps or raise the limit."
        )
    states = front.states[parents] * likelihoods[group[parents], symbols]
    totals = states.sum(axis=-1)
    extended = _Front(
        np.column_stack([front.codes[parents], symbols]),
        np.column_stack([front.memories[parents], group[parents]]),
        front.log_probabilities[parents] + log_of(totals),
        states / totals[:, None],
    )
    return extended, parents


def _regroup(
    moves: list[list[Hashable]], group: IntArray, symbols: IntArray
) -> tuple[list[Hashable], IntArray]:
    """Return the memories now in use, and the number of each prefix's memory among them."""
    numbers: dict[Hashable, int] = {}
    used = np.zeros((len(moves), len(moves[0])), dtype=bool)
    used[group, symbols] = True
    after = np.zeros(used.shape, dtype=np.intp)
    for place in zip(*np.nonzero(used), strict=True):
        memory = moves[place[0]][place[1]]
        after[place] = numbers.setdefault(memory, len(numbers))
    return list(numbers), after[group, symbols]


def complete_output(belief: Markov, channel: Emission, prefix: Sequence[Any]) -> tuple[Any, ...]:
    """Return a complete output of positive probability that begins with a possible `prefix`.

    At each step the last symbol of the alphabet that is possible is taken: suppression, where
    the channel may suppress.
    """
    output: list[Any] = []
    memory: Hashable = ()
    possible = belief.initial > 0.0
    for time, alphabet in enumerate(channel.outputs()):
        able = (channel.next_evidence(memory, time) > -np.inf) & possible
        if time < len(prefix):
            code = alphabet.index(prefix[time])
        else:
            code = int(np.flatnonzero(able.any(axis=-1))[-1])
        output.append(alphabet[code])
        memory = channel.remember(memory, time, alphabet[code])
        if time + 1 < belief.steps:
            possible = (belief.matrix(time)[able[code]] > 0.0).any(axis=0)
    return tuple(output)
