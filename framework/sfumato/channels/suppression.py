"""Release the state, or withhold it with a probability that may depend on the last release."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.channels.emission import Emission, label_array
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
    encode_batch,
    position_in,
    positions_of,
    read_only,
)

LastRelease = tuple[int, int] | None
"""Time and position of the state that was released last; None before any release."""


def _checked_start(start: ArrayLike) -> FloatArray:
    return checked_probabilities(start, "start")


@attrs.frozen(eq=False, repr=False)
class Suppression(ByContent, Emission):
    """The output at time t is the state X_t, or `SUPPRESSED` with a probability.

    Parameters
    ----------
    states
        The labels of the M states.
    start
        Probability to suppress state j at time t before any release, (T, M).
    after
        after[u, i, t, j] is the probability to suppress state j at time t when state i at time
        u < t was the last release, (T, M, T, M); entries with t ≤ u mean nothing and are kept
        as 1. None: memoryless, `start` holds at all times.

    >>> channel = Suppression.memoryless(("s", "x"), [[1.0, 0.25]])
    >>> np.exp(channel.evidence([SUPPRESSED])).tolist()
    [[1.0, 0.25]]
    >>> np.exp(channel.evidence(["x"])).tolist()
    [[0.0, 0.75]]
    """

    words: ClassVar[str] = "states that are shown or withheld"

    states: Labels = attrs.field(converter=as_labels)
    start: FloatArray = attrs.field(converter=_checked_start)
    after: FloatArray | None = None

    def __attrs_post_init__(self) -> None:
        if self.start.ndim != 2 or 0 in self.start.shape:
            raise ParameterError(f"start must be a (T, M) table; got shape {self.start.shape}.")
        labels = checked_labels(self.states, self.start.shape[1], "states")
        object.__setattr__(self, "states", labels)
        if self.after is not None:
            object.__setattr__(self, "after", _checked_after(self.after, self.start.shape))

    @classmethod
    def memoryless(cls, states: Iterable[Hashable], probabilities: ArrayLike) -> Suppression:
        """Suppress state j at time t with probability `probabilities[t, j]`, whatever was seen."""
        return cls(states, probabilities)

    def __repr__(self) -> str:
        kind = "memoryless" if self.after is None else "by last release"
        return f"Suppression({len(self.states)} states, {self.steps} steps, {kind})"

    @property
    def steps(self) -> int:
        """The length of a trace, T."""
        return int(self.start.shape[0])

    def permuted(self, order: Sequence[int]) -> Suppression:
        """Return the same channel with position k holding what was at position order[k]."""
        states, places = tuple(self.states[place] for place in order), np.asarray(order)
        after = None if self.after is None else self.after[:, places][..., places]
        return Suppression(states, self.start[:, places], after)

    def table(self, last: LastRelease) -> FloatArray:
        """Return the suppression probabilities in force after `last`, (T, M)."""
        if last is None or self.after is None:
            return self.start
        return np.asarray(self.after[last])

    def essence(self) -> tuple[Any, tuple[FloatArray, ...]]:
        """Return what tells this channel from another: names, and tables."""
        return self.states, tuple(t for t in (self.start, self.after) if t is not None)

    def outputs(self) -> tuple[tuple[Any, ...], ...]:
        """Return the alphabet of every step: all states, then `SUPPRESSED`."""
        return ((*self.states, SUPPRESSED),) * self.steps

    def evidence(self, observed: Sequence[Any]) -> FloatArray:
        """Return log-likelihoods, (k, M); a release leaves one state possible."""
        return np.asarray(self.evidence_batch([observed])[0])

    def evidence_batch(self, observed: Sequence[Sequence[Any]]) -> FloatArray:
        """Return the evidence of B outputs of one length, (B, k, M)."""
        codes = encode_batch((*self.states, SUPPRESSED), observed, "states")
        self._check_length(codes.shape[1])
        released = codes < len(self.states)
        chances = self._chances(codes, released)
        with np.errstate(divide="ignore"):
            rows = np.where(released[..., None], -np.inf, np.log(chances))
            places = (*np.nonzero(released), codes[released])
            rows[places] = np.log1p(-chances[places])
        return rows

    def _chances(self, codes: NDArray[np.intp], released: NDArray[np.bool_]) -> FloatArray:
        """Return the suppression probabilities in force at every step of B outputs, (B, k, M)."""
        batch, length = codes.shape
        chances = np.broadcast_to(self.start[:length], (batch, length, len(self.states)))
        if self.after is None or length == 0:
            return chances
        times = np.arange(length)
        # The last release up to and including each step; shifted by one, the one before it.
        latest = np.maximum.accumulate(np.where(released, times, -1), axis=1)
        before = np.concatenate([np.full((batch, 1), -1), latest[:, :-1]], axis=1)
        states = np.take_along_axis(codes, np.maximum(before, 0), axis=1)
        begun = before >= 0
        later = self.after[before, np.where(begun, states, 0), times]
        return np.where(begun[..., None], later, chances)

    def remember(self, memory: Hashable, time: int, symbol: Any) -> Hashable:
        """Remember the last release; nothing at all where there is no dependence on it."""
        if self.after is None or symbol is SUPPRESSED:
            return memory
        return (time, position_in(positions_of(self.states), symbol, "states"))

    def next_evidence(self, memory: Hashable, time: int) -> FloatArray:
        """Return log-likelihoods of every release and of suppression, (M + 1, M)."""
        row = self.table(memory or None)[time]  # type: ignore[arg-type]  # as `remember` says
        rows = np.full((len(row) + 1, len(row)), -np.inf)
        with np.errstate(divide="ignore"):
            np.fill_diagonal(rows, np.log1p(-row))
            rows[-1] = np.log(row)
        return rows

    def sample_many(
        self, traces: NDArray[np.intp], rng: np.random.Generator | None
    ) -> NDArray[np.object_]:
        """Draw one output per trace of positions, (B, T), as an array of labels."""
        traces = np.asarray(traces, dtype=np.intp)
        suppressed = np.empty(traces.shape, dtype=bool)
        uniforms = generator_or_secure(rng).random(traces.shape)
        batch = np.arange(len(traces))
        last_time = np.full(len(traces), -1)
        last_state = np.zeros(len(traces), dtype=np.intp)
        for time in range(self.steps):
            state = traces[:, time]
            chance = self.start[time, state]
            if self.after is not None:
                later = self.after[last_time, last_state, time, state]
                chance = np.where(last_time >= 0, later, chance)
            # uniforms lie in [0, 1): probability 0 never suppresses, probability 1 always does.
            suppressed[:, time] = uniforms[:, time] < chance
            released = batch[~suppressed[:, time]]
            last_time[released] = time
            last_state[released] = state[released]
        codes = np.where(suppressed, len(self.states), traces)
        return label_array((*self.states, SUPPRESSED))[codes]


def _checked_after(given: ArrayLike, shape: tuple[int, ...]) -> FloatArray:
    after = checked_probabilities(given, "after")
    if after.shape != (*shape, *shape):
        raise ParameterError(f"after must have shape {(*shape, *shape)}; got {after.shape}.")
    times = np.arange(shape[0])
    meaningless = times[None, :] <= times[:, None]
    return read_only(np.where(meaningless[:, None, :, None], 1.0, after))


@attrs.frozen(eq=False, repr=False)
class RelabelledSuppression(ByContent, Emission):
    """A released state is shown under another label; different states keep different labels.

    >>> decides = Suppression.memoryless(("s", "x"), [[0.5, 0.0]])
    >>> channel = RelabelledSuppression(decides, (frozenset("sy"), frozenset("x")))
    >>> np.exp(channel.evidence([frozenset("sy")])).tolist()
    [[0.5, 0.0]]
    """

    words: ClassVar[str] = "states that are relabelled or withheld"

    suppression: Suppression
    shown: Labels

    def __attrs_post_init__(self) -> None:
        labels = checked_labels(self.shown, len(self.suppression.states), "shown")
        object.__setattr__(self, "shown", labels)

    def __repr__(self) -> str:
        return f"RelabelledSuppression({self.suppression!r})"

    @property
    def steps(self) -> int:
        """The length of a trace, T."""
        return self.suppression.steps

    @property
    def states(self) -> Labels:
        """The labels of the M hidden states."""
        return self.suppression.states

    def essence(self) -> tuple[Any, tuple[FloatArray, ...]]:
        """Return what tells this channel from another: names, and tables."""
        return self.suppression.essence()

    def to_states(self, observed: Sequence[Any]) -> tuple[Any, ...]:
        """Return an output in the labels of the states."""
        positions = positions_of(self.shown)
        return tuple(
            symbol if symbol is SUPPRESSED else self.states[position_in(positions, symbol, "shown")]
            for symbol in observed
        )

    def to_labels(self, observed: Sequence[Any]) -> tuple[Any, ...]:
        """Return an output in the labels that are shown."""
        label = dict(zip(self.states, self.shown, strict=True))
        return tuple(y if y is SUPPRESSED else label[y] for y in observed)

    def outputs(self) -> tuple[tuple[Any, ...], ...]:
        """Return the alphabet of every step: what is shown, then `SUPPRESSED`."""
        return ((*self.shown, SUPPRESSED),) * self.steps

    def evidence(self, observed: Sequence[Any]) -> FloatArray:
        """Return log-likelihoods, (k, M)."""
        return self.suppression.evidence(self.to_states(observed))

    def remember(self, memory: Hashable, time: int, symbol: Any) -> Hashable:
        """Remember what the suppression does."""
        return self.suppression.remember(memory, time, self.to_states([symbol])[0])

    def next_evidence(self, memory: Hashable, time: int) -> FloatArray:
        """Return log-likelihoods of every release and of suppression, (M + 1, M)."""
        return self.suppression.next_evidence(memory, time)

    def sample_many(
        self, traces: NDArray[np.intp], rng: np.random.Generator | None
    ) -> list[tuple[Any, ...]]:
        """Draw one output per trace of positions, (B, T)."""
        return [self.to_labels(output) for output in self.suppression.sample_many(traces, rng)]


def suppression_of(channel: Suppression | RelabelledSuppression) -> Suppression:
    """Return what decides, whatever is shown."""
    return channel.suppression if isinstance(channel, RelabelledSuppression) else channel
