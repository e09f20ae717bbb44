"""Only the beginning of what an emission releases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.channels import Emission
from sfumato.labels import Labels
from sfumato.probabilities import FloatArray

NOTHING = "nothing"


@attrs.frozen
class Beginning(Emission):
    """The first `length` symbols of an emission; afterwards nothing is released.

    A post-processing that suits any emission, whatever its symbols depend on.

    >>> from sfumato.channels import Suppression
    >>> channel = Beginning(Suppression.memoryless("sx", [[0.0, 0.5], [0.0, 0.0]]), 1)
    >>> np.exp(channel.evidence(["x", NOTHING])).tolist()
    [[0.0, 0.5], [1.0, 1.0]]
    """

    channel: Emission
    length: int

    @property
    def steps(self) -> int:
        """The length of a trace, T."""
        return self.channel.steps

    @property
    def states(self) -> Labels:
        """The labels of the hidden states."""
        return self.channel.states

    def outputs(self) -> tuple[tuple[Any, ...], ...]:
        """Return the channel's alphabets, then the single symbol of silence."""
        seen = self.channel.outputs()[: self.length]
        return seen + ((NOTHING,),) * (self.steps - self.length)

    def evidence(self, observed: Sequence[Any]) -> FloatArray:
        """Return the channel's log-likelihoods, then zeros."""
        self._check_length(len(observed))
        rows = np.zeros((len(observed), len(self.states)))
        seen = min(self.length, len(observed))
        if seen:
            rows[:seen] = self.channel.evidence(observed[:seen])
        return rows

    def sample_many(
        self, traces: NDArray[np.intp], rng: np.random.Generator | None
    ) -> NDArray[np.object_]:
        """Draw outputs of the channel and withhold what comes after the beginning."""
        drawn = np.array(self.channel.sample_many(traces, rng), dtype=object)
        drawn[:, self.length :] = NOTHING
        return drawn
