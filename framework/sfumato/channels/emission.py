"""Channels that emit one symbol per step, given the hidden state and what was seen so far."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.channels.channel import Channel
from sfumato.errors import ParameterError
from sfumato.labels import Labels, encoded
from sfumato.probabilities import FloatArray
from sfumato.randomness import generator_or_secure


class Emission(Channel):
    """The law of an output o_1, ..., o_T given a trace of states x_1, ..., x_T.

    It factorises as Π_t Pr[o_t | x_t, o_1, ..., o_{t−1}]: a symbol depends on the present state
    and on anything already seen, such as the time and state of the last release. That is all
    that forward-backward recursions need, since the output is given there.

    A subclass writes `steps`, `states`, `evidence`, `sample_many` and, where its alphabet is
    finite, `outputs`. It may say by `remember` what of the past it depends on; enumeration
    then shares work between outputs.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def steps(self) -> int:
        """The length of a trace, T."""

    @property
    @abstractmethod
    def states(self) -> Labels:
        """The labels of the M hidden states."""

    @property
    def trace_form(self) -> tuple[int, Labels]:
        """What traces look like here: their steps and the labels of the states, in order."""
        return self.steps, self.states

    @abstractmethod
    def evidence(self, observed: Sequence[Any]) -> FloatArray:
        """Return log Pr[o_t | x_t = m, o_1, ..., o_{t−1}] as (k, M) for the first k symbols.

        Row t depends on the first t + 1 symbols only.
        """

    @abstractmethod
    def outputs(self) -> tuple[tuple[Any, ...], ...]:
        """Return the alphabet of every step, or raise `OutsideHypotheses` if it is not finite."""

    @abstractmethod
    def sample_many(self, traces: NDArray[np.intp], rng: np.random.Generator | None) -> Any:
        """Draw one output per row of `traces`, (B, T) positions; a sequence of B outputs."""

    def sample(self, trace: Sequence[Hashable], rng: np.random.Generator | None = None) -> Any:
        """Draw the output of one trace of labels; None is the secure source."""
        return self.sample_many(self._path(trace)[None], generator_or_secure(rng))[0]

    def log_likelihood(self, observed: Sequence[Any], trace: Sequence[Hashable]) -> float:
        """Return log Pr[observed | trace]; −∞ where it is impossible.

        Both may be beginnings: what is emitted depends on no later state.
        """
        rows = self.evidence(observed)
        path = encoded(self.states, trace, "states")
        if not len(rows) <= len(path) <= self.steps:
            raise ParameterError(
                f"trace must have between {len(rows)} states, as many as were observed, and "
                f"{self.steps}; got {len(path)}."
            )
        return float(rows[np.arange(len(rows)), path[: len(rows)]].sum())

    def evidence_batch(self, observed: Sequence[Sequence[Any]]) -> FloatArray:
        """Return the evidence of B outputs of one length, (B, k, M)."""
        return np.stack([self.evidence(output) for output in observed])

    def remember(self, memory: Hashable, time: int, symbol: Any) -> Hashable:
        """Return what is remembered once `symbol` is seen at `time`; () before the first.

        Any later evidence must be a function of this value. By default everything is kept.
        """
        del time
        return (*memory, symbol)  # type: ignore[misc]  # by default the memory is the prefix

    def next_evidence(self, memory: Hashable, time: int) -> FloatArray:
        """Return log Pr[o_time = y | x_time = m, memory] as (Y, M), y over outputs()[time]."""
        prefix: tuple[Any, ...] = memory  # type: ignore[assignment]  # as `remember` keeps it
        return np.stack([self.evidence((*prefix, y))[time] for y in self.outputs()[time]])

    def _path(self, trace: Sequence[Hashable]) -> NDArray[np.intp]:
        path = encoded(self.states, trace, "states")
        if len(path) != self.steps:
            raise ParameterError(f"trace must have {self.steps} states; got {len(path)}.")
        return path

    def _check_length(self, length: int) -> None:
        if length > self.steps:
            raise ParameterError(f"observed must have at most {self.steps} symbols; got {length}.")
