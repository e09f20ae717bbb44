"""Several emissions of one trace of states, seen together: channels multiply."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Sequence
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.channels.emission import Emission
from sfumato.errors import Incompatible
from sfumato.randomness import generator_or_secure
from sfumato.values import ByContent, FloatArray, Labels, encode_labels


@attrs.frozen(eq=False, repr=False)
class JointEmission(ByContent, Emission):
    """The outputs of several emissions, each of some consecutive steps of one trace.

    Given the trace they are independent, so Pr[o | x] is the product of theirs. The symbol of a
    step is the tuple of what every part shows there, in order.

    Attributes
    ----------
    parts
        Where each emission begins, and the emission.
    told
        Steps whose state is told besides, as the last element of the symbol.

    >>> import numpy as np
    >>> from sfumato.channels import JointEmission, Suppression
    >>> once = Suppression.memoryless(("s", "x"), [[1.0, 0.5]])
    >>> twice = JointEmission(("s", "x"), 2, ((0, once), (0, once)))
    >>> np.exp(twice.next_evidence((), 0)).sum(axis=0).tolist(), len(twice.outputs()[1])
    ([1.0, 1.0], 1)
    """

    words: ClassVar[str] = "an output for each state"

    states: Labels
    steps: int
    parts: tuple[tuple[int, Emission], ...]
    told: frozenset[int] = frozenset()

    def __attrs_post_init__(self) -> None:
        for start, part in self.parts:
            if part.states != self.states or not 0 <= start <= self.steps - part.steps:
                raise Incompatible(
                    f"the parts must be emissions of {self.steps} steps of {self.states}; got "
                    f"{part.steps} steps from {start} of {part.states}."
                )

    def _at(self, time: int) -> list[int]:
        """Return which parts speak of a step."""
        return [
            k for k, (start, part) in enumerate(self.parts) if start <= time < start + part.steps
        ]

    def outputs(self) -> tuple[tuple[Any, ...], ...]:
        """Return the alphabet of every step: all combinations of what the parts show."""
        alphabets = [part.outputs() for _, part in self.parts]
        return tuple(
            tuple(
                itertools.product(
                    *(alphabets[k][time - self.parts[k][0]] for k in self._at(time)),
                    *([self.states] if time in self.told else []),
                )
            )
            for time in range(self.steps)
        )

    def evidence(self, observed: Sequence[Any]) -> FloatArray:
        """Return the sum of the parts' log-likelihoods, (k, M)."""
        self._check_length(len(observed))
        rows = np.zeros((len(observed), len(self.states)))
        for k, (start, part) in enumerate(self.parts):
            last = min(len(observed), start + part.steps)
            own = [observed[time][self._at(time).index(k)] for time in range(start, last)]
            if own:
                rows[start:last] += part.evidence(own)
        for time in self.told & set(range(len(observed))):
            (known,) = encode_labels(self.states, [observed[time][-1]], "states")
            rows[time, np.arange(len(self.states)) != known] = -np.inf
        return rows

    def remember(self, memory: Hashable, time: int, symbol: Any) -> Hashable:
        """Remember what every part does."""
        kept: list[Any] = list(memory or ((),) * len(self.parts))  # type: ignore[call-overload]
        for k, shown in zip(self._at(time), symbol, strict=False):
            start, part = self.parts[k]
            kept[k] = part.remember(kept[k], time - start, shown)
        return tuple(kept)

    def next_evidence(self, memory: Hashable, time: int) -> FloatArray:
        """Return the log-likelihoods of all combinations, (Y, M)."""
        kept: Any = memory or ((),) * len(self.parts)
        rows = np.zeros((1, len(self.states)))
        for k in self._at(time):
            start, part = self.parts[k]
            shown = part.next_evidence(kept[k], time - start)
            rows = (rows[:, None] + shown).reshape(-1, len(self.states))
        if time in self.told:
            with np.errstate(divide="ignore"):
                shown = np.log(np.eye(len(self.states)))
            rows = (rows[:, None] + shown).reshape(-1, len(self.states))
        return rows

    def sample_many(self, traces: NDArray[np.intp], rng: np.random.Generator | None) -> Any:
        """Draw one output per trace of positions, (B, T): independently for each part."""
        source = generator_or_secure(rng)
        traces = np.asarray(traces, dtype=np.intp)
        drawn = [
            part.sample_many(traces[:, start : start + part.steps], source)
            for start, part in self.parts
        ]
        return [
            tuple(
                (
                    *(drawn[k][row][time - self.parts[k][0]] for k in self._at(time)),
                    *([self.states[trace[time]]] if time in self.told else []),
                )
                for time in range(self.steps)
            )
            for row, trace in enumerate(traces)
        ]
