"""Channels that say one thing about a whole trace of states, such as a count."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.channels.emission import ChannelOfStates
from sfumato.errors import ParameterError
from sfumato.randomness import generator_or_secure
from sfumato.values import FloatArray, encode_labels


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

    def encode(self, trace: Sequence[Hashable]) -> NDArray[np.intp]:
        """Return the positions of a trace's labels."""
        path = encode_labels(self.states, trace, "states")
        if len(path) != self.steps:
            raise ParameterError(f"trace must have {self.steps} states; got {len(path)}.")
        return path

    def garbled(self, rng: np.random.Generator) -> Any:  # noqa: ARG002  # authors override it
        """Return the channel followed by a random post-processing; None where none is known."""
        return None

    def permuted(self, order: Sequence[int]) -> Any:  # noqa: ARG002  # authors override it
        """Return the channel for states listed in another order; None where it is not known."""
        return None
