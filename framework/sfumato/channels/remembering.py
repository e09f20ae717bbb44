"""Release the state or withhold it, with a hidden memory of the last sensitive visit.

The decision at time t depends on the state, on the last release (u, i), and on the last of some
named *visits* (time, state) that the trace made since then. The memory is never shown, so the
output is no emission of the state alone; it is one of the pair (memory, state), a Markov chain too.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.beliefs.markov import Markov
from sfumato.channels.emission import Channel, ChannelOfStates, Emission, label_array
from sfumato.channels.suppression import LastRelease, Suppression, Withholding
from sfumato.errors import ParameterError
from sfumato.randomness import generator_or_secure
from sfumato.values import (
    SUPPRESSED,
    ByContent,
    FloatArray,
    Labels,
    as_labels,
    checked_labels,
    checked_probabilities,
    encode_labels,
)


def _checked_tables(tables: Sequence[ArrayLike]) -> tuple[FloatArray, ...]:
    return tuple(checked_probabilities(table, "tables") for table in tables)


@attrs.frozen(eq=False, repr=False)
class RememberingSuppression(ByContent, ChannelOfStates):
    """The output at time t is $X_t$ or `SUPPRESSED`, by last release and last visit since then.

    Parameters
    ----------
    states
        The labels of the M states.
    visits
        (time, position of the state) of every visit that is remembered, in the order of time.
    tables
        tables[u + 1][i, t − u − 1, m, j] is the probability to suppress state j at time t when i
        was released last, at time u; m counts the visits after u from 1 on, 0 being none, and
        holds the present one. tables[0] has a single i: nothing was released yet.

    >>> from sfumato.channels import RememberingSuppression
    >>> channel = RememberingSuppression("sx", ((0, 0),), ([[[[1, 0], [1, 0]], [[1, 0], [1, 1]]]],))
    Traceback (most recent call last):
    sfumato.errors.ParameterError: tables must have one table for each of 2 steps; got 1.
    """

    words: ClassVar[str] = "states that are shown or withheld by a hidden memory"

    states: Labels = attrs.field(converter=as_labels)
    visits: tuple[tuple[int, int], ...]
    tables: tuple[FloatArray, ...] = attrs.field(converter=_checked_tables)

    def __attrs_post_init__(self) -> None:
        steps, count = self.tables[0].shape[1], self.tables[0].shape[-1]
        object.__setattr__(self, "states", checked_labels(self.states, count, "states"))
        if len(self.tables) != steps:
            raise ParameterError(
                f"tables must have one table for each of {steps} steps; got {len(self.tables)}."
            )
        for time, table in enumerate(self.tables, start=-1):
            later = 1 + len(self.visits) - self.forgotten(time)
            wanted = (1 if time < 0 else count, steps - time - 1, later, count)
            if table.shape != wanted:
                raise ParameterError(f"tables must have shape {wanted} here; got {table.shape}.")

    @classmethod
    def of(cls, channel: Suppression) -> RememberingSuppression:
        """Return a suppression that needs no memory.

        >>> from sfumato.channels import RememberingSuppression, Suppression
        >>> RememberingSuppression.of(Suppression.memoryless("sx", [[1.0, 0.5]])).tables[0].shape
        (1, 1, 1, 2)
        """
        steps, count = channel.start.shape
        after = np.broadcast_to(channel.start, (steps, count, steps, count))
        after = after if channel.after is None else channel.after
        tables = [after[time, :, time + 1 :, None] for time in range(steps - 1)]
        return cls(channel.states, (), (channel.start[None, :, None], *tables))

    @property
    def steps(self) -> int:
        """The length of a trace, T."""
        return int(self.tables[0].shape[1])

    @property
    def shown(self) -> Labels:
        """The labels under which states are released: their own."""
        return self.states

    def essence(self) -> tuple[Any, tuple[FloatArray, ...]]:
        """Return what tells this channel from another: names and visits, and tables."""
        return (self.states, self.visits), self.tables

    def permuted(self, order: Sequence[int]) -> RememberingSuppression:
        """Return the same channel with position k holding what was at position order[k]."""
        states, places = tuple(self.states[place] for place in order), np.argsort(order)
        visits = tuple((time, int(places[state])) for time, state in self.visits)
        first, *after = (table[..., order] for table in self.tables)
        return RememberingSuppression(states, visits, (first, *(table[order] for table in after)))

    def forgotten(self, time: int) -> int:
        """Return how many visits lie at or before `time`: a release then forgets them."""
        return sum(visit[0] <= time for visit in self.visits)

    def visits_at(self, time: int) -> dict[int, int]:
        """Return the memory, counted from 1 over all visits, of each state that is one now."""
        return {
            state: number for number, (t, state) in enumerate(self.visits, start=1) if t == time
        }

    def chances(self, last: LastRelease, time: int) -> FloatArray:
        """Return the suppression probabilities now, by memory over all visits, (V + 1, M)."""
        begin, state = (-1, 0) if last is None else last
        row = self.tables[begin + 1][state, time - begin - 1]
        forgotten = np.repeat(row[:1], self.forgotten(begin), axis=0)
        return np.concatenate([forgotten, row])

    def outputs(self) -> tuple[tuple[Any, ...], ...]:
        """Return the alphabet of every step: all states, then `SUPPRESSED`."""
        return ((*self.states, SUPPRESSED),) * self.steps

    def augmented(self, belief: Markov) -> tuple[Markov, MemoryEmission]:
        """Return the chain of pairs (memory, state), and the emission that the output is of it.

        Pair m · M + j is memory m, counted from 1 over all visits, and state j. The memory is a
        function of the trace, so a pair's law follows from the chain's.
        """
        count, memories = len(self.states), 1 + len(self.visits)
        number = np.arange(memories * count)
        initial = np.zeros(len(number))
        matrices = np.zeros((self.steps - 1, len(number), len(number)))
        for time in range(self.steps):
            visit = np.zeros(count, dtype=np.intp)
            for state, numbered in self.visits_at(time).items():
                visit[state] = numbered
            if time == 0:
                initial[visit * count + np.arange(count)] = belief.initial
                continue
            memory = np.where(visit > 0, visit, (number // count)[:, None])
            rows = belief.matrix(time - 1)[number % count]
            matrices[time - 1, number[:, None], memory * count + np.arange(count)] = rows
        emission = MemoryEmission(self)
        return Markov(initial, matrices, self.steps, emission.states), emission

    def log_likelihood(self, observed: Sequence[Any], trace: Sequence[Hashable]) -> float:
        """Return log Pr[observed | trace]; −∞ where it is impossible."""
        pairs = self.pairs(encode_labels(self.states, trace, "states")[None])[0]
        rows = MemoryEmission(self).evidence(observed)
        return float(rows[np.arange(len(rows)), pairs[: len(rows)]].sum())

    def sample(
        self, trace: Sequence[Hashable], rng: np.random.Generator | None = None
    ) -> tuple[Any, ...]:
        """Draw the output of one trace of labels; None is the secure source."""
        return tuple(self.sample_many(self.encode(trace)[None], rng)[0])

    def sample_many(
        self, traces: NDArray[np.intp], rng: np.random.Generator | None
    ) -> NDArray[np.object_]:
        """Draw one output per trace of positions, (B, T), as an array of labels."""
        return MemoryEmission(self).sample_many(self.pairs(np.asarray(traces)), rng)

    def pairs(self, traces: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the pairs that traces of positions, (B, T), go through."""
        memories = np.zeros_like(traces)
        for number, (time, state) in enumerate(self.visits, start=1):
            memories[traces[:, time] == state, time:] = number
        return np.asarray(memories * len(self.states) + traces)


