"""Channels of traces of states: one symbol per step, or one answer about a whole trace."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.errors import ParameterError
from sfumato.randomness import generator_or_secure
from sfumato.values import (
    ByContent,
    FloatArray,
    Labels,
    as_labels,
    checked_labels,
    checked_laws,
    cumulative,
    draw_outcomes,
    encode_batch,
    encode_labels,
)


class Channel(ABC):
    """The law of the released Z given the trace X: of what is really sampled."""

    __slots__ = ()

    @abstractmethod
    def log_likelihood(self, observed: Any, trace: Any) -> float:
        """Return log Pr[observed | trace], or the log density; −inf where impossible."""

    @abstractmethod
    def sample(self, trace: Any, rng: np.random.Generator | None = None) -> Any:
        """Draw a release of `trace`; no generator means the secure source."""


class ChannelOfStates(Channel):
    """A channel whose traces are states."""

    __slots__ = ()

    @property
    @abstractmethod
    def steps(self) -> int:
        """The length of a trace, T."""

    @property
    @abstractmethod
    def states(self) -> Labels:
        """The labels of the M hidden states."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.states)} states, {self.steps} steps)"

    @property
    def trace_form(self) -> tuple[int, Labels]:
        """What traces look like here: their steps and the labels of the states, in order."""
        return self.steps, self.states

    def encode(self, trace: Sequence[Hashable]) -> NDArray[np.intp]:
        """Return the positions of a whole trace's labels."""
        path = encode_labels(self.states, trace, "states")
        if len(path) != self.steps:
            raise ParameterError(f"trace must have {self.steps} states; got {len(path)}.")
        return path


class Emission(ChannelOfStates):
    """The law of an output $o_1, …, o_T$ given a trace of states $x_1, …, x_T$.

    It factorises as $∏_t Pr[o_t | x_t, o_1, …, o_{t−1}]$: a symbol depends on the present state
    and on anything already seen, such as the time and state of the last release. That is all
    that forward-backward recursions need, since the output is given there.

    A subclass writes `steps`, `states`, `evidence`, `sample_many` and, where its alphabet is
    finite, `outputs`. It may say by `remember` what of the past it depends on; enumeration
    then shares work between outputs.
    """

    words: ClassVar[str] = "an output for each state"

    __slots__ = ()

    @abstractmethod
    def evidence(self, observed: Sequence[Any]) -> FloatArray:
        """Return $log Pr[o_t | x_t = m, o_1, …, o_{t−1}]$ as (k, M) for the first k symbols.

        Row t depends on the first t + 1 symbols only.
        """

    @abstractmethod
    def outputs(self) -> tuple[tuple[Any, ...], ...]:
        """Return the alphabet of every step, or raise `OutsideHypotheses` if it is not finite."""

    @abstractmethod
    def sample_many(self, traces: NDArray[np.intp], rng: np.random.Generator | None) -> Any:
        """Draw one output per row of `traces`, (B, T) positions; a sequence of B outputs."""

    def sample(self, trace: Sequence[Hashable], rng: np.random.Generator | None = None) -> Any:
        """Draw the output of one trace of labels; None is the secure source.

        Symbols come as a tuple, numbers as an array.
        """
        output = self.sample_many(self.encode(trace)[None], generator_or_secure(rng))[0]
        symbols = isinstance(output, np.ndarray) and output.dtype.hasobject
        return tuple(output) if symbols else output

    def log_likelihood(self, observed: Sequence[Any], trace: Sequence[Hashable]) -> float:
        """Return log Pr[observed | trace]; −∞ where it is impossible.

        Both may be beginnings: what is emitted depends on no later state.
        """
        rows = self.evidence(observed)
        path = encode_labels(self.states, trace, "states")
        if not len(rows) <= len(path) <= self.steps:
            raise ParameterError(
                f"trace must have between {len(rows)} states, as many as were observed, and "
                f"{self.steps}; got {len(path)}."
            )
        return float(rows[np.arange(len(rows)), path[: len(rows)]].sum())

    def evidence_batch(self, observed: Sequence[Sequence[Any]]) -> FloatArray:
        """Return the evidence of B outputs of one length, (B, k, M)."""
        return np.stack([self.evidence(output) for output in observed])

    def without_noise(self) -> Emission:
        """Return the channel that tells what noise is added to, or this one where none is.

        What bounds the success of those who see that bounds it for those who see noise: the noisy
        output is computed from it (data processing).
        """
        return self

    def remember(self, memory: Hashable, time: int, symbol: Any) -> Hashable:
        """Return what is remembered once `symbol` is seen at `time`; () before the first.

        Any later evidence must be a function of this value. By default everything is kept.
        """
        del time
        return (*memory, symbol)  # type: ignore[misc]  # by default the memory is the prefix

    def next_evidence(self, memory: Hashable, time: int) -> FloatArray:
        """Return $log Pr[o_t = y | x_t = m, memory]$ at that time, (Y, M), y over its outputs."""
        prefix: tuple[Any, ...] = memory  # type: ignore[assignment]  # as `remember` keeps it
        return np.stack([self.evidence((*prefix, y))[time] for y in self.outputs()[time]])

    def _check_length(self, length: int) -> None:
        if length > self.steps:
            raise ParameterError(f"observed must have at most {self.steps} symbols; got {length}.")


