"""One symbol of a finite alphabet per step, whose law depends on the present state only."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.channels.emission import Emission
from sfumato.content import ByContent
from sfumato.errors import ParameterError
from sfumato.labels import Labels, checked_labels, encoded_batch, listed
from sfumato.probabilities import FloatArray, checked_laws, cumulative, drawn
from sfumato.randomness import generator_or_secure


def _checked_probabilities(probabilities: ArrayLike) -> FloatArray:
    return checked_laws(probabilities, "probabilities")


@attrs.frozen(eq=False, repr=False)
class Symbols(ByContent, Emission):
    """Memoryless symbols: Pr[o_t = y | X_t = m] = probabilities[t, m, y].

    Parameters
    ----------
    states
        The labels of the M states.
    alphabet
        The Y symbols.
    probabilities
        A (T, M, Y) array of laws.

    Examples
    --------
    >>> sensor = Symbols(("home", "work"), (0, 1), [[[1.0, 0.0], [0.25, 0.75]]])
    >>> np.exp(sensor.evidence([1])).tolist()
    [[0.0, 0.75]]
    """

    states: Labels = attrs.field(converter=listed)
    alphabet: Labels = attrs.field(converter=listed)
    probabilities: FloatArray = attrs.field(converter=_checked_probabilities)

    def __attrs_post_init__(self) -> None:
        shape = self.probabilities.shape
        if len(shape) != 3 or 0 in shape:
            raise ParameterError(f"probabilities must be (T, M, Y) laws; got shape {shape}.")
        object.__setattr__(self, "states", checked_labels(self.states, shape[1], "states"))
        object.__setattr__(self, "alphabet", checked_labels(self.alphabet, shape[2], "alphabet"))

    def __repr__(self) -> str:
        return (
            f"Symbols({len(self.states)} states, {self.steps} steps, {len(self.alphabet)} symbols)"
        )

    @property
    def steps(self) -> int:
        """The length of a trace, T."""
        return int(self.probabilities.shape[0])

    def outputs(self) -> tuple[tuple[Any, ...], ...]:
        """Return the alphabet, once per step."""
        return (self.alphabet,) * self.steps

    def evidence(self, observed: Sequence[Any]) -> FloatArray:
        """Return log-likelihoods, (k, M)."""
        return np.asarray(self.evidence_batch([observed])[0])

    def evidence_batch(self, observed: Sequence[Sequence[Any]]) -> FloatArray:
        """Return the evidence of B outputs of one length, (B, k, M)."""
        codes = encoded_batch(self.alphabet, observed, "alphabet")
        self._check_length(codes.shape[1])
        with np.errstate(divide="ignore"):
            return np.log(self.probabilities[np.arange(codes.shape[1]), :, codes])

    def remember(self, memory: Hashable, time: int, symbol: Any) -> Hashable:
        """Remember nothing."""
        del time, symbol
        return memory

    def next_evidence(self, memory: Hashable, time: int) -> FloatArray:
        """Return log-likelihoods of every symbol, (Y, M)."""
        del memory
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.probabilities[time].T))

    def sample(
        self, trace: Sequence[Hashable], rng: np.random.Generator | None = None
    ) -> tuple[Any, ...]:
        """Draw the output of one trace of labels, as a tuple; None is the secure source."""
        return tuple(super().sample(trace, rng))

    def sample_many(
        self, traces: NDArray[np.intp], rng: np.random.Generator | None
    ) -> NDArray[np.object_]:
        """Draw one output per trace of positions, (B, T), as an array of symbols."""
        traces = np.asarray(traces, dtype=np.intp)
        uniforms = generator_or_secure(rng).random(traces.shape)
        laws = cumulative(self.probabilities)
        codes = np.empty(traces.shape, dtype=np.intp)
        for time in range(self.steps):
            codes[:, time] = drawn(laws[time, traces[:, time]], uniforms[:, time])
        return _objects(self.alphabet)[codes]


def _objects(alphabet: Iterable[Hashable]) -> NDArray[np.object_]:
    items = tuple(alphabet)
    array = np.empty(len(items), dtype=object)
    for code, symbol in enumerate(items):
        array[code] = symbol  # one by one: a tuple symbol must not become a row
    return array