@attrs.frozen(eq=False, repr=False)
class MemoryEmission(ByContent, Withholding):
    """What a remembering suppression emits, given the pair (memory, state)."""

    words: ClassVar[str] = "states that are shown or withheld by a memory that is part of the state"

    channel: RememberingSuppression

    @property
    def steps(self) -> int:
        """The length of a trace, T."""
        return self.channel.steps

    @property
    def states(self) -> Labels:
        """The labels of the pairs: the last visit (None, or its time and state) and the state."""
        names = self.channel.states
        memories = [None, *((time, names[state]) for time, state in self.channel.visits)]
        return tuple((memory, state) for memory in memories for state in names)

    @property
    def shown(self) -> Labels:
        """The labels of the states."""
        return self.channel.states

    def chances(self, last: LastRelease, time: int) -> FloatArray:
        """Return the suppression probabilities at `time` after the last release, (V + 1, M)."""
        return self.channel.chances(last, time)

    def evidence(self, observed: Sequence[Any]) -> FloatArray:
        """Return log-likelihoods, (k, pairs); a release leaves its state possible."""
        self._check_length(len(observed))
        rows: list[FloatArray] = []
        memory: Any = ()
        for time, symbol in enumerate(observed):
            before, memory = memory, self.remember(memory, time, symbol)
            code = -1 if symbol is SUPPRESSED else memory[1]
            rows.append(self.next_evidence(before, time)[code])
        return np.array(rows).reshape(len(rows), len(self.states))

    def sample_many(
        self, traces: NDArray[np.intp], rng: np.random.Generator | None
    ) -> NDArray[np.object_]:
        """Draw one output per trace of pairs, (B, T), as an array of labels."""
        uniforms = generator_or_secure(rng).random(np.shape(traces))
        count = len(self.channel.states)
        codes = np.asarray(traces) % count
        for pairs, coins, output in zip(traces, uniforms, codes, strict=True):
            last: LastRelease = None
            for time, pair in enumerate(pairs):
                # Coins lie in [0, 1): probability 0 never suppresses, probability 1 always does.
                if coins[time] < self.channel.chances(last, time).flat[pair]:
                    output[time] = count
                else:
                    last = (time, int(pair % count))
        return label_array((*self.channel.states, SUPPRESSED))[codes]


def with_memory(belief: Markov, channel: Channel) -> tuple[Markov, Emission]:
    """Return the chain and the emission with which to reason about an output.

    These are the pairs (memory, state) where a channel remembers, else what is given. A trace goes
    through one path of pairs, of which the states are the remainders by M.
    """
    if isinstance(channel, RememberingSuppression):
        return channel.augmented(belief)
    if not isinstance(channel, Emission):
        raise ParameterError(f"channel must be an emission or remember; got {channel!r}.")
    return belief, channel