class MemorylessEmission(Emission):
    """Symbols that depend on the present state only; a subclass writes `evidence_batch`."""

    __slots__ = ()

    def evidence(self, observed: Sequence[Any]) -> FloatArray:
        """Return log-likelihoods, (k, M)."""
        return np.asarray(self.evidence_batch([observed])[0])

    def remember(self, memory: Hashable, time: int, symbol: Any) -> Hashable:
        """Remember nothing."""
        del time, symbol
        return memory


def _checked_probabilities(probabilities: ArrayLike) -> FloatArray:
    return checked_laws(probabilities, "probabilities")


@attrs.frozen(eq=False, repr=False)
class Symbols(ByContent, MemorylessEmission):
    """Memoryless symbols: $Pr[o_t = y | X_t = m]$ = ``probabilities[t, m, y]``, (T, M, Y).

    >>> import numpy as np
    >>> from sfumato.channels import Symbols
    >>> sensor = Symbols(("home", "work"), (0, 1), [[[1.0, 0.0], [0.25, 0.75]]])
    >>> np.exp(sensor.evidence([1])).tolist()
    [[0.0, 0.75]]
    """

    words: ClassVar[str] = "symbols"

    states: Labels = attrs.field(converter=as_labels)
    alphabet: Labels = attrs.field(converter=as_labels)
    probabilities: FloatArray = attrs.field(converter=_checked_probabilities)

    def __attrs_post_init__(self) -> None:
        shape = self.probabilities.shape
        if len(shape) != 3 or 0 in shape:
            raise ParameterError(f"probabilities must be (T, M, Y) laws; got shape {shape}.")
        object.__setattr__(self, "states", checked_labels(self.states, shape[1], "states"))
        object.__setattr__(self, "alphabet", checked_labels(self.alphabet, shape[2], "alphabet"))

    @property
    def steps(self) -> int:
        """The length of a trace, T."""
        return int(self.probabilities.shape[0])

    def outputs(self) -> tuple[tuple[Any, ...], ...]:
        """Return the alphabet, once per step."""
        return (self.alphabet,) * self.steps

    def evidence_batch(self, observed: Sequence[Sequence[Any]]) -> FloatArray:
        """Return the evidence of B outputs of one length, (B, k, M)."""
        codes = encode_batch(self.alphabet, observed, "alphabet")
        self._check_length(codes.shape[1])
        with np.errstate(divide="ignore"):
            return np.log(self.probabilities[np.arange(codes.shape[1]), :, codes])

    def next_evidence(self, memory: Hashable, time: int) -> FloatArray:
        """Return log-likelihoods of every symbol, (Y, M)."""
        del memory
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.probabilities[time].T))

    def sample_many(
        self, traces: NDArray[np.intp], rng: np.random.Generator | None
    ) -> NDArray[np.object_]:
        """Draw one output per trace of positions, (B, T), as an array of symbols."""
        traces = np.asarray(traces, dtype=np.intp)
        uniforms = generator_or_secure(rng).random(traces.shape)
        laws = cumulative(self.probabilities)
        codes = np.empty(traces.shape, dtype=np.intp)
        for time in range(self.steps):
            codes[:, time] = draw_outcomes(laws[time, traces[:, time]], uniforms[:, time])
        return label_array(self.alphabet)[codes]


def label_array(labels: Sequence[Hashable]) -> NDArray[np.object_]:
    """Return labels as an array to be indexed by codes; a tuple label does not become a row."""
    array = np.empty(len(labels), dtype=object)
    for code, label in enumerate(labels):
        array[code] = label
    return array


class WholeTrace(ChannelOfStates):
    """The law of an output that depends on all of a trace of states at once.

    No recursion of the framework fits such an output, so the channel says itself what is seen of a
    secret: every measure of views then reads it. A subclass writes `steps`, `states`, `view` and
    `sample_many`, and for the laws `tables` and `cells`, which brute force and tests of the
    sampler read, and where it can `garbled` and `permuted`.
    """

    words: ClassVar[str] = "one output of a whole trace"

    __slots__ = ()

    @abstractmethod
    def view(self, belief: Any, question: Any) -> Any:
        """Return the `FiniteView` of what a Markov belief's question asks."""

    @abstractmethod
    def tables(self, traces: NDArray[np.intp]) -> tuple[FloatArray, FloatArray]:
        """Return two laws of finitely many outcomes for each trace of positions: (N, O) each.

        The first is a post-processing of the output, as `cells` does it; the output is a
        post-processing of the second. Where outputs are finite both are the same.
        """

    @abstractmethod
    def cells(self, outputs: Sequence[Any]) -> NDArray[np.intp]:
        """Return for each output which outcome of the first table it is."""

    @abstractmethod
    def sample_many(self, traces: NDArray[np.intp], rng: np.random.Generator | None) -> Any:
        """Draw one output per row of `traces`, (B, T) positions; a sequence of B outputs."""

    def sample(self, trace: Sequence[Hashable], rng: np.random.Generator | None = None) -> Any:
        """Draw the output of one trace of labels; None is the secure source."""
        return self.sample_many(self.encode(trace)[None], generator_or_secure(rng))[0]

    def garbled(self, rng: np.random.Generator) -> Any:  # noqa: ARG002  # authors override it
        """Return the channel followed by a random post-processing; None where none is known."""
        return None

    def permuted(self, order: Sequence[int]) -> Any:  # noqa: ARG002  # authors override it
        """Return the channel for states listed in another order; None where it is not known."""
        return None
