"""Release the state, or withhold it with a probability that may depend on the last release."""

from __future__ import annotations

from abc import abstractmethod
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


class Withholding(Emission):
    """An emission that shows the label of a state or nothing, and remembers the last release.

    What it is an emission of are K memories with M states each. A subclass writes `shown`, the M
    labels, and `chances`.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def shown(self) -> Labels:
        """The labels under which the M states are released."""

    @abstractmethod
    def chances(self, last: LastRelease, time: int) -> FloatArray:
        """Return the suppression probabilities at `time` after the last release, (K, M)."""

    def outputs(self) -> tuple[tuple[Any, ...], ...]:
        """Return the alphabet of every step: what is shown of all states, then `SUPPRESSED`."""
        return ((*self.shown, SUPPRESSED),) * self.steps

    def remember(self, memory: Hashable, time: int, symbol: Any) -> Hashable:
        """Remember the last release."""
        if symbol is SUPPRESSED:
            return memory
        return (time, position_in(positions_of(self.shown), symbol, "states"))

    def next_evidence(self, memory: Hashable, time: int) -> FloatArray:
        """Return log-likelihoods of every release and of suppression, (M + 1, K · M)."""
        chances = self.chances(memory or None, time)  # type: ignore[arg-type]  # as `remember` says
        rows = np.full((chances.shape[1] + 1, *chances.shape), -np.inf)
        states = np.arange(chances.shape[1])
        with np.errstate(divide="ignore"):
            rows[states, :, states] = np.log1p(-chances.T)
            rows[-1] = np.log(chances)
        return rows.reshape(len(rows), -1)


@attrs.frozen(eq=False, repr=False)
class Suppression(ByContent, Withholding):
    """The output at time t is the state $X_t$, or `SUPPRESSED` with a probability.

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
    shown
        The labels under which states are released; their own by default.

    >>> import numpy as np
    >>> from sfumato import SUPPRESSED
    >>> from sfumato.channels import Suppression
    >>> channel = Suppression.memoryless(("s", "x"), [[1.0, 0.25]])
    >>> np.exp(channel.evidence([SUPPRESSED])).tolist()
    [[1.0, 0.25]]
    >>> np.exp(channel.evidence(["x"])).tolist()
    [[0.0, 0.75]]
    >>> named = Suppression("sx", [[1.0, 0.25]], shown=(frozenset("sy"), frozenset("x")))
    >>> np.exp(named.evidence([frozenset("x")])).tolist()
    [[0.0, 0.75]]
    """

    words: ClassVar[str] = "states that are shown or withheld"

    states: Labels = attrs.field(converter=as_labels)
    start: FloatArray = attrs.field(converter=_checked_start)
    after: FloatArray | None = None
    shown: Labels = attrs.field(default=None, converter=as_labels, kw_only=True)

    def __attrs_post_init__(self) -> None:
        if self.start.ndim != 2 or 0 in self.start.shape:
            raise ParameterError(f"start must be a (T, M) table; got shape {self.start.shape}.")
        labels = checked_labels(self.states, self.start.shape[1], "states")
        object.__setattr__(self, "states", labels)
        shown = labels if self.shown is None else checked_labels(self.shown, len(labels), "shown")
        object.__setattr__(self, "shown", shown)
        if self.after is not None:
            object.__setattr__(self, "after", _checked_after(self.after, self.start.shape))

    @classmethod
    def memoryless(cls, states: Iterable[Hashable], probabilities: ArrayLike) -> Suppression:
        """Suppress state j at time t with probability `probabilities[t, j]`, whatever was seen."""
        return cls(states, probabilities)

    def __repr__(self) -> str:
        kind = "memoryless" if self.after is None else "by last release"
        return f"{type(self).__name__}({len(self.states)} states, {self.steps} steps, {kind})"

    @property
    def steps(self) -> int:
        """The length of a trace, T."""
        return int(self.start.shape[0])

    def permuted(self, order: Sequence[int]) -> Suppression:
        """Return the same channel with position k holding what was at position order[k]."""
        places, both = np.asarray(order), (self.states, self.shown)
        states, shown = (tuple(labels[place] for place in order) for labels in both)
        after = None if self.after is None else self.after[:, places][..., places]
        return type(self)(states, self.start[:, places], after, shown=shown)

    def table(self, last: LastRelease) -> FloatArray:
        """Return the suppression probabilities in force after `last`, (T, M)."""
        if last is None or self.after is None:
            return self.start
        return np.asarray(self.after[last])

    def essence(self) -> tuple[Any, tuple[FloatArray, ...]]:
        """Return what tells this channel from another: names, and tables."""
        names = self.states if self.shown == self.states else (self.states, self.shown)
        return names, tuple(t for t in (self.start, self.after) if t is not None)

    def evidence(self, observed: Sequence[Any]) -> FloatArray:
        """Return log-likelihoods, (k, M); a release leaves one state possible."""
        return np.asarray(self.evidence_batch([observed])[0])

    def evidence_batch(self, observed: Sequence[Sequence[Any]]) -> FloatArray:
        """Return the evidence of B outputs of one length, (B, k, M)."""
        codes = encode_batch((*self.shown, SUPPRESSED), observed, "states")
        self._check_length(codes.shape[1])
        released = codes < len(self.states)
        chances = self._chances_along(codes, released)
        with np.errstate(divide="ignore"):
            rows = np.where(released[..., None], -np.inf, np.log(chances))
            places = (*np.nonzero(released), codes[released])
            rows[places] = np.log1p(-chances[places])
        return rows

    def _chances_along(self, codes: NDArray[np.intp], released: NDArray[np.bool_]) -> FloatArray:
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

    def chances(self, last: LastRelease, time: int) -> FloatArray:
        """Return the suppression probabilities at `time` after the last release, (1, M)."""
        return self.table(last)[time, None]

    def remember(self, memory: Hashable, time: int, symbol: Any) -> Hashable:
        """Remember the last release; nothing at all where there is no dependence on it."""
        return memory if self.after is None else super().remember(memory, time, symbol)

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
        return label_array((*self.shown, SUPPRESSED))[codes]


def _checked_after(given: ArrayLike, shape: tuple[int, ...]) -> FloatArray:
    after = checked_probabilities(given, "after")
    if after.shape != (*shape, *shape):
        raise ParameterError(f"after must have shape {(*shape, *shape)}; got {after.shape}.")
    times = np.arange(shape[0])
    meaningless = times[None, :] <= times[:, None]
    return read_only(np.where(meaningless[:, None, :, None], 1.0, after))
