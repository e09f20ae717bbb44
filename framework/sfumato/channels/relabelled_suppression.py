"""Suppression that shows something else than the state's own label."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.channels.emission import Emission
from sfumato.channels.suppression import Suppression
from sfumato.content import ByContent
from sfumato.labels import Labels, checked_labels, position_in, positions_of
from sfumato.probabilities import FloatArray
from sfumato.suppressed import SUPPRESSED


@attrs.frozen(eq=False, repr=False)
class RelabelledSuppression(ByContent, Emission):
    """A released state is shown under another label; different states keep different labels.

    Parameters
    ----------
    suppression
        What decides.
    shown
        What is shown for each state, all distinct.

    Examples
    --------
    >>> decides = Suppression.memoryless(("s", "x"), [[0.5, 0.0]])
    >>> channel = RelabelledSuppression(decides, (frozenset("sy"), frozenset("x")))
    >>> np.exp(channel.evidence([frozenset("sy")])).tolist()
    [[0.5, 0.0]]
    """

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

    def hidden(self, observed: Sequence[Any]) -> tuple[Any, ...]:
        """Return an output in the labels of the states."""
        positions = positions_of(self.shown)
        return tuple(
            symbol if symbol is SUPPRESSED else self.states[position_in(positions, symbol, "shown")]
            for symbol in observed
        )

    def relabelled(self, observed: Sequence[Any]) -> tuple[Any, ...]:
        """Return an output in the labels that are shown."""
        label = dict(zip(self.states, self.shown, strict=True))
        return tuple(y if y is SUPPRESSED else label[y] for y in observed)

    def outputs(self) -> tuple[tuple[Any, ...], ...]:
        """Return the alphabet of every step: what is shown, then `SUPPRESSED`."""
        return ((*self.shown, SUPPRESSED),) * self.steps

    def evidence(self, observed: Sequence[Any]) -> FloatArray:
        """Return log-likelihoods, (k, M)."""
        return self.suppression.evidence(self.hidden(observed))

    def remember(self, memory: Hashable, time: int, symbol: Any) -> Hashable:
        """Remember what the suppression does."""
        return self.suppression.remember(memory, time, self.hidden([symbol])[0])

    def next_evidence(self, memory: Hashable, time: int) -> FloatArray:
        """Return log-likelihoods of every release and of suppression, (M + 1, M)."""
        return self.suppression.next_evidence(memory, time)

    def sample_many(
        self, traces: NDArray[np.intp], rng: np.random.Generator | None
    ) -> list[tuple[Any, ...]]:
        """Draw one output per trace of positions, (B, T)."""
        return [self.relabelled(output) for output in self.suppression.sample_many(traces, rng)]


def suppression_of(channel: Suppression | RelabelledSuppression) -> Suppression:
    """Return what decides, whatever is shown.

    >>> decides = Suppression.memoryless("sx", [[1.0, 0.0]])
    >>> suppression_of(RelabelledSuppression(decides, "ab")) is suppression_of(decides)
    True
    """
    return channel.suppression if isinstance(channel, RelabelledSuppression) else channel
